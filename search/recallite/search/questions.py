"""The vector of a question: one call to the provider, remembered, and given up quickly when it fails."""

from __future__ import annotations

import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from recallite.embeddings.choice import ProviderChoice
from recallite.embeddings.options import ProviderOptions
from recallite.embeddings.protocol import Embedder, EmbeddingFailure
from recallite.embeddings.registry import create_embedder
from recallite.embeddings.retry import embed_all
from recallite.errors import ProviderError
from recallite.index.connection import SpaceRow

Vector = NDArray[np.float32]

QUERY_TIMEOUT_SECONDS = 10.0
RETRY_AFTER_SECONDS = 30.0
"""After a failure the provider is left alone for so long; searches are by keyword meanwhile."""
_REMEMBERED = 256


class QuestionEmbedder:
    """Embeds questions for one agent. Thread-safe; makes its embedder anew after a fork."""

    def __init__(
        self,
        choice: ProviderChoice,
        *,
        fallback: ProviderChoice | None = None,
        create: Callable[..., Embedder] = create_embedder,
    ) -> None:
        """`fallback` is asked where the index holds its vectors and not those of `choice`."""
        self.choice = choice
        self._fallback = QuestionEmbedder(fallback, create=create) if fallback is not None else None
        self._create = create
        self._lock = threading.Lock()
        self._embedder: Embedder | None = None
        self._pid = os.getpid()
        self._remembered: OrderedDict[tuple[int, str], Vector] = OrderedDict()
        self._failed: tuple[float, str] | None = None

    def embed(self, text: str, space: SpaceRow) -> tuple[Vector | None, str | None]:
        """The unit vector of a question in `space`, or None and the reason why there is none."""
        other = self._fallback
        if other is not None and space.provider == other.choice.requested != self.choice.provider:
            return other.embed(text, space)
        self._check_process()
        key = (space.id, text)
        with self._lock:
            if key in self._remembered:
                self._remembered.move_to_end(key)
                return self._remembered[key], None
            if self._failed is not None and time.monotonic() - self._failed[0] < RETRY_AFTER_SECONDS:
                return None, self._failed[1]
        # The lock is not held meanwhile: one question that hangs keeps no other waiting.
        try:
            vector, reason = self._ask(text, space)
        except ProviderError as error:
            reason = f"the question could not be embedded: {error}"
            with self._lock:
                self._failed = (time.monotonic(), reason)
            return None, reason
        with self._lock:
            self._failed = None
            if vector is not None:
                self._remembered[key] = vector
                if len(self._remembered) > _REMEMBERED:
                    self._remembered.popitem(last=False)
        return vector, reason

    def _ask(self, text: str, space: SpaceRow) -> tuple[Vector | None, str | None]:
        if self.choice.options is None:
            return None, self.choice.reason
        embedder = self._open_embedder(self.choice.options)
        own = embedder.space
        if (own.provider, own.model, own.variant) != (space.provider, space.model, space.variant) or (
            own.dims is not None and space.dims is not None and own.dims != space.dims
        ):
            return None, (
                f"the index holds vectors of {space.provider}/{space.model}, the settings ask for "
                f"{own.provider}/{own.model}: they are rebuilt by `recallite index`"
            )
        (outcome,) = embed_all(embedder, [text], kind="query", attempts=1)
        if isinstance(outcome, EmbeddingFailure):
            return None, f"the question could not be embedded: {outcome.reason}"
        if len(outcome) != space.dims:
            return None, f"the question's vector has {len(outcome)} numbers, the index has {space.dims}"
        return outcome, None

    def _open_embedder(self, options: ProviderOptions) -> Embedder:
        with self._lock:
            if self._embedder is None:
                timeout = min(options.timeout_seconds, QUERY_TIMEOUT_SECONDS)
                self._embedder = self._create(replace(options, timeout_seconds=timeout))
            return self._embedder

    def _check_process(self) -> None:
        if self._pid != os.getpid():
            self._lock = threading.Lock()
            self._embedder = None
            self._pid = os.getpid()

    def close(self) -> None:
        if self._fallback is not None:
            self._fallback.close()
        self._check_process()
        if self._embedder is not None:
            self._embedder.close()
            self._embedder = None
