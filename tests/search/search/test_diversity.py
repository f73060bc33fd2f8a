"""Near repetitions give way, in any script, quickly, and without changing what came before."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recallite.search.diversity import TokenSets, diversify
from recallite.testing.manual_examples import NETWORK, PATHS, SCORES, WITH_MMR, WITHOUT_MMR


def by_score() -> list[int]:
    return sorted(range(len(SCORES)), key=lambda place: -SCORES[place])


def shown(language: str, lambda_: float, count: int) -> list[tuple[str, float]]:
    pool = by_score()
    texts = [NETWORK[language][place] for place in pool]
    picks = diversify([SCORES[place] for place in pool], texts, lambda_=lambda_, count=count)
    return [(PATHS[pool[pick.place]], SCORES[pool[pick.place]]) for pick in picks]


@pytest.mark.parametrize("language", NETWORK)
def test_the_manuals_example(language: str) -> None:
    assert tuple(shown(language, 0.7, 3)) == WITH_MMR
    assert tuple(shown(language, 1.0, 3)) == WITHOUT_MMR


@pytest.mark.parametrize(
    ("one", "other", "similarity"), [(0, 1, 6 / 11), (0, 3, 5 / 14), (0, 2, 2 / 16), (1, 3, 5 / 13), (1, 2, 1 / 16), (3, 2, 5 / 14)]
)  # fmt: skip
def test_similarity_is_jaccard(one: int, other: int, similarity: float) -> None:
    sets = TokenSets(NETWORK["English"])

    assert sets.similarity(one, other) == sets.similarity(other, one) == pytest.approx(similarity)


@pytest.mark.parametrize(
    ("one", "other", "similarity"),
    [
        ("我喜欢你", "我喜欢他", 2 / 4),
        ("Привет, мир", "привет МИР!", 1.0),
        ("Это одно", "Совсем другое", 0.0),
        ("هذا نص", "شيء آخر", 0.0),
        ("🦓🦓", "🦓🦓", 1.0),
        ("🦓🦓", "***", 0.0),
        ("", "", 1.0),
        ("Größe", "GRÖSSE", 1.0),
        ("café", "cafe", 1.0),
    ],
)
def test_similarity_in_other_scripts(one: str, other: str, similarity: float) -> None:
    assert TokenSets([one, other]).similarity(0, 1) == pytest.approx(similarity)


POOLS = st.lists(st.tuples(st.floats(0, 1), st.text(alphabet="ab cd路由", max_size=12)), max_size=12)


@given(POOLS, st.floats(0, 1))
def test_the_picks_for_k_begin_those_for_more_and_none_is_lost(pool: list[tuple[float, str]], lambda_: float) -> None:
    pool.sort(key=lambda item: -item[0])
    scores, texts = [score for score, _ in pool], [text for _, text in pool]
    longest = diversify(scores, texts, lambda_=lambda_, count=len(pool))

    assert sorted(pick.place for pick in longest) == list(range(len(pool)))
    for count in range(len(pool)):
        assert diversify(scores, texts, lambda_=lambda_, count=count) == longest[:count]


@given(POOLS)
def test_lambda_one_is_the_order_of_the_scores(pool: list[tuple[float, str]]) -> None:
    pool.sort(key=lambda item: -item[0])

    picks = diversify([score for score, _ in pool], [text for _, text in pool], lambda_=1.0, count=len(pool))

    assert [pick.place for pick in picks] == list(range(len(pool)))


def test_lambda_zero_takes_the_most_different() -> None:
    picks = diversify([0.9, 0.8, 0.1], ["a b c", "a b c", "x y z"], lambda_=0.0, count=3)

    assert {pick.place for pick in picks[:3]} == {0, 1, 2}
    assert [pick.similarity for pick in picks] == [0.0, 1.0, 0.0]


def test_many_equal_chunks_keep_the_distinct_ones() -> None:
    texts = ["Резервная копия лежит на втором диске. " * 20] * 1998 + ["Принтер стоит в подвале.", "Лена едет в Китай."]
    scores = [0.9] * 1998 + [0.8, 0.8]

    picks = diversify(scores, texts, lambda_=0.7, count=3)

    assert {pick.place for pick in picks} == {0, 1998, 1999}
