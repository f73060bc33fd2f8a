"""The embedding cache: a vector for each text that was ever paid for, in a file that rebuilds do not touch."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import apsw
import numpy as np
from numpy.typing import NDArray

from recallite.embeddings.protocol import Space
from recallite.errors import ForeignIndexError
from recallite.filenames import as_text
from recallite.index.files import first_bytes, is_there
from recallite.index.readonly import connect_writer
from recallite.index.rows import fetch
from recallite.index.schema import HEADER_BYTES, SQLITE_MAGIC
from recallite_worker.store import keep_log_files, quarantine

Vector = NDArray[np.float32]

_TOUCH_SECONDS = 24 * 3600
"""A hit renews `used_at` at most once a day, so that reading a cache does not rewrite it."""
_BATCH = 500
APPLICATION_ID = 0x52434C43
"""`RCLC`, in the file's header."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS spaces(
    id INTEGER PRIMARY KEY, provider TEXT NOT NULL, model TEXT NOT NULL, variant TEXT NOT NULL,
    dims INTEGER NOT NULL, UNIQUE (provider, model, variant, dims));
CREATE TABLE IF NOT EXISTS vectors(
    id INTEGER PRIMARY KEY, space INTEGER NOT NULL REFERENCES spaces(id), hash BLOB NOT NULL,
    embedding BLOB NOT NULL, used_at INTEGER NOT NULL, UNIQUE (space, hash));
CREATE INDEX IF NOT EXISTS vectors_by_use ON vectors(used_at);
CREATE TABLE IF NOT EXISTS rejected(
    provider TEXT NOT NULL, model TEXT NOT NULL, variant TEXT NOT NULL, hash BLOB NOT NULL, reason TEXT NOT NULL,
    PRIMARY KEY (provider, model, variant, hash)) WITHOUT ROWID;
