"""Measures by hand."""

from __future__ import annotations

import math

import pytest

from recallite.evaluation.measures import Measures, mean, measure
from recallite.evaluation.questions import Answer, Question
from recallite.types import Hit


def hits(*paths: str) -> list[Hit]:
    return [Hit(path, 1, 5, 0.5, "", "memory", number) for number, path in enumerate(paths)]


def asked(*answers: Answer) -> Question:
    return Question("?", answers)


def test_the_first_place_is_perfect() -> None:
    assert measure(hits("a", "b"), asked(Answer("a")), k=1) == Measures(1.0, 1.0, 1.0)


def test_later_places_count_less() -> None:
    found = measure(hits("x", "y", "a"), asked(Answer("a")), k=2)

    assert found == Measures(0.0, pytest.approx(1 / 2), pytest.approx(1 / 3))
    assert measure(hits("x", "y", "a"), asked(Answer("a")), k=3).recall == 1.0


def test_nothing_found() -> None:
    assert measure(hits("x"), asked(Answer("a")), k=5) == Measures(0.0, 0.0, 0.0)
    assert measure([], asked(Answer("a")), k=5) == Measures(0.0, 0.0, 0.0)


def test_gains_and_several_answers() -> None:
    found = measure(hits("b", "x", "a"), asked(Answer("a", gain=3), Answer("b"), Answer("c")), k=3)

    reached = 1 + 3 / 2
    ideal = 3 + 1 / math.log2(3) + 1 / 2
    assert found == Measures(pytest.approx(2 / 3), pytest.approx(reached / ideal), 1.0)


def test_an_answer_counts_once_and_further_parts_of_its_note_are_misses() -> None:
    found = measure(hits("a", "a", "b"), asked(Answer("a"), Answer("b")), k=2)

    assert found.recall == 0.5
    assert found.ndcg == pytest.approx((1 + 1 / 2) / (1 + 1 / math.log2(3)))


def test_the_eleventh_place_is_outside_ndcg() -> None:
    found = measure(hits(*"0123456789", "a"), asked(Answer("a")), k=20)

    assert (found.ndcg, found.recall, found.mrr) == (0.0, 1.0, pytest.approx(1 / 11))


def test_the_mean() -> None:
    assert mean([Measures(1, 1, 1), Measures(0, 0.5, 0)]) == Measures(0.5, 0.75, 0.5)
