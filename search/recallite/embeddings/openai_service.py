"""Calls of OpenAI's SDK: each ends in time, breaks nothing else, and tells no secret when it fails."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from recallite.embeddings.clients import Clients
from recallite.embeddings.deadline import DeadlineError
from recallite.embeddings.endpoint import Endpoint
from recallite.embeddings.http_api import connection_trouble
from recallite.embeddings.http_errors import Refusal, error_for
from recallite.embeddings.quiet import quiet
from recallite.errors import ProviderError, ProviderTransientError

if TYPE_CHECKING:
    import openai

    Headers: TypeAlias = Mapping[str, str | openai.Omit]

DEFAULT_HOST = "api.openai.com"

_SDK_NAMES = ("Accept", "Authorization", "Content-Type", "OpenAI-Organization", "OpenAI-Project", "User-Agent")
# Releases before 3 compare names with case: an "authorization" would be sent beside their "Authorization".
_SDK_HEADERS = {name.lower(): name for name in _SDK_NAMES}
T = TypeVar("T")


class OpenAIService:
    """One address; see `Clients`."""

    def __init__(self, endpoint: Endpoint, model: str, *, timeout_seconds: float) -> None:
        self.endpoint = endpoint
        self._model = model
        self._timeout_seconds = timeout_seconds
        self._clients = Clients(self._new_client, host=endpoint.host, timeout_seconds=timeout_seconds)

    def call(self, action: Callable[[openai.OpenAI, Headers], T], *, texts: Sequence[str] = ()) -> T:
        """What `action` makes of a client and of the headers for each of its requests; it must not return None.

        `texts` are what no error may repeat. Raises a ProviderError, `from None`: the SDK's errors quote the server.
        """
        return self._clients.call(lambda client: self._run(client, action, texts))

    def close(self) -> None:
        self._clients.close()

    def _run(self, client: openai.OpenAI, action: Callable[[openai.OpenAI, Headers], T], texts: Sequence[str]) -> T:
        import openai

        failure: ProviderError
        try:
            with quiet():
                return action(client, self._headers())
        except openai.APIStatusError as error:
            headers = {name.lower(): value for name, value in error.response.headers.items()}
            refusal = Refusal(error.status_code, headers, error.body)
            failure = error_for(refusal, endpoint=self.endpoint, model=self._model, texts=texts)
        except openai.APITimeoutError:
            failure = DeadlineError(f"{self.endpoint.host} sent nothing for {self._timeout_seconds:g} s")
        except openai.APIConnectionError as error:
            failure = ProviderTransientError(f"{self.endpoint.host}: {connection_trouble(error)}")
        except openai.APIError:  # a reply that the SDK cannot read
            failure = ProviderTransientError(f"{self.endpoint.host} answered what is not its protocol")
        raise failure from None

    def _new_client(self) -> openai.OpenAI:
        import openai

        return openai.OpenAI(
            # Never None: the SDK would then send the key of the environment to whatever address this is.
            api_key="unused",
            base_url=self.endpoint.url,
            timeout=self._timeout_seconds,
            max_retries=0,
            default_query=dict(self.endpoint.query),
        )

    def _headers(self) -> Headers:
        """Ours, and a mark that takes out what the SDK would add: a key where we have none, the account."""
        import openai

        headers: dict[str, str | openai.Omit] = {"Authorization": openai.Omit()}
        if self.endpoint.host != DEFAULT_HOST:
            headers |= {"OpenAI-Organization": openai.Omit(), "OpenAI-Project": openai.Omit()}
        own = {_SDK_HEADERS.get(name.lower(), name): value for name, value in self.endpoint.headers.items()}
        return headers | own
