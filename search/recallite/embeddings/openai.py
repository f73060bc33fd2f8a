"""OpenAI, and every server that speaks its embeddings protocol, through the official SDK."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from threading import Lock
from typing import TYPE_CHECKING

from recallite.embeddings.checks import BadVector, check_vectors
from recallite.embeddings.deadline import DeadlineError, call_within
from recallite.embeddings.endpoint import Endpoint, endpoint_for
from recallite.embeddings.http_api import connection_trouble
from recallite.embeddings.http_errors import Refusal, error_for
from recallite.embeddings.limits import sendable
from recallite.embeddings.options import ProviderOptions
from recallite.embeddings.per_process import PerProcess
from recallite.embeddings.protocol import Kind, Limits, RawVector, Space
from recallite.embeddings.quiet import quiet
from recallite.embeddings.replies import match_items, read_json
from recallite.errors import ProviderError, ProviderTransientError, ProviderUnavailableError

if TYPE_CHECKING:
    import openai

PROVIDER = "openai"
DEFAULT_MODEL = "text-embedding-3-small"
DEFAULT_HOST = "api.openai.com"
DEFAULT_BASE_URL = f"https://{DEFAULT_HOST}/v1"


@dataclass(frozen=True, slots=True)
class KnownModel:
    """What OpenAI documents about a model."""

    dims: int
    takes_dimensions: bool


# A request of 300 000 estimated tokens holds about 250 chunks: 5 MB of reply at 1536 dimensions.
KNOWN_LIMITS = Limits(max_items=2_048, max_request_tokens=300_000, max_input_tokens=8_191, parallel_requests=4)
OTHER_LIMITS = Limits(parallel_requests=2)
"""For servers that only speak the protocol: most run one model on one machine."""
KNOWN_MODELS = {
    "text-embedding-3-small": KnownModel(1_536, takes_dimensions=True),
    "text-embedding-3-large": KnownModel(3_072, takes_dimensions=True),
    "text-embedding-ada-002": KnownModel(1_536, takes_dimensions=False),
}

_SDK_NAMES = ("Accept", "Authorization", "Content-Type", "OpenAI-Organization", "OpenAI-Project", "User-Agent")
# Releases before 3 compare names with case: an "authorization" would be sent beside their "Authorization".
_SDK_HEADERS = {name.lower(): name for name in _SDK_NAMES}


def why_unavailable() -> str | None:
    """None if the SDK is installed, else what to install."""
    if find_spec("openai") is None:
        return "the openai package is not installed: pip install 'recallite[openai]'"
    return None


def create(options: ProviderOptions) -> OpenAIEmbedder:
    """Raises ProviderUnavailableError when the key is missing or a setting cannot be used."""
    model = (options.model or DEFAULT_MODEL).removeprefix("openai/")
    known = KNOWN_MODELS.get(model)
    if options.dimensions is not None and known is not None and not known.takes_dimensions:
        raise ProviderUnavailableError(f"the model {model} has {known.dims} dimensions and no choice of them")
    endpoint = endpoint_for(
        base_url=options.base_url or DEFAULT_BASE_URL, api_key=options.api_key, headers=options.headers
    )
    has_authorization = any(name.lower() == "authorization" for name in endpoint.headers)
    if endpoint.host == DEFAULT_HOST and not has_authorization:
        raise ProviderUnavailableError("the provider openai has no key: set OPENAI_API_KEY or remote.apiKey")
    return OpenAIEmbedder(endpoint, model, options)


class OpenAIEmbedder:
    """One model behind one address.

    A call borrows a client that no other call uses meanwhile: closing it when the time is over breaks off
    that call alone. Idle clients keep their connection open.
    """

    def __init__(self, endpoint: Endpoint, model: str, options: ProviderOptions) -> None:
        known = KNOWN_MODELS.get(model)
        self._endpoint = endpoint
        self._model = model
        self._dimensions = options.dimensions
        self._timeout_seconds = options.timeout_seconds
        limits = KNOWN_LIMITS if known else OTHER_LIMITS
        self._limits = replace(limits, max_items=min(limits.max_items, options.max_items or limits.max_items))
        self._dims = options.dimensions or (known.dims if known else None)
        self._dims_lock = Lock()
        self._idle: PerProcess[list[openai.OpenAI]] = PerProcess(list)

    @property
    def provider(self) -> str:
        return PROVIDER

    @property
    def space(self) -> Space:
        return Space(PROVIDER, self._model, self._dims)

    @property
    def limits(self) -> Limits:
        return self._limits

    def embed(self, texts: Sequence[str], *, kind: Kind) -> list[RawVector]:
        """One request. Questions and documents are embedded alike. See `Embedder.embed`."""
        if not texts:
            return []
        body = self._post([sendable(text) for text in texts])
        reply = read_json(body, host=self._endpoint.host)
        vectors = match_items(reply, expected=len(texts), host=self._endpoint.host)
        self._learn_dims(vectors)
        return vectors

    def close(self) -> None:
        idle = self._idle.get()
        while idle:
            idle.pop().close()

    def _post(self, texts: list[str]) -> bytes:
        """The body of the reply. Errors are raised `from None`: those of the SDK quote the server."""
        client = self._borrow()
        try:
            call = partial(self._request, client, texts)
            body = call_within(self._timeout_seconds, call, abandon=client.close)
        except TimeoutError as error:
            raise DeadlineError(f"{self._endpoint.host}: {error}") from None
        except Exception:
            self._give_back(client)
            raise
        self._give_back(client)
        return body

    def _request(self, client: openai.OpenAI, texts: list[str]) -> bytes:
        import openai

        failure: ProviderError
        try:
            with quiet():
                reply = client.embeddings.with_raw_response.create(
                    input=texts,
                    model=self._model,
                    encoding_format="float",
                    extra_body={"dimensions": self._dimensions} if self._dimensions is not None else None,
                    extra_headers=self._headers(),
                )
                return reply.content
        except openai.APIStatusError as error:
            headers = {name.lower(): value for name, value in error.response.headers.items()}
            refusal = Refusal(error.status_code, headers, error.body)
            failure = error_for(refusal, endpoint=self._endpoint, model=self._model, texts=texts)
        except openai.APITimeoutError:
            failure = DeadlineError(f"{self._endpoint.host} sent nothing for {self._timeout_seconds:g} s")
        except openai.APIConnectionError as error:
            failure = ProviderTransientError(f"{self._endpoint.host}: {connection_trouble(error)}")
        raise failure from None

    def _borrow(self) -> openai.OpenAI:
        try:
            return self._idle.get().pop()
        except IndexError:
            return self._new_client()

    def _give_back(self, client: openai.OpenAI) -> None:
        self._idle.get().append(client)

    def _new_client(self) -> openai.OpenAI:
        import openai

        return openai.OpenAI(
            # Never None: the SDK would then send the key of the environment to whatever address this is.
            api_key="unused",
            base_url=self._endpoint.url,
            timeout=self._timeout_seconds,
            max_retries=0,
            default_query=dict(self._endpoint.query),
        )

    def _headers(self) -> Mapping[str, str | openai.Omit]:
        """Ours, and a mark that takes out what the SDK would add: a key where we have none, the account."""
        import openai

        headers: dict[str, str | openai.Omit] = {"Authorization": openai.Omit()}
        if self._endpoint.host != DEFAULT_HOST:
            headers |= {"OpenAI-Organization": openai.Omit(), "OpenAI-Project": openai.Omit()}
        own = {_SDK_HEADERS.get(name.lower(), name): value for name, value in self._endpoint.headers.items()}
        return headers | own

    def _learn_dims(self, vectors: Sequence[RawVector]) -> None:
        with self._dims_lock:
            if self._dims is None:
                checked = check_vectors(vectors, expected=len(vectors), dims=None)
                self._dims = next((len(one) for one in checked if not isinstance(one, BadVector)), None)
