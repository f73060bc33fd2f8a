"""Looking for damage in the pages of an index, as far as the time allows."""

from __future__ import annotations

import time

import apsw

from recallite.index.rows import fetch

LOOK_SECONDS = 2.0
"""Enough for some 500 MB that lie in memory."""
_STEPS = 1000


def found_damage(connection: apsw.Connection, *, seconds: float = LOOK_SECONDS) -> str | None:
    """What SQLite's quick check finds first; None when it finds nothing, or nothing in that time."""
    end = time.monotonic() + seconds
    connection.set_progress_handler(lambda: time.monotonic() > end, _STEPS)
    try:
        verdict = str(fetch(connection, "PRAGMA main.quick_check(1)")[0][0])
    except apsw.InterruptError:
        return None
    finally:
        connection.set_progress_handler(None)
    return None if verdict == "ok" else " ".join(verdict.split())
