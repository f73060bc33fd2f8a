"""Joining two lists: monotone, bounded, exact hits above hits without a word."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recallite.embeddings.calibration import KNOWN, Calibration, measure
from recallite.index.keyword import KeywordHit
from recallite.search.fusion import Weights, fuse, passing

CALIBRATION = Calibration(0.1, 0.4)
WEIGHTS = Weights(0.7, 0.3)


def fused(hits, cosines, **options):
    return fuse(hits, cosines, {id_: CALIBRATION.score(cosine) for id_, cosine in cosines.items()}, **options)


UNIT = st.floats(0, 1)
HITS = st.lists(
    st.builds(KeywordHit, st.integers(1, 50), UNIT, st.just(-1.0), st.booleans()), unique_by=lambda h: h.chunk_id
)
COSINES = st.dictionaries(st.integers(1, 50), st.floats(-1, 1))


@given(HITS, COSINES, st.sampled_from(["weighted", "rrf"]))
def test_scores_stay_in_bounds_and_exact_hits_come_first(hits, cosines, fusion) -> None:
    scored = fused(hits, cosines, weights=WEIGHTS, fusion=fusion)

    assert all(0 <= s.score <= 1 for s in scored)
    assert [s.score for s in scored] == sorted((s.score for s in scored), reverse=True)
    best_other = max((s.score for s in scored if not s.parts.exact), default=0)
    assert all(s.score >= best_other for s in scored if s.parts.exact)
    assert {s.chunk_id for s in scored} == {h.chunk_id for h in hits} | cosines.keys()


@given(HITS, COSINES, st.sampled_from(["weighted", "rrf"]), st.frozensets(st.integers(1, 50)))
def test_the_parts_add_up_to_the_score(hits, cosines, fusion, foreign) -> None:
    for each in fused(hits, cosines, weights=WEIGHTS, fusion=fusion, foreign=foreign & cosines.keys()):
        parts = each.parts

        assert each.score == pytest.approx(parts.merged if parts.lifted is None else parts.lifted)
        assert parts.lifted is None or (parts.exact and parts.lifted >= parts.merged)
        if fusion == "weighted":
            joined = (1 - parts.text_weight) * parts.vector + parts.text_weight * parts.keyword
            assert parts.merged == pytest.approx(joined)


def test_what_an_exact_hit_is_lifted_to_is_told() -> None:
    hits = [KeywordHit(1, 0.8, -3.0, True), KeywordHit(2, 0.7, -2.0, False)]

    exact, other = fused(hits, {2: 1.0}, weights=WEIGHTS)

    assert (round(exact.parts.merged, 3), round(other.parts.merged, 3)) == (0.24, 0.91)
    assert exact.score == exact.parts.lifted == pytest.approx(0.91 + 0.09 * 0.24)
    assert other.parts.lifted is None
    [alone] = fused(hits[:1], {}, weights=WEIGHTS)
    assert alone.parts.lifted is None and alone.score == alone.parts.merged


def test_weights_alone_decide_without_exact_hits() -> None:
    hits = [KeywordHit(1, 0.9, -3.0, False)]
    scored = fused(hits, {2: 1.0}, weights=WEIGHTS)

    assert [(s.chunk_id, round(s.score, 3)) for s in scored] == [(2, 0.7), (1, 0.27)]


def test_no_text_weight_means_no_lift() -> None:
    hits = [KeywordHit(1, 1.0, -3.0, True)]

    scored = fused(hits, {2: 0.9}, weights=Weights(1.0, 0.0))

    assert scored[0].chunk_id == 2


@given(st.floats(-1, 1), st.floats(-1, 1))
def test_calibration_never_falls(low: float, high: float) -> None:
    low, high = min(low, high), max(low, high)
    for calibration in (*KNOWN.values(), CALIBRATION):
        assert 0 <= calibration.score(low) <= calibration.score(high) <= 1


def test_calibration_ends_at_zero_and_one() -> None:
    for calibration in KNOWN.values():
        assert calibration.score(calibration.floor) == 0
        assert calibration.score(1.0) == 1


def test_a_calibration_is_measured_from_unrelated_texts() -> None:
    import numpy as np

    rng = np.random.default_rng(1)
    common = rng.normal(size=64)
    vectors = [v / np.linalg.norm(v) for v in (rng.normal(size=64) + 1.5 * common for _ in range(100))]

    found = measure([v.astype(np.float32) for v in vectors])

    assert found is not None
    assert 0.4 < found.floor < found.middle < 0.97
    assert measure([v.astype(np.float32) for v in vectors[:3]]) is None


def test_when_nothing_reaches_the_minimum_the_best_are_shown() -> None:
    hits = [KeywordHit(1, 0.4, -3.0, False), KeywordHit(2, 0.05, -0.5, False)]
    scored = fused(hits, {}, weights=Weights(0.0, 1.0))

    assert [s.chunk_id for s in passing(scored, 0.9)] == [1]


def test_few_words_count_little_and_take_nothing_from_what_was_found_by_meaning() -> None:
    weak = [KeywordHit(1, 0.045, -1.0, False)]
    strong = [KeywordHit(1, 0.45, -1.0, False)]
    cosines = {2: 1.0}

    none = {s.chunk_id: s.score for s in fused([], cosines, weights=WEIGHTS)}
    few = {s.chunk_id: s.score for s in fused(weak, cosines, weights=WEIGHTS)}
    many = {s.chunk_id: s.score for s in fused(strong, cosines, weights=WEIGHTS)}

    assert none == {2: pytest.approx(1.0)}
    assert few == {1: pytest.approx(0.03 * 0.045), 2: pytest.approx(0.97)}
    assert many == {1: pytest.approx(0.3 * 0.45), 2: pytest.approx(0.7)}


def test_a_chunk_of_another_language_is_scored_by_its_vector_alone() -> None:
    words = [KeywordHit(1, 0.5, -1.0, False), KeywordHit(3, 0.1, -1.0, False)]
    cosines = {1: 0.7, 2: 0.7, 3: 0.7, 4: 0.7}

    scores = {s.chunk_id: s.score for s in fused(words, cosines, weights=WEIGHTS, foreign={2, 3})}

    vector = CALIBRATION.score(0.7)
    assert scores == {
        1: pytest.approx(0.7 * vector + 0.3 * 0.5),
        2: pytest.approx(vector),
        3: pytest.approx(0.7 * vector + 0.3 * 0.1),
        4: pytest.approx(0.7 * vector),
    }
