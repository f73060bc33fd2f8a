"""Voyage AI's embeddings, which tell questions from documents."""

from __future__ import annotations

from recallite.embeddings import http_api
from recallite.embeddings.endpoint import endpoint_for
from recallite.embeddings.options import ProviderOptions
from recallite.embeddings.protocol import Kind, Limits, RawVector, Space
from recallite.embeddings.remote import RemoteEmbedder
from recallite.embeddings.replies import match_items, read_json
from recallite.embeddings.voyage_batches import VoyageBatches

PROVIDER = "voyage"
DEFAULT_MODEL = "voyage-4-large"
DEFAULT_BASE_URL = "https://api.voyageai.com/v1"

_MAX_ITEMS = 1_000
_MAX_REQUEST_TOKENS = 100_000
"""The lowest of Voyage's limits over its models (120 000), less a margin for the estimate."""
_INPUT_TOKENS = {"voyage-3-lite": 16_000}
_DEFAULT_INPUT_TOKENS = 32_000


def why_unavailable() -> str | None:
    return http_api.why_unavailable(PROVIDER)


def create(options: ProviderOptions) -> VoyageEmbedder:
    """Raises ProviderUnavailableError when a setting cannot be used."""
    model = (options.model or DEFAULT_MODEL).removeprefix("voyage/")
    endpoint = endpoint_for(
        base_url=options.base_url or DEFAULT_BASE_URL, api_key=options.api_key, headers=options.headers
    )
    most = _INPUT_TOKENS.get(model, _DEFAULT_INPUT_TOKENS)
    limits = Limits(
        max_items=_MAX_ITEMS, max_request_tokens=_MAX_REQUEST_TOKENS, max_input_tokens=most, parallel_requests=2
    )
    space = Space(PROVIDER, model, options.dimensions, variant="input_type")
    return VoyageEmbedder(endpoint, space, limits, options)


def create_batches(options: ProviderOptions) -> VoyageBatches:
    """The batch service for the same account. Errors as `create`."""
    embedder = create(options)
    return VoyageBatches(embedder.api.endpoint, embedder.space.model, dimensions=options.dimensions)


class VoyageEmbedder(RemoteEmbedder):
    """Sends `input_type` query or document."""

    def ask(self, texts: list[str], kind: Kind) -> list[RawVector]:
        request: dict[str, object] = {"model": self.space.model, "input": texts, "input_type": kind}
        request["truncation"] = False  # a text that is too long is an error, not a part of a text
        if self.asked_dims is not None:
            request["output_dimension"] = self.asked_dims
        body = self.api.post("/embeddings", request, texts=texts)
        host = self.api.endpoint.host
        return match_items(read_json(body, host=host), expected=len(texts), host=host)
