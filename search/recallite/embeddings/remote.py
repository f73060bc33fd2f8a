"""What the embedders over HTTP have in common: a model behind an address, one request per call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from threading import Lock

from recallite.embeddings.checks import BadVector, check_vectors
from recallite.embeddings.endpoint import Endpoint
from recallite.embeddings.http_api import JsonApi
from recallite.embeddings.limits import sendable
from recallite.embeddings.options import ProviderOptions
from recallite.embeddings.protocol import Kind, Limits, RawVector, Space


class RemoteEmbedder:
    """Subclasses say how a request looks and how its reply is read."""

    def __init__(self, endpoint: Endpoint, space: Space, limits: Limits, options: ProviderOptions) -> None:
        self._space = space
        self.asked_dims = options.dimensions
        """The length of vectors to ask the service for, where the settings name one."""
        self._limits = replace(limits, max_items=min(limits.max_items, options.max_items or limits.max_items))
        self._dims_lock = Lock()
        self.api = JsonApi(endpoint, model=space.model, timeout_seconds=options.timeout_seconds)

    @property
    def provider(self) -> str:
        return self._space.provider

    @property
    def space(self) -> Space:
        return self._space

    @property
    def limits(self) -> Limits:
        return self._limits

    def embed(self, texts: Sequence[str], *, kind: Kind) -> list[RawVector]:
        """One request. See `Embedder.embed`."""
        if not texts:
            return []
        vectors = self.ask([sendable(text) for text in texts], kind)
        with self._dims_lock:
            if self._space.dims is None:
                checked = check_vectors(vectors, expected=len(vectors), dims=None)
                dims = next((len(one) for one in checked if not isinstance(one, BadVector)), None)
                self._space = replace(self._space, dims=dims)
        return vectors

    def ask(self, texts: list[str], kind: Kind) -> list[RawVector]:
        """The vectors of these texts, in order."""
        raise NotImplementedError

    def close(self) -> None:
        self.api.close()
