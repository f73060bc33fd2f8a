"""What a question's cosine with unrelated text is, in the index as a whole and in each of its languages.

Models put a question nearer to all text of its own language than to any of another: docs/decisions/0022.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import apsw
import numpy as np
from numpy.typing import NDArray

from recallite.index.connection import SpaceRow
from recallite.index.rows import fetch
from recallite.index.vector import Matrix, VectorIndex
from recallite.search.languages import LOOKED_AT, language_of

_LEAST_SAMPLE = 16
LEAST_OF_LANGUAGE = 6
"""Chunks of the sample that a language must have to get a floor of its own."""
LANGUAGE_SHARE = 0.9
"""How far a chunk's floor goes from that of the whole index to that of its language."""
_SMALLEST_NORM = 1e-3
_REMEMBERED = 100_000
"""Chunks whose language is kept in memory; a few MB."""


@dataclass(frozen=True, slots=True)
class Background:
    """The floors of one question. `by_language` is empty where the index has one language."""

    floor: float
    by_language: dict[str, float] = field(default_factory=dict)
    language: str = ""
    """The question's own, where the index has several: what it says itself, else where its cosines are highest."""
    neutral: Matrix | None = None
    """The question without what its language adds to it, to look for neighbours in the others."""

    def floor_of(self, language: str) -> float:
        """The cosine of the question with unrelated text in a language; that of the whole index for an unclear one."""
        own = self.by_language.get(language)
        return self.floor if own is None else self.floor + LANGUAGE_SHARE * (own - self.floor)

    def is_foreign(self, language: str) -> bool:
        """Whether a text of this language is in another one than the question."""
        return language in self.by_language and language != self.language


@dataclass(frozen=True, slots=True)
class _Sample:
    vectors: Matrix
    languages: NDArray[np.str_]
    directions: Matrix
    """Orthonormal rows: in what the vectors of the languages differ on average."""


class Backgrounds:
    """Measures on a sample of the space, which is read once per connection and space when it is full."""

    def __init__(self, connection: apsw.Connection, vectors: VectorIndex) -> None:
        self._connection = connection
        self._vectors = vectors
        self._samples: dict[int, _Sample] = {}
        self._languages: dict[int, str] = {}

    def of(self, text: str, query: Matrix, space: SpaceRow) -> Background | None:
        """None while there are too few vectors to tell. Call it inside a read transaction."""
        sample = self._sample(space)
        if len(sample.vectors) < _LEAST_SAMPLE or sample.vectors.shape[1] != len(query):
            return None
        cosines = sample.vectors @ query
        floor = float(np.median(cosines))
        if not len(sample.directions):
            return Background(floor)
        names = _frequent(sample.languages)
        by_language = {name: float(np.median(cosines[sample.languages == name])) for name in names}
        neutral = query - (sample.directions @ query) @ sample.directions
        norm = float(np.linalg.norm(neutral))
        unit = np.asarray(neutral / norm, dtype=np.float32) if norm > _SMALLEST_NORM else None
        said = language_of(text) or ""
        language = said if said in by_language else max(by_language, key=lambda name: by_language[name])
        return Background(floor, by_language, language, unit)

    def languages(self, chunk_ids: Iterable[int]) -> dict[int, str]:
        """The language of each chunk; empty text where it is not clear."""
        return {id_: self._language(id_) for id_ in chunk_ids}

    def _sample(self, space: SpaceRow) -> _Sample:
        ids, vectors = self._vectors.sample(space)
        known = self._samples.get(space.id)
        if known is not None and known.vectors is vectors:
            return known
        languages = np.array([self._language(id_) for id_ in ids], dtype=np.str_)
        sample = _Sample(vectors, languages, _directions(vectors, languages))
        self._samples[space.id] = sample
        return sample

    def _language(self, chunk_id: int) -> str:
        """Empty when it is not clear. Remembered: the id of a chunk never gets another text."""
        known = self._languages.get(chunk_id)
        if known is None:
            rows = fetch(self._connection, "SELECT substr(text, 1, ?) FROM chunks WHERE id = ?", (LOOKED_AT, chunk_id))
            known = (language_of(rows[0][0]) if rows else None) or ""
            if len(self._languages) >= _REMEMBERED:
                self._languages.clear()
            self._languages[chunk_id] = known
        return known


def _frequent(languages: NDArray[np.str_]) -> list[str]:
    counts = Counter(str(name) for name in languages if name)
    return sorted(name for name, count in counts.items() if count >= LEAST_OF_LANGUAGE)


def _directions(vectors: Matrix, languages: NDArray[np.str_]) -> Matrix:
    """One less than there are languages; none where the sample has one language."""
    names = _frequent(languages)
    if len(names) < 2:
        return np.empty((0, vectors.shape[1] if vectors.ndim == 2 else 0), dtype=np.float32)
    means = np.stack([vectors[languages == name].mean(axis=0) for name in names])
    _, _, rows = np.linalg.svd(means - means.mean(axis=0), full_matrices=False)
    return np.asarray(rows[: len(names) - 1], dtype=np.float32)
