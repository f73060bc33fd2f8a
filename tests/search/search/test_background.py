"""The floor of a question in an index of several languages, with vectors that have a direction for each."""

from __future__ import annotations

import random
from typing import Any

import apsw
import numpy as np
import pytest

from recallite.index.connection import SpaceRow
from recallite.index.schema import TABLES, create_plain
from recallite.index.vector import VectorIndex
from recallite.search.background import Background, Backgrounds

DIMS = 32
SPACE = SpaceRow(1, 1, "test", "test", "", DIMS, False, None, None, "active")
TEXTS = {
    "en": "The printer is in the cellar and we have to move it, number {n}.",
    "de": "Der Drucker steht im Keller und wir bringen ihn ins Büro, Nummer {n}.",
    "zh": "打印机放在地下室，我们要把它搬到办公室，编号{n}。",
}


def unit(vector: Any) -> Any:
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def index_of(counts: dict[str, int]) -> tuple[Backgrounds, dict[int, Any], dict[int, str]]:
    """An index whose chunks have a random direction and, in common, one of their language."""
    connection = apsw.Connection(":memory:")
    connection.execute(TABLES + create_plain(1))
    connection.execute("INSERT INTO generations VALUES (1, 400, 80, 1, 1, 'active')")
    connection.execute("INSERT INTO files VALUES (1, 1, 'memory', 'a.md', NULL, 0, 0, 0, 'indexed', NULL, 0, NULL)")
    rng = np.random.default_rng(1)
    names = [name for name, count in counts.items() for _ in range(count)]
    random.Random(1).shuffle(names)
    vectors, languages = {}, {}
    for id_, name in enumerate(names, 1):
        vector = rng.normal(size=DIMS) / DIMS**0.5
        vector[list(TEXTS).index(name)] += 1.5
        vectors[id_], languages[id_] = unit(vector), name
        connection.execute("INSERT INTO chunks VALUES (?, 1, ?, 1, 1, x'00', ?)", (id_, id_, TEXTS[name].format(n=id_)))
        connection.execute("INSERT INTO vectors_1 VALUES (?, ?)", (id_, vectors[id_].tobytes()))
    return Backgrounds(connection, VectorIndex(connection)), vectors, languages


def question(language: str) -> Any:
    vector = np.random.default_rng(2).normal(size=DIMS) / DIMS**0.5
    vector[list(TEXTS).index(language)] += 1.5
    return unit(vector)


@pytest.mark.parametrize("language", TEXTS)
def test_each_language_has_its_floor_and_the_question_its_language(language: str) -> None:
    backgrounds, _, _ = index_of({"en": 60, "de": 60, "zh": 60})

    found = backgrounds.of("printer?", question(language), SPACE)

    assert found is not None and set(found.by_language) == set(TEXTS)
    assert found.language == language
    assert found.by_language[language] > max(found.by_language[other] for other in TEXTS if other != language) + 0.3
    assert [name for name in (*TEXTS, "", "ko") if found.is_foreign(name)] == [n for n in TEXTS if n != language]


def test_a_question_says_its_language_itself_where_it_can() -> None:
    backgrounds, _, _ = index_of({"en": 60, "zh": 60})

    found = backgrounds.of("打印机在哪里，我们要用它？", question("en"), SPACE)

    assert found is not None and found.language == "zh"


def test_the_neutral_question_finds_neighbours_in_all_languages() -> None:
    backgrounds, vectors, languages = index_of({"en": 100, "de": 100, "zh": 100})
    asked = question("zh")
    found = backgrounds.of("?", asked, SPACE)
    assert found is not None and found.neutral is not None

    def near(vector: Any) -> set[str]:
        return {languages[id_] for id_ in sorted(vectors, key=lambda id_: -float(vectors[id_] @ vector))[:30]}

    assert near(asked) == {"zh"}
    assert near(found.neutral) == set(TEXTS)


@pytest.mark.parametrize("counts", [{"en": 100}, {"en": 100, "zh": 2}])
def test_an_index_of_one_language_has_one_floor(counts: dict[str, int]) -> None:
    backgrounds, _, _ = index_of(counts)

    found = backgrounds.of("?", question("en"), SPACE)

    assert found is not None and found == Background(found.floor)
    assert found.floor_of("en") == found.floor_of("zh") == found.floor and not found.is_foreign("zh")


def test_too_few_vectors_tell_nothing() -> None:
    backgrounds, _, _ = index_of({"en": 10})

    assert backgrounds.of("?", question("en"), SPACE) is None
    assert backgrounds.of("?", question("en")[:16], SPACE) is None
