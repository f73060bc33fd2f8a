"""Candidates by vector: exact cosine with every vector of a space, in one pass over the index file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import apsw
import numpy as np
from numpy.typing import NDArray

from recallite.index.connection import SpaceRow
from recallite.index.filters import Filter
from recallite.index.rows import fetch, stream
from recallite.index.schema import plain_table, vec_table

Matrix = NDArray[np.float32]
Ids = NDArray[np.int64]

_PLAIN_ROWS = 16
"""Compared at a time."""
_LOOKED_UP = 500
"""So few allowed chunks are looked up one by one; a pass over 20 000 vectors takes as long."""
SAMPLE_SIZE = 64


class UnreadableVectorsError(Exception):
    """The tables of a space do not hold what they should."""


class VectorIndex:
    """The vector side of one connection. Vectors are unit vectors, so that cosine is their product.

    Vectors may lie in the vec0 table, in the plain table (written where the extension was missing), or in
    both; an answer always covers both. The storage of vec0 is read as it lies in the file, with or without the
    extension: docs/decisions/0023.
    """

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._samples: dict[int, tuple[list[int], Matrix]] = {}

    def search(
        self, query: Matrix, *, beside: Sequence[Matrix] = (), space: SpaceRow, limit: int, where: Filter
    ) -> dict[int, float]:
        """Cosine with the query, by id, of the chunks nearest to it and of those nearest to each vector `beside` it.

        At most `limit` for each of them and each table that holds vectors; all, where hardly any are allowed.
        Raises UnreadableVectorsError.
        """
        if len(query) != space.dims:
            return {}
        allowed = self._allowed(space, where) if where else None
        if allowed is not None and len(allowed) <= _LOOKED_UP:
            return self.cosines(query, allowed.tolist(), space=space)
        questions = np.stack((query, *beside), axis=1)
        found: dict[int, float] = {}
        for blocks in self._tables(space):
            ids, cosines_of = _compare(blocks, questions)
            if allowed is not None:
                keep = np.isin(ids, allowed, assume_unique=True)
                ids, cosines_of = ids[keep], cosines_of[keep]
            for column in range(questions.shape[1]):
                at = self._nearest(ids, cosines_of[:, column], limit)
                found.update(zip(ids[at].tolist(), cosines_of[at, 0].tolist(), strict=True))
        return found

    def holds_any(self, space: SpaceRow) -> bool:
        """Whether there is any vector to compare with."""
        tables = [f"{vec_table(space.id)}_rowids"] if space.vec0 else []
        if has_table(self._connection, plain_table(space.id)):
            tables.append(plain_table(space.id))
        return any(fetch(self._connection, f"SELECT 1 FROM {table} LIMIT 1") for table in tables)

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
        """Cosine for given chunks; those without a vector are left out. Raises UnreadableVectorsError."""
        vectors = self.vectors(chunk_ids, space)
        return {id_: float(vector @ query) for id_, vector in vectors.items()}

    def vectors(self, wanted: Iterable[int], space: SpaceRow) -> dict[int, Matrix]:
        """The vectors of given chunks by id, as far as there are any. Raises UnreadableVectorsError."""
        table, plain = vec_table(space.id), plain_table(space.id)
        statements = []
        if space.vec0:
            width = 4 * (space.dims or 0)
            statements.append(
                f"SELECT substr(v.vectors, 1 + r.chunk_offset * {width}, {width}) FROM {table}_rowids r "
                f"LEFT JOIN {table}_vector_chunks00 v ON v.rowid = +r.chunk_id WHERE r.rowid = ?"
            )
        if has_table(self._connection, plain):
            statements.append(f"SELECT embedding FROM {plain} WHERE chunk_id = ?")
        # A statement per row is faster than IN: planning that costs more than the look-ups.
        rows = ((id_, row) for id_ in wanted for sql in statements for row in fetch(self._connection, sql, (id_,)))
        return {id_: _matrix(blob, 1, space)[0] for id_, (blob,) in rows}

    def _tables(self, space: SpaceRow) -> Iterator[Iterator[tuple[Ids, Matrix]]]:
        if space.vec0:
            yield _vec0_blocks(self._connection, space)
        if has_table(self._connection, plain_table(space.id)):
            yield _plain_blocks(self._connection, space)

    def _allowed(self, space: SpaceRow, where: Filter) -> Ids:
        sql, values = where.chunk_ids(space.generation)
        return np.array([row[0] for row in fetch(self._connection, sql, values)], dtype=np.int64)

    def _nearest(self, ids: Ids, cosines: Matrix, limit: int) -> NDArray[np.intp]:
        """Where the highest cosines of chunks that still exist stand.

        A writer without the extension cannot take the vectors of deleted chunks out of vec0.
        """
        wanted = limit
        while True:
            top = np.argsort(-cosines) if wanted >= len(ids) else np.argpartition(-cosines, wanted - 1)[:wanted]
            sql = "SELECT id FROM chunks WHERE id IN (SELECT value FROM json_each(?))"
            live = [row[0] for row in fetch(self._connection, sql, (json.dumps(ids[top].tolist()),))]
            top = top[np.isin(ids[top], live)]
            if len(top) >= limit or wanted >= len(ids):
                return top[np.argsort(-cosines[top], kind="stable")][:limit]
            wanted *= 4


def _compare(blocks: Iterable[tuple[Ids, Matrix]], questions: Matrix) -> tuple[Ids, Matrix]:
    """The ids of all rows, and the cosine of each with each question."""
    ids, cosines = [np.empty(0, np.int64)], [np.empty((0, questions.shape[1]), np.float32)]
    for some, vectors in blocks:
        ids.append(some)
        cosines.append(vectors @ questions)
    all_ids, all_cosines = np.concatenate(ids), np.concatenate(cosines)
    used = all_ids >= 0
    return (all_ids, all_cosines) if used.all() else (all_ids[used], all_cosines[used])


def _plain_blocks(connection: apsw.Connection, space: SpaceRow) -> Iterator[tuple[Ids, Matrix]]:
    rows = stream(connection, f"SELECT chunk_id, embedding FROM {plain_table(space.id)}")
    while some := list(islice(rows, _PLAIN_ROWS)):
        ids = np.array([row[0] for row in some], dtype=np.int64)
        yield ids, _matrix(b"".join(row[1] for row in some), len(ids), space)


def _vec0_blocks(connection: apsw.Connection, space: SpaceRow) -> Iterator[tuple[Ids, Matrix]]:
    """A vec0 table's own storage, with -1 for the id of a row that is not in use."""
    table = vec_table(space.id)
    # The + takes the type from the number: the column `rowid` has none, and its index would not be used.
    sql = (
        f"SELECT c.validity, c.rowids, v.vectors FROM {table}_chunks c "
        f"LEFT JOIN {table}_vector_chunks00 v ON v.rowid = +c.chunk_id"
    )
    for validity, rowids, vectors in stream(connection, sql):
        ids = np.frombuffer(rowids, "<i8")
        used = np.unpackbits(np.frombuffer(validity, np.uint8), count=len(ids), bitorder="little")
        yield np.where(used, ids, -1), _matrix(vectors, len(ids), space)


def _matrix(blob: bytes | None, rows: int, space: SpaceRow) -> Matrix:
    if blob is None or len(blob) != 4 * rows * (space.dims or 0):
        raise UnreadableVectorsError(f"a block of space {space.id} has {len(blob or b'')} bytes for {rows} vectors")
    return np.frombuffer(blob, "<f4").reshape(rows, -1)


def has_table(connection: apsw.Connection, name: str) -> bool:
    """Whether a table of this name exists."""
    sql = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
    return bool(fetch(connection, sql, (name,)))
