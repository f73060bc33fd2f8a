"""Mistral's embeddings: OpenAI's protocol with fewer words."""

from __future__ import annotations

from recallite.embeddings import http_api
from recallite.embeddings.endpoint import endpoint_for
from recallite.embeddings.options import ProviderOptions
from recallite.embeddings.protocol import Kind, Limits, RawVector, Space
from recallite.embeddings.remote import RemoteEmbedder
from recallite.embeddings.replies import match_items, read_json
from recallite.errors import ProviderUnavailableError

PROVIDER = "mistral"
DEFAULT_MODEL = "mistral-embed"
DEFAULT_BASE_URL = "https://api.mistral.ai/v1"
LIMITS = Limits(max_items=128, max_request_tokens=16_000, max_input_tokens=8_000, parallel_requests=2)


def why_unavailable() -> str | None:
    return http_api.why_unavailable(PROVIDER)


def create(options: ProviderOptions) -> MistralEmbedder:
    """Raises ProviderUnavailableError when a setting cannot be used."""
    if options.dimensions is not None:
        raise ProviderUnavailableError("the provider mistral has no choice of dimensions: remove outputDimensionality")
    model = (options.model or DEFAULT_MODEL).removeprefix("mistral/")
    endpoint = endpoint_for(
        base_url=options.base_url or DEFAULT_BASE_URL, api_key=options.api_key, headers=options.headers
    )
    dims = 1_024 if model == DEFAULT_MODEL else None
    return MistralEmbedder(endpoint, Space(PROVIDER, model, dims), LIMITS, options)


class MistralEmbedder(RemoteEmbedder):
    """Questions and documents are embedded alike."""

    def ask(self, texts: list[str], kind: Kind) -> list[RawVector]:
        body = self.api.post("/embeddings", {"model": self.space.model, "input": texts}, texts=texts)
        host = self.api.endpoint.host
        return match_items(read_json(body, host=host), expected=len(texts), host=host)
