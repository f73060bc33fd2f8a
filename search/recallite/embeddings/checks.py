"""The gate between a provider's reply and the index: only real unit vectors pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeGuard

import numpy as np
from numpy.typing import NDArray

from recallite.embeddings.protocol import RawVector, Vector

Fault = Literal["missing", "length", "content"]

_BLOCK_ROWS = 1_024
"""Rows normalised at once: bounds the float64 copy to 12 MB at 1536 dimensions."""


@dataclass(frozen=True, slots=True)
class BadVector:
    """Why a reply's vector was refused.

    `fault` says what kind it is: nothing came ("missing"), it has another length than the index
    ("length"), or its numbers are no direction in space ("content").
    """

    reason: str
    fault: Fault


def check_vectors(raw: Sequence[RawVector], *, expected: int, dims: int | None) -> list[Vector | BadVector]:
    """`expected` results, in the order of `raw`: the unit vector, or why there is none.

    With `dims` None the most frequent length in this reply is taken for the right one; the caller reads
    it off the first vector. A reply of another count than `expected` cannot be matched to its texts, so
    all of it is refused.
    """
    if len(raw) != expected:
        lost = BadVector(f"{len(raw)} vectors came for {expected} texts", "missing")
        return [lost] * expected
    wanted = dims if dims is not None else _usual_length(raw)
    results: list[Vector | BadVector] = []
    for start in range(0, expected, _BLOCK_ROWS):
        results.extend(_check_block(raw[start : start + _BLOCK_ROWS], wanted))
    return results


def _usual_length(raw: Sequence[RawVector]) -> int:
    lengths = Counter(len(one) for one in raw if _is_list(one) and len(one) > 0)
    return lengths.most_common(1)[0][0] if lengths else 0


def _check_block(raw: Sequence[RawVector], dims: int) -> list[Vector | BadVector]:
    """The good rows go through numpy together; each other row gets its reason."""
    results: list[Vector | BadVector | None] = [_fault_of_form(one, dims) for one in raw]
    rows = [number for number, fault in enumerate(results) if fault is None]
    if rows:
        matrix = _as_matrix([raw[number] for number in rows], dims)
        for number, vector in zip(rows, _normalised(matrix), strict=True):
            results[number] = vector
    return [result for result in results if result is not None]


def _fault_of_form(one: RawVector, dims: int) -> BadVector | None:
    """What can be said without looking at the values: presence, length, types."""
    if one is None:
        return BadVector("no vector came", "missing")
    if not _is_list(one):
        return BadVector(f"the vector is of type {type(one).__name__}", "content")
    if len(one) == 0:
        return BadVector("the vector is empty", "content")
    if len(one) != dims:
        return BadVector(f"the vector has {len(one)} numbers instead of {dims}", "length")
    if isinstance(one, np.ndarray):
        good = one.ndim == 1 and one.dtype.kind in "fiu"
    else:
        # `type`, not `isinstance`: bool is a subclass of int. map and set stay in C (15 ns a number).
        good = set(map(type, one)) <= {float, int}
    return None if good else BadVector("the vector holds something other than numbers", "content")


def _is_list(one: RawVector) -> TypeGuard[Sequence[float] | NDArray[np.float32]]:
    return isinstance(one, list | tuple) or (isinstance(one, np.ndarray) and one.ndim > 0)


def _as_matrix(rows: list[RawVector], dims: int) -> NDArray[np.float64]:
    try:
        return np.asarray(rows, dtype=np.float64)
    except OverflowError:
        # An int beyond the range of float64: that row alone becomes NaN.
        matrix = np.full((len(rows), dims), np.nan)
        for number, row in enumerate(rows):
            try:
                matrix[number] = np.asarray(row, dtype=np.float64)
            except OverflowError:
                continue
        return matrix


def _normalised(matrix: NDArray[np.float64]) -> list[Vector | BadVector]:
    """Scaled by the largest number first, so that squares of 1e200 or 1e-200 neither overflow nor vanish."""
    largest = np.abs(matrix).max(axis=1)
    good = np.isfinite(largest) & (largest > 0)
    if not good.all():
        matrix = np.where(good[:, None], matrix, 1.0)
    scaled = matrix / np.where(good, largest, 1.0)[:, None]
    unit = (scaled / np.sqrt(np.einsum("ij,ij->i", scaled, scaled))[:, None]).astype(np.float32)
    unit.setflags(write=False)
    return [row if fine else _bad_numbers(top) for row, fine, top in zip(unit, good, largest, strict=True)]


def _bad_numbers(largest: float) -> BadVector:
    what = "zero everywhere" if largest == 0 else "not finite"
    return BadVector(f"the vector is {what}", "content")
