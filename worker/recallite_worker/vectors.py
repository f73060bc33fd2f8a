"""Writing vectors into one space of an index, and keeping the list of chunks that still wait for one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from recallite.index.connection import SpaceRow
from recallite.index.rows import fetch
from recallite.index.schema import create_plain, create_vec, plain_table, vec_table
from recallite.index.vector import has_table
from recallite_worker.store import IndexStore, get_meta, set_meta

Vector = NDArray[np.float32]

MAX_ATTEMPTS = 3
"""Runs in which a vector may fail its checks before the chunk is given up until its text changes."""
_ROWS_PER_PAUSE = 32
_FILL_ROWS = 20_000


@dataclass(frozen=True, slots=True)
class PendingChunk:
    """A chunk that waits for its vector."""

    id: int
    hash: bytes
    text: str


class VectorWriter:
    """Vectors of one space. Without sqlite-vec they go to a plain table and are moved over later."""

    def __init__(self, store: IndexStore, space: SpaceRow) -> None:
        self.store = store
        self.space = space
        self._connection = store.connection

    def set_dims(self, dims: int) -> None:
        """Fix the length of the space's vectors and make its tables."""
        with self.store.transaction() as connection:
            connection.execute("UPDATE spaces SET dims = ? WHERE id = ?", (dims, self.space.id))
            self.space = replace(self.space, dims=dims)
            self._make_tables(dims)

    def _make_tables(self, dims: int) -> None:
        vec0 = self.store.vec_reason is None
        if vec0 and not self.space.vec0:
            self._connection.execute(create_vec(self.space.id, dims))
            self._connection.execute("UPDATE spaces SET vec0 = 1 WHERE id = ?", (self.space.id,))
            self.space = replace(self.space, vec0=True)
        elif not vec0 and not has_table(self._connection, plain_table(self.space.id)):
            self._connection.execute(create_plain(self.space.id))

    def fill_pending(self) -> None:
        """Put all chunks without a vector on the waiting list, in short transactions. Resumes by itself."""
        key = f"fill:{self.space.id}"
        while (cursor := get_meta(self._connection, key)) is not None:
            with self.store.transaction() as connection:
                rows = fetch(
                    connection,
                    "SELECT c.id FROM chunks c JOIN files f ON f.id = c.file_id "
                    "WHERE f.generation = ? AND c.id > ? ORDER BY c.id LIMIT ?",
                    (self.space.generation, int(str(cursor)), _FILL_ROWS),
                )
                held = self._held([id_ for (id_,) in rows])
                connection.executemany(
                    "INSERT OR IGNORE INTO pending(space, chunk_id) VALUES (?, ?)",
                    [(self.space.id, id_) for (id_,) in rows if id_ not in held],
                )
                set_meta(connection, key, rows[-1][0] if rows else None)

    def _held(self, ids: Sequence[int]) -> set[int]:
        """Those of the chunks that have a vector already."""
        held: set[int] = set()
        if not ids:
            return held
        tables = ((f"{vec_table(self.space.id)}_rowids", "rowid"), (plain_table(self.space.id), "chunk_id"))
        for table, column in tables:
            if has_table(self._connection, table):
                sql = f"SELECT {column} FROM {table} WHERE {column} BETWEEN ? AND ?"
                held.update(int(row[0]) for row in fetch(self._connection, sql, (min(ids), max(ids))))
        return held.intersection(ids)

    def pending(self, *, after: int, limit: int) -> list[PendingChunk]:
        """Waiting chunks with ids above `after`, in order, without those that were given up."""
        rows = fetch(
            self._connection,
            "SELECT c.id, c.hash, c.text FROM pending p JOIN chunks c ON c.id = p.chunk_id "
            "WHERE p.space = ? AND p.chunk_id > ? AND NOT p.permanent ORDER BY p.chunk_id LIMIT ?",
            (self.space.id, after, limit),
        )
        return [PendingChunk(id_, bytes(hash_), text) for id_, hash_, text in rows]

    def pending_count(self) -> int:
        """How many chunks still wait and are worth a try."""
        rows = fetch(
            self._connection, "SELECT count(*) FROM pending WHERE space = ? AND NOT permanent", (self.space.id,)
        )
        return int(rows[0][0])

    def write(self, vectors: Mapping[int, Vector]) -> int:
        """Store vectors by chunk id; a chunk that is gone by now is passed over. How many were stored."""
        self.move_plain()
        vec0 = self.store.vec_reason is None
        table = vec_table(self.space.id) if vec0 else plain_table(self.space.id)
        column = "rowid" if vec0 else "chunk_id"
        ids = sorted(vectors)
        stored = 0
        with self.store.transaction() as connection:
            self._make_tables(int(self.space.dims or 0))
            for start in range(0, len(ids), _ROWS_PER_PAUSE):
                part = self._waiting(ids[start : start + _ROWS_PER_PAUSE])
                held = self._held(part)  # vec0 does not know INSERT OR REPLACE
                connection.executemany(f"DELETE FROM {table} WHERE {column} = ?", [(id_,) for id_ in held])
                connection.executemany(
                    f"INSERT INTO {table}({column}, embedding) VALUES (?, ?)",
                    [(id_, vectors[id_].astype("<f4").tobytes()) for id_ in part],
                )
                connection.executemany(
                    "DELETE FROM pending WHERE space = ? AND chunk_id = ?", [(self.space.id, id_) for id_ in part]
                )
                stored += len(part)
                self.store.pause()
        return stored

    def _waiting(self, ids: Sequence[int]) -> list[int]:
        """Those of the chunks that are still there and wait for a vector, in order."""
        marks = ",".join("?" * len(ids))
        rows = fetch(
            self._connection,
            "SELECT p.chunk_id FROM pending p JOIN chunks c ON c.id = p.chunk_id "
            f"WHERE p.space = ? AND p.chunk_id IN ({marks}) ORDER BY p.chunk_id",
            (self.space.id, *ids),
        )
        return [int(row[0]) for row in rows]

    def _exists(self, chunk_id: int) -> bool:
        return bool(fetch(self._connection, "SELECT 1 FROM chunks WHERE id = ?", (chunk_id,)))

    def fail(self, reasons: Mapping[int, tuple[str, bool]]) -> None:
        """Note why chunks have no vector; `True` gives a chunk up until its text changes."""
        with self.store.transaction() as connection:
            for id_, (reason, permanent) in reasons.items():
                connection.execute(
                    "UPDATE pending SET attempts = attempts + 1, reason = ?, "
                    "permanent = (? OR attempts + 1 >= ?) WHERE space = ? AND chunk_id = ?",
                    (reason, permanent, MAX_ATTEMPTS, self.space.id, id_),
                )

    def move_plain(self) -> None:
        """Move vectors written without the extension into vec0, now that it is there; embeds nothing."""
        plain = plain_table(self.space.id)
        if self.store.vec_reason is not None or not has_table(self._connection, plain):
            return
        with self.store.transaction():
            self._make_tables(int(self.space.dims or 0))
        table = vec_table(self.space.id)
        moved = True
        while moved:
            with self.store.transaction() as connection:
                rows = fetch(connection, f"SELECT chunk_id, embedding FROM {plain} LIMIT 200")
                moved = bool(rows)
                for id_, blob in rows:
                    connection.execute(f"DELETE FROM {table} WHERE rowid = ?", (id_,))
                    if self._exists(id_):
                        connection.execute(f"INSERT INTO {table}(rowid, embedding) VALUES (?, ?)", (id_, blob))
                    connection.execute(f"DELETE FROM {plain} WHERE chunk_id = ?", (id_,))
        with self.store.transaction() as connection:
            connection.execute(f"DROP TABLE {plain}")
            # What was deleted while the extension was missing could not be taken out of vec0 then.
            orphans = fetch(connection, f"SELECT rowid FROM {table}_rowids WHERE rowid NOT IN (SELECT id FROM chunks)")
            connection.executemany(f"DELETE FROM {table} WHERE rowid = ?", orphans)

    def rebuild(self) -> None:
        """Write the vec0 table anew, without holes. Its vectors are in one of the two tables at every moment."""
        if self.store.vec_reason is not None or not self.space.vec0:
            return
        table, plain = vec_table(self.space.id), plain_table(self.space.id)
        with self.store.transaction() as connection:
            if not has_table(connection, plain):
                connection.execute(create_plain(self.space.id))
        after = -1
        while ids := fetch(
            self._connection,
            f"SELECT rowid FROM {table}_rowids WHERE rowid > ? ORDER BY rowid LIMIT 200",
            (after,),
        ):
            with self.store.transaction() as connection:
                for (id_,) in ids:
                    connection.execute(
                        f"INSERT OR REPLACE INTO {plain} SELECT rowid, embedding FROM {table} WHERE rowid = ?",
                        (id_,),
                    )
            after = ids[-1][0]
        with self.store.transaction() as connection:
            connection.execute(f"DROP TABLE {table}")
            connection.execute("UPDATE spaces SET vec0 = 0 WHERE id = ?", (self.space.id,))
            self.space = replace(self.space, vec0=False)
        self.move_plain()

    def set_calibration(self, floor: float, middle: float) -> None:
        """Note where this space's cosines of unrelated text lie (see `recallite.embeddings.calibration`)."""
        with self.store.transaction() as connection:
            connection.execute("UPDATE spaces SET floor = ?, middle = ? WHERE id = ?", (floor, middle, self.space.id))

    def stored_sample(self, limit: int) -> list[Vector]:
        """Some stored vectors, spread over the table."""
        found: list[Vector] = []
        for table, column in ((vec_table(self.space.id), "rowid"), (plain_table(self.space.id), "chunk_id")):
            if not has_table(self._connection, table) or (column == "rowid" and self.store.vec_reason):
                continue
            source = f"{table}_rowids" if column == "rowid" else table
            ids = [row[0] for row in fetch(self._connection, f"SELECT {column} FROM {source}")]
            for id_ in _spread(ids, limit):
                rows = fetch(self._connection, f"SELECT embedding FROM {table} WHERE {column} = ?", (id_,))
                found.extend(np.frombuffer(blob, dtype="<f4") for (blob,) in rows)
        return found[:limit]


def _spread(ids: Sequence[int], limit: int) -> Sequence[int]:
    step = max(1, len(ids) // limit)
    return ids[::step][:limit]
