"""A look at the embedding cache without opening it for writing."""

from __future__ import annotations

from pathlib import Path

import apsw

from recallite.errors import IndexUnusableError
from recallite.index.files import is_there
from recallite.index.readonly import ReaderClosedError, ReadOnlyDatabase
from recallite.index.rows import fetch


def cache_entries(path: Path) -> int:
    """Number of vectors in the cache; 0 when there is none or it cannot be read now."""
    if not is_there(path):
        return 0
    try:
        database = ReadOnlyDatabase(path)
        try:
            with database.reading() as connection:
                return int(fetch(connection, "SELECT count(*) FROM vectors")[0][0])
        finally:
            database.close()
    except (apsw.Error, IndexUnusableError, ReaderClosedError):
        return 0
