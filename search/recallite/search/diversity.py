"""Maximal marginal relevance: near repetitions of a better hit give way (`query.hybrid.mmr`).

Carbonell and Goldstein, SIGIR 1998. Relevance is the merged score as it is: scaled to the pool it would hang on
the worst candidate, and the order with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from recallite.index.tokens import fold, tokens

SHOWN_TOGETHER = 3
"""Picks are shown in threes, each three by score: docs/decisions/0020."""


@dataclass(frozen=True, slots=True)
class Pick:
    """The place of a candidate in the pool, and its greatest similarity to those picked before it."""

    place: int
    similarity: float


class TokenSets:
    """Texts as sets of words (of pairs of characters where a script has no spaces), and how alike two are."""

    def __init__(self, texts: Sequence[str]) -> None:
        numbers: dict[str, int] = {}
        self._texts = texts
        self._masks = [_mask(tokens(fold(text)), numbers) for text in texts]
        self._sizes = [mask.bit_count() for mask in self._masks]

    def similarity(self, one: int, other: int) -> float:
        """Jaccard: shared words ÷ words of both, 0..1. Texts without any word are alike when they are equal."""
        shared = (self._masks[one] & self._masks[other]).bit_count()
        together = self._sizes[one] + self._sizes[other] - shared
        return shared / together if together else float(self._texts[one] == self._texts[other])


def _mask(words: Iterable[str], numbers: dict[str, int]) -> int:
    # One integer a text: an intersection is then one operation, fifty times faster than with sets.
    mask = 0
    for number in {numbers.setdefault(word, len(numbers)) for word in words}:
        mask |= 1 << number
    return mask


def diversify(relevance: Sequence[float], texts: Sequence[str], *, lambda_: float, count: int) -> list[Pick]:
    """The first `count` picks from a pool that is sorted by relevance, in the order to show them.

    Each pick has the highest λ·relevance − (1−λ)·(greatest similarity to those picked); of equals the more
    relevant. The picks for k begin those for k + 1. Costs count × len(relevance) comparisons.
    """
    sets = TokenSets(texts)
    nearest = [0.0] * len(relevance)
    left = list(range(len(relevance)))
    shown: list[Pick] = []
    while left and len(shown) < count:
        together: list[Pick] = []
        while left and len(together) < SHOWN_TOGETHER:
            best = max(left, key=lambda place: (lambda_ * relevance[place] - (1 - lambda_) * nearest[place], -place))
            left.remove(best)
            together.append(Pick(best, nearest[best]))
            for place in left:
                nearest[place] = max(nearest[place], sets.similarity(best, place))
        shown += sorted(together, key=lambda pick: (-relevance[pick.place], pick.place))
    return shown[:count]
