"""Models served by Ollama on this machine or another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from recallite.embeddings import http_api
from recallite.embeddings.endpoint import endpoint_for
from recallite.embeddings.options import ProviderOptions
from recallite.embeddings.protocol import Kind, Limits, RawVector, Space
from recallite.embeddings.remote import RemoteEmbedder
from recallite.embeddings.replies import read_json
from recallite.errors import ProviderTransientError, ProviderUnavailableError

PROVIDER = "ollama"
DEFAULT_MODEL = "nomic-embed-text"
DEFAULT_BASE_URL = "http://127.0.0.1:11434"
LIMITS = Limits(max_items=32, max_request_tokens=32_000, max_input_tokens=2_048)
"""A model's context is the server's affair; 2 048 tokens is what Ollama gives one by default."""


def why_unavailable() -> str | None:
    return http_api.why_unavailable(PROVIDER)


def create(options: ProviderOptions) -> OllamaEmbedder:
    """Raises ProviderUnavailableError when a setting cannot be used."""
    if options.dimensions is not None:
        raise ProviderUnavailableError("the provider ollama has no choice of dimensions: remove outputDimensionality")
    model = (options.model or DEFAULT_MODEL).removeprefix("ollama/")
    base_url = (options.base_url or DEFAULT_BASE_URL).rstrip("/").removesuffix("/v1")
    endpoint = endpoint_for(base_url=base_url, api_key=options.api_key, headers=options.headers)
    return OllamaEmbedder(endpoint, Space(PROVIDER, model, None), LIMITS, options)


class OllamaEmbedder(RemoteEmbedder):
    """Uses `/api/embed`; for servers from before it, `/api/embeddings` with one text at a time."""

    _is_old = False

    def ask(self, texts: list[str], kind: Kind) -> list[RawVector]:
        if not self._is_old:
            try:
                return self._ask_all(texts)
            except ProviderUnavailableError:
                # 404: an old server, or no such model. The old address tells which.
                vectors = self._ask_each(texts)
                self._is_old = True
                return vectors
        return self._ask_each(texts)

    def _ask_all(self, texts: list[str]) -> list[RawVector]:
        host = self.api.endpoint.host
        request = {"model": self.space.model, "input": texts, "truncate": False}
        reply = read_json(self.api.post("/api/embed", request, texts=texts), host=host)
        found = reply.get("embeddings") if isinstance(reply, dict) else None
        if not isinstance(found, list):
            raise ProviderTransientError(f"{host} answered without embeddings")
        return [_vector(item) for item in found] if len(found) == len(texts) else [None] * len(texts)

    def _ask_each(self, texts: list[str]) -> list[RawVector]:
        host = self.api.endpoint.host
        vectors: list[RawVector] = []
        for text in texts:
            request = {"model": self.space.model, "prompt": text}
            reply = read_json(self.api.post("/api/embeddings", request, texts=texts), host=host)
            vectors.append(_vector(reply.get("embedding")) if isinstance(reply, dict) else None)
        return vectors


def _vector(found: object) -> RawVector:
    return cast(Sequence[float], found) if isinstance(found, list) else None
