"""What an embedding provider is to the rest of recallite."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

Kind = Literal["query", "document"]
"""Whether the text is a question or something to be found; many models embed the two differently."""

RawVector = Sequence[float] | NDArray[np.float32] | None
"""One vector as the provider sent it, not yet checked; None where the provider sent nothing usable.

The type is the provider's claim: what came over the wire may hold strings, null or NaN. Only
`checks.check_vectors` makes a `Vector` of it.
"""

Vector = NDArray[np.float32]
"""A checked vector: one dimension, finite, of length one (L2), read-only."""


@dataclass(frozen=True, slots=True)
class EmbeddingFailure:
    """Why one text has no vector. `permanent`: the same text will fail again with this model."""

    reason: str
    permanent: bool


@dataclass(frozen=True, slots=True)
class Limits:
    """What one request to a provider may hold. Token counts are upper-bound estimates (see `limits`)."""

    max_items: int = 64
    """Texts per request."""
    max_request_tokens: int = 100_000
    """Tokens of all texts of a request together."""
    max_input_tokens: int = 8_191
    """Tokens of one text; longer texts are split before they are sent."""
    parallel_requests: int = 1
    """Requests under way at once from one process."""


@dataclass(frozen=True, slots=True)
class Space:
    """The embedding space that vectors live in. Vectors of two spaces are never compared.

    The endpoint's address and the key are not part of it: the same model behind another address gives
    the same space.
    """

    provider: str
    model: str
    dims: int | None
    """Length of the vectors; None until the first vector has been seen."""
    variant: str = ""
    """Whatever else changes the vectors: prefixes, task type, normalisation version."""


class Embedder(Protocol):
    """A source of vectors. One instance may be used from several threads."""

    @property
    def provider(self) -> str: ...

    @property
    def space(self) -> Space: ...

    @property
    def limits(self) -> Limits: ...

    def embed(self, texts: Sequence[str], *, kind: Kind) -> list[RawVector]:
        """One raw vector per text, in the order of `texts`.

        The caller has packed the texts to `limits` and checks the vectors (`checks.check_vectors`);
        `retry.embed_all` does both. Makes one request, without retries.
        Raises a subclass of ProviderError for the request as a whole.
        """
        ...

    def close(self) -> None:
        """Release connections. A call to `embed` afterwards opens them again."""
        ...
