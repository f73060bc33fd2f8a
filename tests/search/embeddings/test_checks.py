"""No vector that is not a direction in space passes."""

import math
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recallite.embeddings import BadVector, check_vectors

GOOD = [3.0, 4.0]


def fault_of(raw: object, *, dims: int | None = 2) -> tuple[str, str]:
    (result,) = check_vectors([raw], expected=1, dims=dims)
    assert isinstance(result, BadVector)
    return result.fault, result.reason


def test_a_good_vector_becomes_a_read_only_float32_unit_vector() -> None:
    (vector,) = check_vectors([GOOD], expected=1, dims=2)

    assert not isinstance(vector, BadVector)
    assert vector.dtype == np.float32
    assert vector.tolist() == pytest.approx([0.6, 0.8])
    assert not vector.flags.writeable


@pytest.mark.parametrize(
    ("raw", "fault", "word"),
    [
        (None, "missing", "no vector"),
        ([], "content", "empty"),
        ([1.0], "length", "1 numbers instead of 2"),
        ([1.0, 2.0, 3.0], "length", "3 numbers instead of 2"),
        ([math.nan, 1.0], "content", "not finite"),
        ([math.inf, 1.0], "content", "not finite"),
        ([1.0, -math.inf], "content", "not finite"),
        ([0.0, 0.0], "content", "zero"),
        ([-0.0, 0], "content", "zero"),
        (["0.5", "0.5"], "content", "other than numbers"),
        ([0.5, True], "content", "other than numbers"),
        ([0.5, None], "content", "other than numbers"),
        ([[0.5], [0.5]], "content", "other than numbers"),
        ("ab", "content", "type str"),
        ({"0": 1.0}, "content", "type dict"),
        (7, "content", "type int"),
        ([10**400, 1], "content", "not finite"),
        (np.array([True, False]), "content", "other than numbers"),
        (np.array([[1.0], [2.0]]), "content", "other than numbers"),
    ],
)
def test_a_bad_vector_is_refused_with_its_reason(raw: object, fault: str, word: str) -> None:
    found, reason = fault_of(raw)

    assert found == fault
    assert word in reason


def test_a_bad_vector_leaves_its_neighbours_alone() -> None:
    results = check_vectors([GOOD, [math.nan, 1.0], None, [10**400, 1], GOOD], expected=5, dims=2)

    assert [isinstance(result, BadVector) for result in results] == [False, True, True, True, False]
    assert np.asarray(results[4]).tolist() == pytest.approx([0.6, 0.8])


@pytest.mark.parametrize("scale", [1e-300, 1e-30, 1e30, 1e300])
def test_very_large_and_very_small_numbers_keep_their_direction(scale: float) -> None:
    (vector,) = check_vectors([[3.0 * scale, 4.0 * scale]], expected=1, dims=2)

    assert np.asarray(vector).tolist() == pytest.approx([0.6, 0.8])


@pytest.mark.parametrize("raw", [[GOOD], [GOOD, GOOD, GOOD], []])
def test_a_reply_of_another_count_is_refused_whole(raw: list[list[float]]) -> None:
    results = check_vectors(raw, expected=2, dims=2)

    assert [type(result) for result in results] == [BadVector, BadVector]
    assert all(isinstance(result, BadVector) and result.fault == "missing" for result in results)


def test_without_a_known_length_the_most_frequent_one_counts() -> None:
    results = check_vectors([[1.0], GOOD, GOOD, [], None], expected=5, dims=None)

    assert [isinstance(result, BadVector) for result in results] == [True, False, False, True, True]


def test_an_array_is_taken_as_it_is() -> None:
    (vector,) = check_vectors([np.array([3, 4], dtype=np.float32)], expected=1, dims=2)

    assert np.asarray(vector).tolist() == pytest.approx([0.6, 0.8])


anything = st.one_of(st.none(), st.booleans(), st.text(max_size=3), st.integers(), st.floats(), st.just(10**400))


@given(st.lists(st.one_of(anything, st.lists(anything, max_size=4)), max_size=6))
def test_whatever_comes_each_result_is_a_unit_vector_or_a_reason(raw: list[object]) -> None:
    for result in check_vectors(raw, expected=len(raw), dims=3):
        if isinstance(result, BadVector):
            assert result.reason
        else:
            assert result.shape == (3,)
            assert float(np.linalg.norm(result)) == pytest.approx(1.0, abs=1e-5)


def test_ten_thousand_large_vectors_do_not_crawl() -> None:
    row = np.random.default_rng(7).normal(size=1_536).tolist()
    raw = [row] * 10_000

    started = time.process_time()
    results = check_vectors(raw, expected=10_000, dims=1_536)
    seconds = time.process_time() - started

    assert not any(isinstance(result, BadVector) for result in results)
    assert seconds < 8  # measured: about 1 s
