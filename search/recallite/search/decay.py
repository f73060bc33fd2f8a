"""The age of a text, and what its score is multiplied with for it (`query.hybrid.temporalDecay`)."""

from __future__ import annotations

import re
from datetime import date, datetime, tzinfo

from recallite.types import Source
from recallite.workspace.files import NOTES_DIR, ROOT_NAMES

_DATED_NAME = re.compile(rf"(?:^|/){NOTES_DIR}/(?:.*/)?(\d{{4}})-(\d\d)-(\d\d)(?!\d)[^/]*$", re.ASCII)


def note_date(path: str) -> date | None:
    """The day in the name of a note in `memory/`, at any depth, with or without a slug behind it.

    None for other paths, and for a day that no calendar has.
    """
    found = _DATED_NAME.search(path)
    if found is None:
        return None
    try:
        return date(int(found[1]), int(found[2]), int(found[3]))
    except ValueError:
        return None


def age_days(path: str, source: Source, mtime_ns: int, *, today: date, zone: tzinfo | None = None) -> int | None:
    """How old a text is in whole days; None for what never ages: `MEMORY.md` and undated notes in `memory/`.

    A dated note has the age of its name, all else (transcripts, extra paths) that of its file as it was indexed.
    What lies in the future is of today.
    """
    day = note_date(path)
    if day is None:
        if source == "memory" and (path in ROOT_NAMES or path.startswith(f"{NOTES_DIR}/")):
            return None
        day = _day_of(mtime_ns, zone)
    return max(0, (today - day).days) if day is not None else 0


def decay(age: int | None, half_life_days: int) -> float:
    """e^(-ln 2 / half-life × age): 1 for a text of today and for what never ages, ½ after a half-life."""
    return 1.0 if age is None else 0.5 ** (age / half_life_days)


def _day_of(mtime_ns: int, zone: tzinfo | None) -> date | None:
    """None for a time that lies past the calendar's end."""
    try:
        return datetime.fromtimestamp(mtime_ns / 1e9, tz=zone).date()
    except (OverflowError, ValueError, OSError):
        return None
