"""Reading rows: always drained, since a half-read cursor keeps the write-ahead log from shrinking."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import apsw

Parameters = Sequence[str | int | float | bytes | None]
Row = tuple[Any, ...]
"""Values as SQLite has them: what they are is known by the statement only."""


def fetch(connection: apsw.Connection, sql: str, parameters: Parameters = ()) -> list[Row]:
    """All rows of one statement."""
    return connection.execute(sql, tuple(parameters)).fetchall()


def stream(connection: apsw.Connection, sql: str) -> Iterator[Row]:
    """The rows of one statement, one in memory at a time; the cursor is closed when the iterator is."""
    cursor = connection.execute(sql)
    try:
        yield from cursor
    finally:
        cursor.close(True)
