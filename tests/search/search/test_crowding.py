"""Further chunks of one transcript give way, and nothing else changes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recallite.search.crowding import CHUNKS_IN_FULL, give_way
from recallite.search.fusion import Scored
from recallite.types import ScoreParts


def hit(chunk: int, score: float, *, exact: bool = False) -> Scored:
    return Scored(chunk, score, ScoreParts(score, score, exact=exact))


def test_the_third_chunk_of_a_session_gives_way_to_a_note_that_is_nearly_as_good() -> None:
    session = [hit(n, 0.8 - n / 1000) for n in range(8)]
    note = hit(100, 0.75)

    order = give_way([*session, note], dict.fromkeys(range(8), 1), min_score=0.35)

    assert [each.chunk_id for each in order][:4] == [0, 1, 100, 2]
    assert [each.chunk_id for each in order if each.chunk_id < 100] == list(range(8))


def test_what_a_chunk_was_multiplied_with_is_told() -> None:
    scored = [hit(n, 0.9 - n / 100) for n in range(16)]

    order = give_way([*scored, hit(100, 0.75)], dict.fromkeys(range(16), 1), min_score=0.35)

    factors = {each.chunk_id: round(each.parts.gave_way, 3) for each in order}
    before = {each.chunk_id: each.score for each in scored} | {100: 0.75}
    assert [factors[n] for n in (100, 0, 1, 2, 3, 8, 15)] == [1.0, 1.0, 1.0, 0.8, 0.75, 0.5, 0.5]
    assert all(each.score == pytest.approx(before[each.chunk_id] * each.parts.gave_way) for each in order)


def test_a_note_that_is_far_from_the_question_stays_behind() -> None:
    order = give_way([*(hit(n, 0.8) for n in range(4)), hit(100, 0.4)], dict.fromkeys(range(4), 1), min_score=0.35)

    assert order[-1].chunk_id == 100


@pytest.mark.parametrize("files", [{}, dict.fromkeys(range(9), 1)])
def test_notes_alone_and_one_session_alone_stay_as_they_are(files: dict[int, int]) -> None:
    scored = [hit(n, 0.9 - n / 20) for n in range(9)]

    assert give_way(scored, files, min_score=0.35) == scored


hits = st.lists(st.tuples(st.floats(0, 1), st.booleans(), st.integers(0, 3)), max_size=40)


@given(hits, st.floats(0, 1))
def test_what_always_holds(found: list[tuple[float, bool, int]], min_score: float) -> None:
    best = max((score for score, exact, _ in found if not exact), default=0.0)
    scored = [hit(n, max(score, best) if exact else score, exact=exact) for n, (score, exact, _) in enumerate(found)]
    scored = sorted(
        (each for each in scored if each.parts.exact or each.score >= min_score),
        key=lambda each: (-each.score, not each.parts.exact, each.chunk_id),
    )
    files = {n: file for n, (_, _, file) in enumerate(found) if file}

    result = give_way(scored, files, min_score=min_score)

    assert {each.chunk_id for each in result} == {each.chunk_id for each in scored}
    assert [each.score for each in result] == sorted((each.score for each in result), reverse=True)
    assert all(each.parts.exact or each.score >= min_score for each in result)
    exact = [place for place, each in enumerate(result) if each.parts.exact]
    assert exact == list(range(len(exact)))
    before = {each.chunk_id: each.score for each in scored}
    assert all(each.score <= before[each.chunk_id] for each in result)
    for file in set(files.values()):
        own = [each.chunk_id for each in scored if files.get(each.chunk_id) == file][:CHUNKS_IN_FULL]
        assert all(each.score == before[each.chunk_id] for each in result if each.chunk_id in own)
