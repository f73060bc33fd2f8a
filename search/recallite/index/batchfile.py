"""A look at an agent's batch jobs without opening their file for writing."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import apsw

from recallite.errors import IndexUnusableError
from recallite.index.files import is_there
from recallite.index.readonly import ReaderClosedError, ReadOnlyDatabase
from recallite.index.rows import fetch
from recallite.types import BatchJob, BatchState

JobState = Literal["planned", "uploaded", "creating", "running", "done", "failed", "expired", "cancelled"]
OPEN_STATES: tuple[JobState, ...] = ("planned", "uploaded", "creating", "running")
_RECENT = 50


def batch_path(cache_path: Path) -> Path:
    """Where the jobs of the agent with this cache are kept."""
    return cache_path.with_name(f"{cache_path.name.removesuffix('.sqlite').removesuffix('.cache')}.batch.sqlite")


def batch_state(path: Path, *, now: float) -> BatchState:
    """Open jobs and the newest that are over, and how many texts wait for one. Empty when there was never a job."""
    if not is_there(path):
        return BatchState()
    try:
        database = ReadOnlyDatabase(path)
        try:
            with database.reading() as connection:
                return _read(connection, now)
        finally:
            database.close()
    except (apsw.Error, IndexUnusableError, ReaderClosedError):
        return BatchState()


def _read(connection: apsw.Connection, now: float) -> BatchState:
    rows = fetch(
        connection,
        "SELECT id, provider_id, state, items, delivered, tokens, created, submitted, finished, reason FROM jobs "
        f"ORDER BY state NOT IN ({','.join('?' * len(OPEN_STATES))}), id DESC LIMIT ?",
        (*OPEN_STATES, _RECENT),
    )
    [(waiting,)] = fetch(connection, "SELECT count(*) FROM items WHERE state = 'waiting'")
    off = fetch(connection, "SELECT reason FROM trouble WHERE off_until > ?", (now,))
    return BatchState(tuple(BatchJob(*row) for row in rows), int(waiting), str(off[0][0]) if off else None)
