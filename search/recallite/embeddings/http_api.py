"""Embedding services without an SDK that is light enough: JSON over HTTP, with the same care as for OpenAI's."""

from __future__ import annotations

import json
import ssl
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from recallite.embeddings.clients import Clients
from recallite.embeddings.deadline import DeadlineError
from recallite.embeddings.endpoint import Endpoint
from recallite.embeddings.http_errors import Refusal, error_for
from recallite.embeddings.quiet import quiet
from recallite.errors import ProviderTransientError

if TYPE_CHECKING:
    import httpx


def why_unavailable(provider: str) -> str | None:
    """None if httpx is installed, else what to install."""
    if find_spec("httpx") is None:
        return f"the httpx package is not installed: pip install 'recallite[{provider}]'"
    return None


class JsonApi:
    """Posts JSON to one address; see `Clients`. Proxies of the environment are obeyed, NO_PROXY too."""

    def __init__(self, endpoint: Endpoint, *, model: str, timeout_seconds: float) -> None:
        self.endpoint = endpoint
        self._model = model
        self._timeout_seconds = timeout_seconds
        self._clients = Clients(self._new_client, host=endpoint.host, timeout_seconds=timeout_seconds)

    def post(self, path: str, body: Mapping[str, object], *, texts: Sequence[str]) -> bytes:
        """The body of the reply. `texts` are what no error may repeat. Raises a ProviderError."""
        return self.call("POST", path, texts=texts, json=body)

    def call(self, method: str, path: str, *, texts: Sequence[str] = (), **options: Any) -> bytes:
        """The body of a reply of status 200. `path` is relative to the endpoint, or a whole address on its host.

        `options` are those of `httpx.Client.request` (Any: they are its own to check).
        """
        return self._clients.call(lambda client: self._request(client, method, path, texts, options))

    def close(self) -> None:
        self._clients.close()

    def _request(
        self, client: httpx.Client, method: str, path: str, texts: Sequence[str], options: Mapping[str, Any]
    ) -> bytes:
        import httpx

        try:
            with quiet():
                address = path if path.startswith("http") else self.endpoint.url.rstrip("/") + path
                reply = client.request(method, address, **options)
                content = reply.read()
        except httpx.TimeoutException:
            raise DeadlineError(f"{self.endpoint.host} sent nothing for {self._timeout_seconds:g} s") from None
        except httpx.HTTPError as error:
            raise ProviderTransientError(f"{self.endpoint.host}: {connection_trouble(error)}") from None
        if reply.status_code == 200:
            return content
        headers = {name.lower(): value for name, value in reply.headers.items()}
        refusal = Refusal(reply.status_code, headers, _json_or_none(content))
        raise error_for(refusal, endpoint=self.endpoint, model=self._model, texts=texts)

    def _new_client(self) -> httpx.Client:
        import httpx

        return httpx.Client(
            headers=dict(self.endpoint.headers), params=dict(self.endpoint.query), timeout=self._timeout_seconds
        )


def connection_trouble(error: BaseException) -> str:
    """The operating system's word for a broken connection; library messages may quote headers."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, ssl.SSLCertVerificationError):
            return f"certificate refused: {seen.verify_message}"
        if isinstance(seen, OSError) and seen.strerror:
            return f"no connection: {seen.strerror}"
        seen = seen.__cause__ or seen.__context__
    return "the connection broke off"


def _json_or_none(content: bytes) -> object:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None
