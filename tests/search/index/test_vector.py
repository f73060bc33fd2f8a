"""Neighbours in vec0 tables, in plain tables and in both, beside the same found by comparing everything."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import apsw
import numpy as np
import pytest

from recallite.index.connection import SpaceRow
from recallite.index.extension import VectorExtension
from recallite.index.filters import Filter
from recallite.index.schema import TABLES, create_plain, create_vec
from recallite.index.vector import UnreadableVectorsError, VectorIndex

DIMS, ROWS = 24, 700
SPACE = SpaceRow(1, 1, "test", "test", "", DIMS, True, None, None, "active")
PLAIN = SpaceRow(1, 1, "test", "test", "", DIMS, False, None, None, "active")


@pytest.fixture
def vectors() -> Any:
    found = np.random.default_rng(3).normal(size=(ROWS, DIMS)).astype(np.float32)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


@pytest.fixture
def connection() -> apsw.Connection:
    """An index of ROWS chunks: the first ten in `sessions`, the next 600 in `wide/`, the rest in `a.md`."""
    connection = apsw.Connection(":memory:")
    assert VectorExtension().load(connection) is None
    connection.execute(TABLES + create_vec(1, DIMS) + ";" + create_plain(1))
    connection.execute("INSERT INTO generations VALUES (1, 400, 80, 1, 1, 'active')")
    for number, (source, path) in enumerate([("sessions", "s.jsonl"), ("memory", "wide/b.md"), ("memory", "a.md")], 1):
        connection.execute(
            "INSERT INTO files VALUES (?, 1, ?, ?, NULL, 0, 0, 0, 'indexed', NULL, 0, NULL)", (number, source, path)
        )
    for id_ in range(1, ROWS + 1):
        file = 1 if id_ <= 10 else 2 if id_ <= 610 else 3
        connection.execute("INSERT INTO chunks VALUES (?, ?, ?, 1, 1, x'00', 'text')", (id_, file, id_))
    return connection


def store_vec0(connection: apsw.Connection, ids: Iterable[int], vectors: Any) -> None:
    _store(connection, "chunks_vec_1(rowid, embedding)", ids, vectors)


def store_plain(connection: apsw.Connection, ids: Iterable[int], vectors: Any) -> None:
    _store(connection, "vectors_1(chunk_id, embedding)", ids, vectors)


def _store(connection: apsw.Connection, table: str, ids: Iterable[int], vectors: Any) -> None:
    rows = [(id_, vectors[id_ - 1].tobytes()) for id_ in ids]
    connection.executemany(f"INSERT INTO {table} VALUES (?, ?)", rows)


def nearest(query: Any, ids: Iterable[int], vectors: Any, limit: int) -> list[int]:
    return sorted(ids, key=lambda id_: -float(vectors[id_ - 1] @ query))[:limit]


@pytest.mark.parametrize("limit", [1, 20, ROWS, 2 * ROWS])
def test_the_nearest_of_vec0_are_those_of_comparing_all(connection: Any, vectors: Any, limit: int) -> None:
    store_vec0(connection, range(1, ROWS + 1), vectors)

    found = VectorIndex(connection).search(vectors[41], space=SPACE, limit=limit, where=Filter())

    assert set(found) == set(nearest(vectors[41], range(1, ROWS + 1), vectors, limit))
    assert all(
        cosine == pytest.approx(float(vectors[id_ - 1] @ vectors[41]), abs=1e-5) for id_, cosine in found.items()
    )
    assert found[42] == pytest.approx(1.0)


def test_the_nearest_of_vec0_are_those_that_vec0_finds(connection: Any, vectors: Any) -> None:
    store_vec0(connection, range(1, ROWS + 1), vectors)
    connection.execute("DELETE FROM chunks_vec_1 WHERE rowid % 3 = 0")
    rows = connection.execute(
        "SELECT rowid, distance FROM chunks_vec_1 WHERE embedding MATCH ? AND k = 50", (vectors[5].tobytes(),)
    ).fetchall()

    found = VectorIndex(connection).search(vectors[5], space=SPACE, limit=50, where=Filter())

    assert found == pytest.approx({id_: 1.0 - distance for id_, distance in rows}, abs=1e-5)


def test_vectors_in_both_tables_are_found(connection: Any, vectors: Any) -> None:
    store_vec0(connection, range(1, 400), vectors)
    store_plain(connection, range(400, ROWS + 1), vectors)
    index = VectorIndex(connection)

    found = index.search(vectors[41], space=SPACE, limit=30, where=Filter())

    assert set(nearest(vectors[41], range(1, ROWS + 1), vectors, 30)) <= set(found)
    assert np.array_equal(index.vectors([650], SPACE)[650], vectors[649])
    assert np.array_equal(index.vectors([350], SPACE)[350], vectors[349])


def test_plain_vectors_alone_are_found(connection: Any, vectors: Any) -> None:
    store_plain(connection, range(1, ROWS + 1), vectors)

    found = VectorIndex(connection).search(vectors[41], space=PLAIN, limit=30, where=Filter())

    assert set(found) == set(nearest(vectors[41], range(1, ROWS + 1), vectors, 30))


def test_vectors_of_deleted_chunks_take_no_place(connection: Any, vectors: Any) -> None:
    store_vec0(connection, range(1, ROWS + 1), vectors)
    gone = nearest(vectors[41], range(1, ROWS + 1), vectors, 300)
    connection.executemany("DELETE FROM chunks WHERE id = ?", [(id_,) for id_ in gone])

    found = VectorIndex(connection).search(vectors[41], space=SPACE, limit=20, where=Filter())

    assert set(found) == set(nearest(vectors[41], set(range(1, ROWS + 1)) - set(gone), vectors, 20))


def test_rows_that_vec0_let_go_are_not_found(connection: Any, vectors: Any) -> None:
    store_vec0(connection, range(1, ROWS + 1), vectors)
    connection.execute("DELETE FROM chunks_vec_1 WHERE rowid BETWEEN 10 AND 90")
    index = VectorIndex(connection)

    found = index.search(vectors[41], space=SPACE, limit=ROWS, where=Filter())

    assert set(found) == {*range(1, 10), *range(91, ROWS + 1)}
    assert index.vectors([42, 91], SPACE).keys() == {91}


@pytest.mark.parametrize(
    ("where", "allowed"),
    [
        (Filter(sources=("sessions",)), range(1, 11)),
        (Filter(folder="wide"), range(11, 611)),
        (Filter(folder="wide", sources=("sessions",)), range(0)),
    ],
)
def test_a_filter_loses_no_row_and_lets_no_other_in(connection: Any, vectors: Any, where: Any, allowed: Any) -> None:
    store_vec0(connection, range(1, ROWS + 1), vectors)

    found = VectorIndex(connection).search(vectors[650], space=SPACE, limit=20, where=where)

    assert set(nearest(vectors[650], allowed, vectors, 20)) <= set(found) <= set(allowed)


def test_neighbours_of_what_stands_beside_come_with_their_cosine_with_the_query(connection: Any, vectors: Any) -> None:
    store_vec0(connection, range(1, ROWS + 1), vectors)
    query, beside = vectors[41], vectors[500]

    found = VectorIndex(connection).search(query, beside=[beside], space=SPACE, limit=5, where=Filter())

    everything = range(1, ROWS + 1)
    assert set(found) == {*nearest(query, everything, vectors, 5), *nearest(beside, everything, vectors, 5)}
    assert found[501] == pytest.approx(float(query @ beside), abs=1e-5)


def test_an_empty_space_and_a_query_of_another_length_find_nothing(connection: Any, vectors: Any) -> None:
    index = VectorIndex(connection)
    assert index.search(vectors[0], space=SPACE, limit=5, where=Filter()) == {}
    store_vec0(connection, range(1, 5), vectors)
    assert index.search(vectors[0][:8], space=SPACE, limit=5, where=Filter()) == {}


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM chunks_vec_1_vector_chunks00 WHERE rowid = 2",
        "UPDATE chunks_vec_1_vector_chunks00 SET vectors = x'00' WHERE rowid = 2",
    ],
)
def test_a_block_that_is_gone_or_cut_is_not_passed_over(connection: Any, vectors: Any, damage: str) -> None:
    store_vec0(connection, range(1, ROWS + 1), vectors)
    connection.execute(damage)

    with pytest.raises(UnreadableVectorsError, match="a block of space 1 has"):
        VectorIndex(connection).search(vectors[0], space=SPACE, limit=5, where=Filter())


def test_an_early_end_of_a_scan_closes_its_cursor(connection: Any, vectors: Any) -> None:
    store_vec0(connection, range(1, ROWS + 1), vectors)
    connection.execute("UPDATE chunks_vec_1_vector_chunks00 SET vectors = x'00' WHERE rowid = 2")
    with pytest.raises(UnreadableVectorsError):
        VectorIndex(connection).search(vectors[0], space=SPACE, limit=5, where=Filter())

    connection.execute("DROP TABLE chunks_vec_1")  # refused while a statement reads from it
