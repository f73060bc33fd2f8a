"""Google's Gemini embeddings (v1beta), with their task types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from recallite.embeddings import http_api
from recallite.embeddings.endpoint import endpoint_for
from recallite.embeddings.gemini_batches import GeminiBatches
from recallite.embeddings.options import ProviderOptions
from recallite.embeddings.protocol import Kind, Limits, RawVector, Space
from recallite.embeddings.remote import RemoteEmbedder
from recallite.embeddings.replies import read_json
from recallite.errors import ProviderTransientError, ProviderUnavailableError

PROVIDER = "gemini"
DEFAULT_MODEL = "gemini-embedding-001"
PREVIEW_MODEL = "gemini-embedding-2-preview"
PREVIEW_DIMENSIONS = (768, 1_536, 3_072)
DEFAULT_BASE_URL = "https://generativelanguage.googleapis.com/v1beta"
TASK_TYPES: dict[Kind, str] = {"query": "RETRIEVAL_QUERY", "document": "RETRIEVAL_DOCUMENT"}

_INPUT_TOKENS = {PREVIEW_MODEL: 8_192}
_DEFAULT_INPUT_TOKENS = 2_048


def why_unavailable() -> str | None:
    return http_api.why_unavailable(PROVIDER)


def create(options: ProviderOptions) -> GeminiEmbedder:
    """Raises ProviderUnavailableError when a setting cannot be used."""
    model = options.model or DEFAULT_MODEL
    for prefix in ("models/", "gemini/", "google/"):
        model = model.removeprefix(prefix)
    dims = options.dimensions
    if model == PREVIEW_MODEL:
        dims = dims or PREVIEW_DIMENSIONS[-1]
        if dims not in PREVIEW_DIMENSIONS:
            valid = ", ".join(map(str, PREVIEW_DIMENSIONS))
            raise ProviderUnavailableError(f"Invalid outputDimensionality {dims} for {model}. Valid values: {valid}")
    base_url = (options.base_url or DEFAULT_BASE_URL).partition("/openai")[0]
    headers = dict(options.headers)
    if options.api_key and not any(name.lower() == "x-goog-api-key" for name in headers):
        headers["x-goog-api-key"] = options.api_key
    endpoint = endpoint_for(base_url=base_url, api_key=None, headers=headers)
    most = _INPUT_TOKENS.get(model, _DEFAULT_INPUT_TOKENS)
    limits = Limits(max_items=100, max_input_tokens=most, parallel_requests=2)
    space = Space(PROVIDER, model, dims, variant="RETRIEVAL")
    return GeminiEmbedder(endpoint, space, limits, options)


def create_batches(options: ProviderOptions) -> GeminiBatches:
    """The batch service for the same account. Errors as `create`."""
    embedder = create(options)
    model = embedder.space.model
    wanted = embedder.space.dims if model == PREVIEW_MODEL else options.dimensions
    return GeminiBatches(embedder.api.endpoint, model, dimensions=wanted)


class GeminiEmbedder(RemoteEmbedder):
    """Sends the task type for questions and documents, and `outputDimensionality` where it is set."""

    def ask(self, texts: list[str], kind: Kind) -> list[RawVector]:
        model = f"models/{self.space.model}"
        wanted = self.space.dims if self.space.model == PREVIEW_MODEL else self.asked_dims
        more = {"outputDimensionality": wanted} if wanted is not None else {}
        requests = [
            {"model": model, "content": {"parts": [{"text": text}]}, "taskType": TASK_TYPES[kind], **more}
            for text in texts
        ]
        host = self.api.endpoint.host
        body = self.api.post(f"/{model}:batchEmbedContents", {"requests": requests}, texts=texts)
        reply = read_json(body, host=host)
        found = reply.get("embeddings") if isinstance(reply, dict) else None
        if not isinstance(found, list):
            raise ProviderTransientError(f"{host} answered without embeddings")
        # Gemini's items have no index: with another number of them nobody can tell whose they are.
        return [_values(item) for item in found] if len(found) == len(texts) else [None] * len(texts)


def _values(item: object) -> RawVector:
    values = item.get("values") if isinstance(item, dict) else None
    return cast(Sequence[float], values) if isinstance(values, list) else None
