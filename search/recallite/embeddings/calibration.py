"""Cosine → a score that means the same for every model.

Models put unrelated texts at different cosines: about .74 for multilingual-e5-small, about .05 for others. A
calibration is two points of that scale: `floor`, what unrelated text has, and `middle`, where text is as
likely related as not. The score is 0 at the floor, ½ at the middle, 1 for the same text, linear between.

The floor also depends on the question: a Chinese one lies .07 nearer to all Chinese notes than to all English
ones. So it is measured for each question, on a sample of the index; the distance from floor to middle is the
model's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MINIMUM_SAMPLE = 16
_HIGHEST_FLOOR, _HIGHEST_MIDDLE = 0.95, 0.97
_DEFAULT_FLOOR, _DEFAULT_MIDDLE = 0.10, 0.40


@dataclass(frozen=True, slots=True)
class Calibration:
    """The two points that place a model's cosines; `floor < middle < 1`."""

    floor: float
    middle: float

    def at(self, floor: float) -> Calibration:
        """The same scale for a question whose cosine with unrelated text is `floor`."""
        floor = min(max(floor, -1.0), _HIGHEST_FLOOR)
        return Calibration(floor, min(floor + self.middle - self.floor, _HIGHEST_MIDDLE))

    def score(self, cosine: float) -> float:
        """0..1, never falling when the cosine rises."""
        if not cosine > self.floor:
            return 0.0
        if cosine < self.middle:
            return 0.5 * (cosine - self.floor) / (self.middle - self.floor)
        return min(1.0, 0.5 + 0.5 * (cosine - self.middle) / (1.0 - self.middle))


KNOWN = {
    ("builtin", "multilingual-e5-small-q4"): Calibration(0.75, 0.80),
    ("openai", "text-embedding-3-small"): Calibration(0.10, 0.33),
    ("openai", "text-embedding-3-large"): Calibration(0.10, 0.33),
    ("openai", "text-embedding-ada-002"): Calibration(0.70, 0.77),
}
DEFAULT = Calibration(_DEFAULT_FLOOR, _DEFAULT_MIDDLE)
"""For a model that is not known, until enough of its vectors are there to measure."""


def measure(vectors: Sequence[NDArray[np.float32]]) -> Calibration | None:
    """A calibration from the unit vectors of an index; None when there are too few to tell.

    Most pairs of chunks are unrelated: their median cosine is the floor. The middle lies above nearly all of
    them, where a pair that is still there is related more often than not.
    """
    if len(vectors) < MINIMUM_SAMPLE:
        return None
    matrix = np.stack(vectors)
    cosines = (matrix @ matrix.T)[np.triu_indices(len(vectors), k=1)]
    floor, middle = (float(value) for value in np.quantile(cosines, (0.5, 0.97)))
    floor = min(max(floor, -1.0), _HIGHEST_FLOOR)
    return Calibration(floor, min(max(middle, floor + 0.02), _HIGHEST_MIDDLE))


def calibration_of(provider: str, model: str, floor: float | None, middle: float | None) -> Calibration:
    """The known constants of a model, else what was measured on the index, else a cautious default."""
    known = KNOWN.get((provider, model))
    if known is not None:
        return known
    if floor is not None and middle is not None and floor < middle < 1.0:
        return Calibration(floor, middle)
    return DEFAULT
