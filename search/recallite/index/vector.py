"""Candidates by vector: exact cosine, through sqlite-vec or in process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

from recallite.index.connection import SpaceRow
from recallite.index.filters import Filter
from recallite.index.rows import fetch
from recallite.index.schema import plain_table, vec_table

Matrix = NDArray[np.float32]

MAX_NEIGHBOURS = 4096
"""sqlite-vec refuses a larger k."""
_SCAN_ROWS = 2048
SAMPLE_SIZE = 64


class VectorIndex:
    """The vector side of one connection. Vectors are unit vectors, so that cosine is their product.

    Vectors may lie in the vec0 table, in the plain table (written where the extension was missing), or in
    both; an answer always covers both.
    """

    def __init__(self, connection: apsw.Connection, *, extension: bool) -> None:
        self._connection = connection
        self._extension = extension
        self._samples: dict[int, tuple[list[int], Matrix]] = {}

    def search(self, query: Matrix, *, space: SpaceRow, limit: int, where: Filter) -> dict[int, float]:
        """Cosine of the nearest chunks by id, at most `limit` of each table that holds vectors."""
        limit = min(limit, MAX_NEIGHBOURS)
        found: dict[int, float] = {}
        if space.vec0 and self._extension:
            found.update(self._nearest(query, space, limit, where))
        elif space.vec0:
            found.update(self._scan(_vec0_blocks(self._connection, space.id), query, space, limit, where))
        if has_table(self._connection, plain_table(space.id)):
            blocks = _plain_blocks(self._connection, space.id)
            found.update(self._scan(blocks, query, space, limit, where))
        return found

    def sample(self, space: SpaceRow) -> tuple[list[int], Matrix]:
        """Some chunks of the space with their vectors, spread evenly over the ids; at most SAMPLE_SIZE.

        The same objects again once the sample is full: it is read once per connection and space.
        """
        known = self._samples.get(space.id)
        if known is None or len(known[0]) < SAMPLE_SIZE:
            known = self._samples[space.id] = self._read_sample(space)
        return known

    def _read_sample(self, space: SpaceRow) -> tuple[list[int], Matrix]:
        rows = fetch(
            self._connection,
            "SELECT min(c.id), max(c.id) FROM chunks c JOIN files f ON f.id = c.file_id WHERE f.generation = ?",
            (space.generation,),
        )
        first, last = rows[0]
        if first is None:
            return [], np.empty((0, space.dims or 0), dtype=np.float32)
        wanted = np.unique(np.linspace(first, last, SAMPLE_SIZE * 2).astype(int)).tolist()
        found = sorted(self.vectors(wanted, space).items())
        if not found:
            return [], np.empty((0, space.dims or 0), dtype=np.float32)
        chosen = [found[at] for at in np.unique(np.linspace(0, len(found) - 1, SAMPLE_SIZE).astype(int))]
        return [id_ for id_, _ in chosen], np.stack([vector for _, vector in chosen])

    def cosines(self, query: Matrix, chunk_ids: Iterable[int], *, space: SpaceRow) -> dict[int, float]:
        """Cosine for given chunks; those without a vector are left out."""
        vectors = self.vectors(list(chunk_ids), space)
        return {id_: float(v @ query) for id_, v in vectors.items() if v.shape == query.shape}

    def vectors(self, wanted: list[int], space: SpaceRow) -> dict[int, Matrix]:
        """The vectors of given chunks by id, as far as there are any."""
        found: dict[int, Matrix] = {}
        if space.vec0 and self._extension:
            sql = f"SELECT embedding FROM {vec_table(space.id)} WHERE rowid = ?"
            found.update(self._one_by_one(wanted, sql))
        elif space.vec0:
            found.update(self._from_blocks(wanted, space))
        if has_table(self._connection, plain_table(space.id)):
            sql = f"SELECT embedding FROM {plain_table(space.id)} WHERE chunk_id = ?"
            found.update(self._one_by_one(wanted, sql))
        return found

    def _one_by_one(self, wanted: list[int], sql: str) -> Iterator[tuple[int, Matrix]]:
        # A statement per row is faster than IN: planning that costs more than the look-ups.
        for id_ in wanted:
            for (blob,) in fetch(self._connection, sql, (id_,)):
                yield id_, np.frombuffer(blob, dtype="<f4")

    def _from_blocks(self, wanted: list[int], space: SpaceRow) -> Iterator[tuple[int, Matrix]]:
        marks = ",".join("?" * len(wanted))
        table = vec_table(space.id)
        rows = fetch(
            self._connection,
            f"SELECT r.rowid, r.chunk_offset, v.vectors FROM {table}_rowids r "
            f"JOIN {table}_vector_chunks00 v ON v.rowid = r.chunk_id WHERE r.rowid IN ({marks})",
            wanted,
        )
        width = space.dims or 0
        for id_, offset, blob in rows:
            yield int(id_), np.frombuffer(blob, dtype="<f4", count=width, offset=4 * width * int(offset))

    def _nearest(self, query: Matrix, space: SpaceRow, limit: int, where: Filter) -> dict[int, float]:
        table = vec_table(space.id)
        sql = f"SELECT rowid, distance FROM {table} WHERE embedding MATCH ? AND k = ?"
        parameters: tuple[Any, ...] = (query.astype("<f4").tobytes(), limit)
        if where:
            allowed, values = where.chunk_ids(space.generation)
            sql += f" AND rowid IN ({allowed})"
            parameters += values
        rows = fetch(self._connection, sql, parameters)
        return {id_: 1.0 - distance for id_, distance in rows if distance is not None}

    def _scan(
        self,
        blocks: Iterator[tuple[NDArray[np.int64], Matrix]],
        query: Matrix,
        space: SpaceRow,
        limit: int,
        where: Filter,
    ) -> dict[int, float]:
        # Without the extension rows of deleted chunks cannot be taken out of vec0: the live ids decide.
        allowed_sql, values = where.chunk_ids(space.generation)
        allowed = np.array(
            [row[0] for row in fetch(self._connection, allowed_sql, values)],
            dtype=np.int64,
        )
        allowed.sort()
        best_ids = np.empty(0, dtype=np.int64)
        best = np.empty(0, dtype=np.float32)
        for ids, vectors in blocks:
            if vectors.shape[1] != len(query):
                continue
            keep = np.isin(ids, allowed, assume_unique=True)
            best_ids = np.concatenate((best_ids, ids[keep]))
            best = np.concatenate((best, vectors[keep] @ query))
            if len(best) > limit:
                top = np.argpartition(-best, limit - 1)[:limit]
                best_ids, best = best_ids[top], best[top]
        return dict(zip(best_ids.tolist(), best.tolist(), strict=True))


def _plain_blocks(connection: apsw.Connection, space: int) -> Iterator[tuple[NDArray[np.int64], Matrix]]:
    table = plain_table(space)
    last = -1
    while True:
        rows = fetch(
            connection,
            f"SELECT chunk_id, embedding FROM {table} WHERE chunk_id > ? ORDER BY chunk_id LIMIT {_SCAN_ROWS}",
            (last,),
        )
        if not rows:
            return
        last = rows[-1][0]
        ids = np.array([row[0] for row in rows], dtype=np.int64)
        vectors = np.frombuffer(b"".join(row[1] for row in rows), dtype="<f4").reshape(len(rows), -1)
        yield ids, vectors


def _vec0_blocks(connection: apsw.Connection, space: int) -> Iterator[tuple[NDArray[np.int64], Matrix]]:
    """Read a vec0 table's own storage: per block the rowids, which of them are in use, and the vectors."""
    table = vec_table(space)
    last = -1
    while True:
        rows = fetch(
            connection,
            f"SELECT c.chunk_id, c.size, c.validity, c.rowids, v.vectors FROM {table}_chunks c "
            f"JOIN {table}_vector_chunks00 v ON v.rowid = c.chunk_id "
            "WHERE c.chunk_id > ? ORDER BY c.chunk_id LIMIT 128",
            (last,),
        )
        if not rows:
            return
        last = rows[-1][0]
        for _, size, validity, rowids, vectors in rows:
            used = np.unpackbits(np.frombuffer(validity, np.uint8), bitorder="little")[:size].astype(bool)
            ids = np.frombuffer(rowids, dtype="<i8")[:size]
            matrix = np.frombuffer(vectors, dtype="<f4").reshape(size, -1)
            yield ids[used], matrix[used]


def has_table(connection: apsw.Connection, name: str) -> bool:
    """Whether a table of this name exists."""
    sql = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
    return bool(fetch(connection, sql, (name,)))
