"""Measures of one ranked list against its answers; all are 0..1, higher is better."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from recallite.evaluation.questions import Question
from recallite.types import Hit

NDCG_DEPTH = 10


@dataclass(frozen=True, slots=True)
class Measures:
    """Of one question, or the mean over many."""

    recall: float
    """Share of the answers among the first k."""
    ndcg: float
    """nDCG@10: Järvelin and Kekäläinen, ACM TOIS 2002, with the gain itself and log2(place + 1)."""
    mrr: float
    """1 ÷ place of the first answer; 0 when there is none."""


def measure(hits: Sequence[Hit], question: Question, *, k: int) -> Measures:
    """An answer counts at the first hit that gives it; further parts of the same note count as misses."""
    left = list(question.answers)
    places: list[tuple[int, float]] = []
    for place, hit in enumerate(hits, 1):
        given = next((answer for answer in left if answer.given_by(hit)), None)
        if given is not None:
            left.remove(given)
            places.append((place, given.gain))
    best = sorted((answer.gain for answer in question.answers), reverse=True)[:NDCG_DEPTH]
    ideal = sum(gain / math.log2(place + 1) for place, gain in enumerate(best, 1))
    reached = sum(gain / math.log2(place + 1) for place, gain in places if place <= NDCG_DEPTH)
    return Measures(
        recall=sum(place <= k for place, _ in places) / len(question.answers),
        ndcg=reached / ideal,
        mrr=1.0 / places[0][0] if places else 0.0,
    )


def mean(measures: Sequence[Measures]) -> Measures:
    """The mean of each measure over all questions."""
    count = len(measures)
    return Measures(
        recall=sum(m.recall for m in measures) / count,
        ndcg=sum(m.ndcg for m in measures) / count,
        mrr=sum(m.mrr for m in measures) / count,
    )
