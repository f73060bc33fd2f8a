"""Status finds out when nothing can be found, however full the tables are."""

from __future__ import annotations

from typing import Any

import apsw
import pytest
import sqlite_vec

from recallite.index.connection import active_rows
from recallite.index.schema import fts_table, vec_table


@pytest.fixture
def noted(lab: Any) -> Any:
    for number in range(40):
        lab.note(
            f"memory/{number}.md",
            f"entry {number} about {['printer', 'router', 'garden', 'tax'][number % 4]} quokka{number}",
        )
    lab.note("memory/signs.md", "***")
    lab.note("memory/zh.md", "打印机放在地下室")
    lab.index()
    return lab


def problems(lab: Any) -> list[str]:
    return [
        problem for problem in lab.memory().status().problems if "found by its own" in problem or "fails" in problem
    ]


def changed(lab: Any, *statements: str) -> None:
    connection = apsw.Connection(str(lab.settings.index_path))
    connection.enable_load_extension(True)
    connection.load_extension(sqlite_vec.loadable_path())
    generation, space = active_rows(connection)
    names = {"fts": fts_table(generation or 0), "vec": vec_table(space or 0)}
    for statement in statements:
        connection.execute(statement.format(**names))
    connection.close()


def test_a_sound_index_passes(noted: Any) -> None:
    assert problems(noted) == []


def test_a_sound_index_passes_by_keyword_only_and_without_the_extension(noted: Any) -> None:
    noted.memory_search = {"store": {"vector": {"enabled": False}}}
    assert problems(noted) == []
    noted.model = None
    assert problems(noted) == []


def test_an_index_that_finds_no_word_is_degraded(noted: Any) -> None:
    ids = "SELECT id FROM chunks"
    changed(
        noted,
        "INSERT INTO {fts}({fts}) VALUES ('delete-all')",
        f"INSERT INTO {{fts}}(rowid, body) SELECT id, 'x' FROM ({ids})",
    )

    status = noted.memory().status()

    assert status.fts == "ready" and status.health == "degraded"
    assert "is not found by its own words" in problems(noted)[0]


def test_vectors_that_are_not_found_again_are_degraded(noted: Any) -> None:
    changed(noted, "DROP TABLE {vec}_chunks")

    assert problems(noted)


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM {vec}_vector_chunks00 WHERE rowid = (SELECT max(rowid) FROM {vec}_vector_chunks00)",
        "UPDATE {vec}_vector_chunks00 SET vectors = substr(vectors, 1, 100) WHERE rowid = 1",
    ],
)
def test_a_block_of_vectors_that_is_gone_or_cut_is_named_and_words_are_still_found(noted: Any, damage: str) -> None:
    changed(noted, damage)

    reply = noted.memory().search("quokka7")

    assert (reply.mode, reply.hits[0].path) == ("keyword", "memory/7.md")
    assert "the vectors cannot be read (a block of space 1 has" in (reply.reason or "")
    assert "`recallite index --force`" in (reply.reason or "")
    assert "a search fails (a block of space 1 has" in problems(noted)[0]


def test_many_equal_chunks_are_no_problem(lab: Any) -> None:
    for number in range(60):
        lab.note(f"memory/{number}.md", "the very same text")
    lab.index()

    assert problems(lab) == []