"""


class EmbeddingCache:
    """Vectors by (provider, model, variant, dimensions, SHA-256 of the text), kept as float16."""

    def __init__(self, path: Path, *, max_entries: int = 50_000) -> None:
        self.path = path
        self.max_entries = max_entries
        try:
            self._connection = _open(path)
        except (apsw.CorruptError, apsw.NotADBError) as error:
            quarantine(path, error)
            self._connection = _open(path)

    @staticmethod
    def is_damaged(path: Path) -> bool:
        """Whether the file at `path` fails SQLite's own check. Reads all of it: for after an error only."""
        if not path.exists():
            return False
        try:
            connection = apsw.Connection(as_text(path), flags=apsw.SQLITE_OPEN_READWRITE)
            try:
                return fetch(connection, "PRAGMA quick_check(1)") != [("ok",)]
            finally:
                connection.close()
        except (apsw.CorruptError, apsw.NotADBError):
            return True

    def known_dims(self, space: Space) -> int | None:
        """The length of the vectors held for a model, if all have one length."""
        rows = fetch(
            self._connection,
            "SELECT dims FROM spaces s WHERE provider = ? AND model = ? AND variant = ? "
            "AND EXISTS (SELECT 1 FROM vectors v WHERE v.space = s.id)",
            (space.provider, space.model, space.variant),
        )
        return int(rows[0][0]) if len(rows) == 1 else None

    def find(self, space: Space, hashes: Sequence[bytes]) -> dict[bytes, Vector]:
        """The vectors held for these texts: unit vectors of `space.dims` numbers."""
        found: dict[bytes, Vector] = {}
        if space.dims is None:
            return found
        id_ = self._space_id(space, create=False)
        if id_ is None:
            return found
        now = int(time.time())
        aged: list[int] = []
        for start in range(0, len(hashes), _BATCH):
            part = hashes[start : start + _BATCH]
            marks = ",".join("?" * len(part))
            for row, hash_, blob, used_at in fetch(
                self._connection,
                f"SELECT id, hash, embedding, used_at FROM vectors WHERE space = ? AND hash IN ({marks})",
                (id_, *part),
            ):
                found[bytes(hash_)] = _unpack(blob)
                if now - used_at > _TOUCH_SECONDS:
                    aged.append(row)
        if aged:
            self._write("UPDATE vectors SET used_at = ? WHERE id = ?", [(now, row) for row in aged])
        return found

    def rejections(self, space: Space, hashes: Sequence[bytes]) -> dict[bytes, str]:
        """Why the provider will not take some of these texts, as it said before."""
        found: dict[bytes, str] = {}
        for start in range(0, len(hashes), _BATCH):
            part = hashes[start : start + _BATCH]
            marks = ",".join("?" * len(part))
            found.update(
                (bytes(hash_), str(reason))
                for hash_, reason in fetch(
                    self._connection,
                    "SELECT hash, reason FROM rejected WHERE provider = ? AND model = ? AND variant = ? "
                    f"AND hash IN ({marks})",
                    (space.provider, space.model, space.variant, *part),
                )
            )
        return found

    def add(self, space: Space, vectors: Mapping[bytes, Vector]) -> None:
        """Keep vectors (committed when this returns). `space.dims` must be known."""
        id_ = self._space_id(space, create=True)
        now = int(time.time())
        self._write(
            "INSERT INTO vectors(space, hash, embedding, used_at) VALUES (?, ?, ?, ?) "
            "ON CONFLICT (space, hash) DO UPDATE SET embedding = excluded.embedding, used_at = excluded.used_at",
            [(id_, hash_, _pack(vector), now) for hash_, vector in vectors.items()],
        )

    def reject(self, space: Space, reasons: Mapping[bytes, str]) -> None:
        """Remember texts that the provider will never take, so that they are not sent again."""
        self._write(
            "INSERT OR REPLACE INTO rejected VALUES (?, ?, ?, ?, ?)",
            [(space.provider, space.model, space.variant, hash_, why) for hash_, why in reasons.items()],
        )

    def prune(self) -> int:
        """Drop the vectors that were not used for longest, above `max_entries`; how many were dropped."""
        excess = len(self) - self.max_entries
        if excess > 0:
            self._write(
                "DELETE FROM vectors WHERE id IN (SELECT id FROM vectors ORDER BY used_at, id LIMIT ?)",
                [(excess,)],
            )
        return max(0, excess)

    def __len__(self) -> int:
        return int(fetch(self._connection, "SELECT count(*) FROM vectors")[0][0])

    def close(self) -> None:
        self._connection.close()

    def _space_id(self, space: Space, *, create: bool) -> int | None:
        key = (space.provider, space.model, space.variant, space.dims)
        if create:
            self._write("INSERT OR IGNORE INTO spaces(provider, model, variant, dims) VALUES (?, ?, ?, ?)", [key])
        rows = fetch(
            self._connection, "SELECT id FROM spaces WHERE provider = ? AND model = ? AND variant = ? AND dims = ?", key
        )
        return int(rows[0][0]) if rows else None

    def _write(self, sql: str, rows: Iterable[Sequence[str | bytes | int | float | None]]) -> None:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            self._connection.executemany(sql, rows)
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")


def rounded(vector: Vector) -> Vector:
    """The vector as the cache gives it back, so that an index is the same with and without a cache hit."""
    return _unpack(_pack(vector))


def _pack(vector: Vector) -> bytes:
    return vector.astype("<f2").tobytes()


def _unpack(blob: bytes) -> Vector:
    vector = np.frombuffer(blob, dtype="<f2").astype(np.float32)
    norm = float(np.linalg.norm(vector))
    return (vector / np.float32(norm)) if norm > 0 else vector


def _open(path: Path) -> apsw.Connection:
    _check_ours(path)
    connection = connect_writer(path)
    try:
        connection.execute(
            f"PRAGMA page_size=8192; PRAGMA application_id={APPLICATION_ID}; "
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; "
            "PRAGMA journal_size_limit=67108864"
        ).fetchall()  # apsw stops at the first statement that answers until it is read
        keep_log_files(connection)
        connection.execute(f"BEGIN IMMEDIATE; {_SCHEMA} COMMIT")
    except BaseException:
        connection.close()
        raise
    return connection


def _check_ours(path: Path) -> None:
    """Raises ForeignIndexError for a database of somebody else; what is no database at all is damage."""
    if not is_there(path):
        return
    header = first_bytes(path, HEADER_BYTES)
    if header[:16] == SQLITE_MAGIC and int.from_bytes(header[68:72], "big") != APPLICATION_ID:
        raise ForeignIndexError(f"{path} is no embedding cache of recallite but stands where ours belongs: move it")
