"""The index file: its tables, its versions, and how to tell that a file is ours.

One file holds *generations* of text (a change of the chunk settings builds a new one) and, for each
generation, *spaces* of vectors (a change of the model builds a new one). Readers use the active ones; which
they are is one row, so that a flip is seen whole or not at all.
"""

from __future__ import annotations

import stat
from pathlib import Path

import apsw

from recallite.errors import (
    ForeignIndexError,
    IndexDamagedError,
    IndexMissingError,
    IndexUnusableError,
    IndexVersionError,
)
from recallite.index.files import first_bytes

APPLICATION_ID = 0x52434C31
"""`RCL1`, in the file's header."""
SCHEMA_VERSION = 2
SQLITE_MAGIC = b"SQLite format 3\0"
HEADER_BYTES = 100
READ_PERMISSION = "this process needs read permission on the file, and the right to enter its folder"
PAGE_SIZE = 16384
"""Bytes; vectors of 3 to 6 KB waste a quarter of the file with SQLite's default of 4096."""
VEC0_CHUNK_SIZE = 16
"""Vectors per vec0 block; its default of 1024 is many times slower to write and to look up."""

TABLES = """
CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE generations(
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    chunk_tokens INTEGER NOT NULL, chunk_overlap INTEGER NOT NULL,
    chunker_version INTEGER NOT NULL, tokens_version INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('building', 'active', 'retired')));
CREATE TABLE spaces(
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    generation INTEGER NOT NULL REFERENCES generations(id),
    provider TEXT NOT NULL, model TEXT NOT NULL, variant TEXT NOT NULL, dims INTEGER,
    vec0 INTEGER NOT NULL DEFAULT 0,            -- whether chunks_vec_<id> exists
    floor REAL, middle REAL,                    -- cosine of unrelated text, and of text as likely related as not
    state TEXT NOT NULL CHECK (state IN ('building', 'active', 'retired')));
CREATE TABLE files(
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    generation INTEGER NOT NULL REFERENCES generations(id),
    source TEXT NOT NULL, path TEXT NOT NULL,
    hash BLOB,                                  -- NULL while a large file is being written
    size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, ctime_ns INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('indexed', 'writing', 'failed')),
    reason TEXT, indexed_at REAL NOT NULL,
    transcript TEXT,                            -- JSON: how far a transcript is indexed
    UNIQUE (generation, source, path));
CREATE TABLE chunks(
    id INTEGER PRIMARY KEY AUTOINCREMENT,       -- never used twice, so that a stale vector never finds a new text
    file_id INTEGER NOT NULL REFERENCES files(id),
    ord INTEGER NOT NULL, start_line INTEGER NOT NULL, end_line INTEGER NOT NULL,
    hash BLOB NOT NULL, text TEXT NOT NULL);
CREATE INDEX chunks_of_file ON chunks(file_id, ord);
CREATE TABLE pending(                           -- chunks without a vector in a space
    space INTEGER NOT NULL, chunk_id INTEGER NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0, permanent INTEGER NOT NULL DEFAULT 0, reason TEXT,
    PRIMARY KEY (space, chunk_id)) WITHOUT ROWID;
"""

MIGRATIONS: dict[int, str] = {
    1: "ALTER TABLE files ADD COLUMN transcript TEXT;",
}
"""From a version, what its tables lack of the next one. Readers take both as they are."""


def fts_table(generation: int) -> str:
    """Name of the keyword index of a generation; rowid = chunk id."""
    return f"chunks_fts_{generation:d}"


def vec_table(space: int) -> str:
    """Name of a space's vec0 table; rowid = chunk id."""
    return f"chunks_vec_{space:d}"


def plain_table(space: int) -> str:
    """Name of a space's table of vectors written without the extension: little-endian float32 blobs."""
    return f"vectors_{space:d}"


def create_fts(generation: int) -> str:
    return (
        f"CREATE VIRTUAL TABLE {fts_table(generation)} USING fts5(body, content='', contentless_delete=1, "
        "tokenize='unicode61 remove_diacritics 2')"
    )


def create_vec(space: int, dims: int) -> str:
    return (
        f"CREATE VIRTUAL TABLE {vec_table(space)} USING "
        f"vec0(embedding float[{dims:d}] distance_metric=cosine, chunk_size={VEC0_CHUNK_SIZE})"
    )


def create_plain(space: int) -> str:
    return f"CREATE TABLE {plain_table(space)}(chunk_id INTEGER PRIMARY KEY, embedding BLOB NOT NULL)"


def check_header(path: Path) -> None:
    """Tell from the first 100 bytes whether the file is an index of ours, without opening it as a database.

    Raises IndexMissingError (no file, or an empty one), ForeignIndexError, IndexVersionError, IndexDamagedError, and
    IndexUnusableError for a file that this process may not read.
    """
    header = _header(path)
    if not header:
        raise IndexMissingError(f"nothing is indexed yet at {path}: run `recallite index`")
    if not header.strip(b"\0") or (len(header) < HEADER_BYTES and _is_sqlite(header)):
        raise damaged(path, "its first page is lost")
    if not _is_sqlite(header):
        raise ForeignIndexError(
            f"{path} is no database and is left as it is: set store.path to another file, or move this one away"
        )
    if int.from_bytes(header[68:72], "big") != APPLICATION_ID:
        raise ForeignIndexError(
            f"{path} was not written by recallite and is left as it is: run `recallite adopt` to move it aside "
            "and to keep its vectors, or set store.path to another file"
        )
    version = int.from_bytes(header[60:64], "big")
    if version > SCHEMA_VERSION:
        raise IndexVersionError(
            f"{path} has schema version {version}, this recallite knows {SCHEMA_VERSION}: update recallite"
        )


def damaged(path: Path, error: object) -> IndexDamagedError:
    """The error for a file in which damage was found."""
    return IndexDamagedError(
        f"{path} is damaged ({error}): run `recallite index`, which moves it aside and rebuilds it from the "
        "notes; vectors in the cache are not paid for again"
    )


def _header(path: Path) -> bytes:
    """The first bytes, as far as there are any; none without a file."""
    try:
        mode = path.stat().st_mode
        if stat.S_ISREG(mode):
            return first_bytes(path, HEADER_BYTES)
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise IndexUnusableError(f"{path} cannot be read ({error.strerror}): {READ_PERMISSION}") from error
    except apsw.Error as error:
        raise IndexUnusableError(f"{path} cannot be read ({error}): {READ_PERMISSION}") from error
    kind = "directory" if stat.S_ISDIR(mode) else "device, a pipe or a socket"
    raise ForeignIndexError(f"{path} is a {kind}; the index must be a file: set store.path to another path")


def _is_sqlite(header: bytes) -> bool:
    return header[:16] == SQLITE_MAGIC[: len(header)]
