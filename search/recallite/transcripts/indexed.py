"""What an index has of an agent's transcripts, for who has to compare them with the disk."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import apsw

from recallite.errors import IndexUnusableError
from recallite.index.connection import IndexReader, active_rows
from recallite.index.readonly import ReaderClosedError
from recallite.index.rows import fetch


@dataclass(frozen=True, slots=True)
class TranscriptState:
    """A transcript as it was when it was indexed."""

    size: int
    mtime_ns: int
    ctime_ns: int
    state: str


def indexed_transcripts(index_path: Path, path: str | None = None) -> dict[str, TranscriptState]:
    """By index path, all of them or one. Empty when there is no index that can be read now: never raises."""
    for _ in range(2):
        try:
            reader = IndexReader(index_path)
            try:
                return _read(reader, path)
            finally:
                reader.close()
        except ReaderClosedError:
            continue  # this process just became a writer; the next connection shares its view
        except (IndexUnusableError, apsw.Error, OSError):
            return {}
    return {}


def _read(reader: IndexReader, path: str | None) -> dict[str, TranscriptState]:
    sql = "SELECT path, size, mtime_ns, ctime_ns, state FROM files WHERE generation = ? AND source = 'sessions'"
    with reader.reading() as connection:
        generation, _ = active_rows(connection)
        if path is None:
            rows = fetch(connection, sql, (generation,))
        else:
            rows = fetch(connection, f"{sql} AND path = ?", (generation, path))
    return {row[0]: TranscriptState(*row[1:]) for row in rows}
