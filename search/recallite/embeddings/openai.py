"""OpenAI, and every server that speaks its embeddings protocol, through the official SDK."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from threading import Lock
from typing import TYPE_CHECKING

from recallite.embeddings.checks import BadVector, check_vectors
from recallite.embeddings.endpoint import Endpoint, endpoint_for
from recallite.embeddings.limits import sendable
from recallite.embeddings.openai_batches import OpenAIBatches
from recallite.embeddings.openai_service import DEFAULT_HOST, OpenAIService
from recallite.embeddings.options import ProviderOptions
from recallite.embeddings.protocol import Kind, Limits, RawVector, Space
from recallite.embeddings.replies import match_items, read_json
from recallite.errors import ProviderUnavailableError

if TYPE_CHECKING:
    import openai

    from recallite.embeddings.openai_service import Headers

PROVIDER = "openai"
DEFAULT_MODEL = "text-embedding-3-small"
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


def why_unavailable() -> str | None:
    """None if the SDK is installed, else what to install."""
    if find_spec("openai") is None:
        return "the openai package is not installed: pip install 'recallite[openai]'"
    return None


def create(options: ProviderOptions) -> OpenAIEmbedder:
    """Raises ProviderUnavailableError when the key is missing or a setting cannot be used."""
    model = _model(options)
    known = KNOWN_MODELS.get(model)
    if options.dimensions is not None and known is not None and not known.takes_dimensions:
        raise ProviderUnavailableError(f"the model {model} has {known.dims} dimensions and no choice of them")
    endpoint = _endpoint(options)
    has_authorization = any(name.lower() == "authorization" for name in endpoint.headers)
    if endpoint.host == DEFAULT_HOST and not has_authorization:
        raise ProviderUnavailableError("the provider openai has no key: set OPENAI_API_KEY or remote.apiKey")
    return OpenAIEmbedder(endpoint, model, options)


def create_batches(options: ProviderOptions) -> OpenAIBatches:
    """The batch service for the same account. Errors as `create`."""
    create(options).close()
    return OpenAIBatches(_endpoint(options), _model(options), dimensions=options.dimensions)


def _model(options: ProviderOptions) -> str:
    return (options.model or DEFAULT_MODEL).removeprefix("openai/")


def _endpoint(options: ProviderOptions) -> Endpoint:
    return endpoint_for(base_url=options.base_url or DEFAULT_BASE_URL, api_key=options.api_key, headers=options.headers)


class OpenAIEmbedder:
    """One model behind one address."""

    def __init__(self, endpoint: Endpoint, model: str, options: ProviderOptions) -> None:
        known = KNOWN_MODELS.get(model)
        self._endpoint = endpoint
        self._model = model
        self._dimensions = options.dimensions
        limits = KNOWN_LIMITS if known else OTHER_LIMITS
        self._limits = replace(limits, max_items=min(limits.max_items, options.max_items or limits.max_items))
        self._dims = options.dimensions or (known.dims if known else None)
        self._dims_lock = Lock()
        self._service = OpenAIService(endpoint, model, timeout_seconds=options.timeout_seconds)

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
        self._service.close()

    def _post(self, texts: list[str]) -> bytes:
        def request(client: openai.OpenAI, headers: Headers) -> bytes:
            reply = client.embeddings.with_raw_response.create(
                input=texts,
                model=self._model,
                encoding_format="float",
                extra_body={"dimensions": self._dimensions} if self._dimensions is not None else None,
                extra_headers=headers,
            )
            return reply.content

        return self._service.call(request, texts=texts)

    def _learn_dims(self, vectors: Sequence[RawVector]) -> None:
        with self._dims_lock:
            if self._dims is None:
                checked = check_vectors(vectors, expected=len(vectors), dims=None)
                self._dims = next((len(one) for one in checked if not isinstance(one, BadVector)), None)
