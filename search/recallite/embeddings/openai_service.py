"""Calls of OpenAI's SDK: each ends in time, breaks nothing else, and tells no secret when it fails."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from recallite.embeddings.deadline import DeadlineError, call_within
from recallite.embeddings.endpoint import Endpoint
from recallite.embeddings.http_api import connection_trouble
from recallite.embeddings.http_errors import Refusal, error_for
from recallite.embeddings.per_process import PerProcess
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
    """One address. A call borrows a client that no other call uses meanwhile: closing it when the time is over
    breaks off that call alone. Idle clients keep their connection open."""

    def __init__(self, endpoint: Endpoint, model: str, *, timeout_seconds: float) -> None:
        self.endpoint = endpoint
        self._model = model
        self._timeout_seconds = timeout_seconds
        self._idle: PerProcess[list[openai.OpenAI]] = PerProcess(list)

    def call(self, action: Callable[[openai.OpenAI, Headers], T], *, texts: Sequence[str] = ()) -> T:
        """What `action` makes of a client and of the headers for each of its requests; it must not return None.

        `texts` are what no error may repeat. Raises a ProviderError, `from None`: the SDK's errors quote the server.
        """
        client = self._borrow()
        try:
            run = partial(self._run, client, action, texts)
            result = call_within(self._timeout_seconds, run, abandon=client.close)
        except TimeoutError as error:
            raise DeadlineError(f"{self.endpoint.host}: {error}") from None
        except Exception:
            self._idle.get().append(client)
            raise
        self._idle.get().append(client)
        return result

    def close(self) -> None:
        idle = self._idle.get()
        while idle:
            idle.pop().close()

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

    def _borrow(self) -> openai.OpenAI:
        try:
            return self._idle.get().pop()
        except IndexError:
            return self._new_client()

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
