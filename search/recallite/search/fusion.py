"""Two lists of candidates → one order and one score."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from recallite.index.keyword import KeywordHit
from recallite.types import ScoreParts

Fusion = Literal["weighted", "rrf"]

RRF_CONSTANT = 60
"""Reciprocal rank fusion: a place n is worth 1 / (60 + n). Cormack, Clarke, Büttcher, SIGIR 2009."""


FULL_SUPPORT = 0.45
"""Keyword score of the best hit from which the text weight counts in full."""


@dataclass(frozen=True, slots=True)
class Weights:
    """Shares of the two sides; they add up to 1."""

    vector: float
    text: float


@dataclass(frozen=True, slots=True)
class Scored:
    """A candidate with its score (0..1) and what it is made of."""

    chunk_id: int
    score: float
    parts: ScoreParts


def fuse(
    keyword: Iterable[KeywordHit],
    cosines: Mapping[int, float],
    calibrated: Mapping[int, float],
    *,
    weights: Weights,
    fusion: Fusion = "weighted",
    foreign: Collection[int] = (),
) -> list[Scored]:
    """All candidates, best first; `calibrated` are the vector scores (0..1) of the `cosines`.

    A hit that holds every term of the query is never below one that does not, and one that holds them as they were
    asked never below one in another spelling, unless the weights leave the keyword side out: its score is lifted
    into the room between the best of the others and 1, in the order of the sums. Chunks of another language than the
    question (`foreign`) cannot hold its words: without any, their score is that of the vector alone.
    """
    by_id = {hit.chunk_id: hit for hit in keyword}
    ids = by_id.keys() | cosines.keys()
    vector = {id_: calibrated.get(id_, 0.0) for id_ in ids}
    text = {id_: by_id[id_].score if id_ in by_id else 0.0 for id_ in ids}
    weights = _supported(weights, text)
    alone = {id_ for id_ in foreign if text[id_] == 0} if weights.vector > 0 and fusion == "weighted" else set()
    base = _reciprocal_ranks(vector, text, weights) if fusion == "rrf" else _sums(vector, text, weights, alone)
    exact = {id_: by_id[id_].likeness for id_ in by_id if by_id[id_].exact} if weights.text > 0 else {}
    lifted = _lifted(base, exact)
    places = _places(text), _places(vector)
    scored = []
    for id_ in ids:
        parts = ScoreParts(
            text[id_],
            vector[id_],
            cosines.get(id_),
            by_id[id_].bm25 if id_ in by_id else None,
            id_ in exact,
            exact.get(id_, 0),
            keyword_rank=places[0].get(id_),
            vector_rank=places[1].get(id_),
            merged=base[id_],
            text_weight=0.0 if id_ in alone else weights.text,
            lifted=lifted.get(id_),
        )
        scored.append(Scored(id_, min(1.0, max(0.0, lifted.get(id_, base[id_]))), parts))
    return in_order(scored)


def _lifted(base: Mapping[int, float], exact: Mapping[int, int]) -> dict[int, float]:
    """The scores of exact hits where there are others below them; `exact` says how like the query each is."""
    lifted: dict[int, float] = {}
    ceiling = max((base[id_] for id_ in base.keys() - exact.keys()), default=0.0)
    for likeness in sorted(set(exact.values())):
        alike = [id_ for id_ in exact if exact[id_] == likeness]
        if ceiling > 0:
            lifted.update((id_, min(1.0, ceiling + (1.0 - ceiling) * base[id_])) for id_ in alike)
        ceiling = max(ceiling, *(lifted.get(id_, base[id_]) for id_ in alike))
    return lifted


def _supported(weights: Weights, text: Mapping[int, float]) -> Weights:
    """Less weight for words when even the best hit has few of them: docs/decisions/0021.

    A question in another language than the notes shares names and numbers with them at most; those must not
    decide, nor take from the scores of what was found by meaning.
    """
    best = max(text.values(), default=0.0)
    if weights.vector <= 0 or best >= FULL_SUPPORT:
        return weights
    share = weights.text * best / FULL_SUPPORT
    return Weights(1.0 - share, share)


def in_order(scored: Iterable[Scored]) -> list[Scored]:
    """Best first; of equals the exact ones, then those more like the query, then the older chunk."""
    return sorted(scored, key=lambda s: (-s.score, not s.parts.exact, -s.parts.likeness, s.chunk_id))


def _places(side: Mapping[int, float]) -> dict[int, int]:
    """The place of each candidate of one side, from 1."""
    ranked = sorted((id_ for id_ in side if side[id_] > 0), key=lambda id_: (-side[id_], id_))
    return {id_: place for place, id_ in enumerate(ranked, 1)}


def _sums(
    vector: Mapping[int, float], text: Mapping[int, float], weights: Weights, alone: Collection[int]
) -> dict[int, float]:
    """The weighted sums; of those in `alone` the vector score as it is."""
    sums = {id_: weights.vector * vector[id_] + weights.text * text[id_] for id_ in vector}
    sums.update((id_, vector[id_]) for id_ in alone)
    return sums


def _reciprocal_ranks(vector: Mapping[int, float], text: Mapping[int, float], weights: Weights) -> dict[int, float]:
    """Scaled so that the first place in both lists gives 1."""
    scores = dict.fromkeys(vector, 0.0)
    for side, weight in ((vector, weights.vector), (text, weights.text)):
        for id_, place in _places(side).items():
            scores[id_] += weight * (RRF_CONSTANT + 1) / (RRF_CONSTANT + place)
    return scores


def passing(scored: list[Scored], min_score: float) -> list[Scored]:
    """The hits to show. `min_score` never hides an exact hit.

    When nothing reaches it, keyword hits that come close to the best of them are shown all the same: a
    question whose words stand in the notes is not answered with nothing.
    """
    kept = [s for s in scored if s.parts.exact or s.score >= min_score]
    if kept or min_score <= 0:
        return kept
    best = max((s.parts.keyword for s in scored), default=0.0)
    return [s for s in scored if s.parts.keyword > 0 and s.parts.keyword >= _NEAR_BEST * best]


_NEAR_BEST = 0.7
