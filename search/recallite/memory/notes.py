"""The two writes into an agent's notes: a durable fact to MEMORY.md, a day note to today's log.

Both only ever append, in one write, under a lock on the note itself: nothing that another writer put there is
touched, be it this program in another process or an editor.
"""

from __future__ import annotations

import codecs
import os
import re
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date, datetime
from pathlib import Path

from recallite.arguments import a_day, a_text, agent_settings
from recallite.config import AgentSettings
from recallite.errors import MemoryWriteError
from recallite.locking import locked
from recallite.types import WrittenNote
from recallite.workspace import LineMap
from recallite.workspace.files import NOTES_DIR, ROOT_NAMES
from recallite.workspace.text import decode, without_surrogates

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_WIDTHS = {"utf-16": 2, "utf-32": 4}
"""Bytes; what follows half of such a unit would be read shifted."""
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
"""A note with a NUL is taken for binary and would no longer be found."""
_LIST_OR_HEADING = re.compile(r"\s*(?:[-*+>#|`]|\d+[.)]\s)")
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_BINARY = getattr(os, "O_BINARY", 0)
_NEW_FILE, _NEW_FOLDER = 0o600, 0o700


def remember(settings: AgentSettings, text: str) -> WrittenNote:
    """Append a durable fact to MEMORY.md (or to memory.md, where that is what the agent has).

    A single line becomes an item of a list; anything else is written as it is. Atomic, and safe between processes.
    Raises MemoryWriteError.
    """
    agent_settings(settings)
    fact = _clean(text)
    if "\n" not in fact and not _LIST_OR_HEADING.match(fact):
        fact = f"- {fact}"
    names = ROOT_NAMES if (settings.workspace / ROOT_NAMES[0]).exists() else ROOT_NAMES[::-1]
    name = next((name for name in names if (settings.workspace / name).exists()), ROOT_NAMES[0])
    return _append(settings, (name,), fact, heading="# Memory")


def append_to_log(settings: AgentSettings, text: str, *, day: date | None = None) -> WrittenNote:
    """Append a note to the log of `day`, by default today in the user's time zone: `memory/YYYY-MM-DD.md`.

    Atomic, and safe between processes. Raises MemoryWriteError.
    """
    agent_settings(settings)
    day = a_day(day, "day") if day is not None else datetime.now(settings.zone).date()
    return _append(settings, (NOTES_DIR, f"{day.isoformat()}.md"), _clean(text), heading=f"# {day.isoformat()}")


def _clean(text: str) -> str:
    lines = without_surrogates(a_text(text, "text")).replace("\r\n", "\n").replace("\r", "\n")
    cleaned = _CONTROL.sub(" ", lines).strip("\n").rstrip()
    if not cleaned.strip():
        raise MemoryWriteError("there is nothing to write: the text is blank")
    return cleaned


def _append(settings: AgentSettings, parts: Sequence[str], text: str, *, heading: str) -> WrittenNote:
    name = "/".join(parts)
    if not settings.workspace.is_dir():
        raise MemoryWriteError(
            f"the workspace {settings.workspace} does not exist: make it, or set agents.defaults.workspace"
        )
    try:
        with _opened(settings.workspace, parts) as descriptor:
            lines = _write(descriptor, text, heading, name)
    except OSError as error:
        raise MemoryWriteError(f"{name} of agent {settings.agent!r} cannot be written: {error.strerror}") from error
    from recallite.work.requests import request_sync

    request_sync(settings)
    return WrittenNote(name, *lines)


@contextmanager
def _opened(workspace: Path, parts: Sequence[str]) -> Iterator[int]:
    """The note, made if it was not there, open for appending and locked.

    No component below the workspace may be a symlink. An editor that saves by renaming puts another file at the
    path: then that one is opened.
    """
    location = workspace
    for part in parts[:-1]:
        location = location / part
        location.mkdir(mode=_NEW_FOLDER, exist_ok=True)
        _refuse_link(location, parts)
    location = location / parts[-1]
    while True:
        _refuse_link(location, parts)
        descriptor = os.open(location, os.O_RDWR | os.O_APPEND | os.O_CREAT | _NO_FOLLOW | _BINARY, _NEW_FILE)
        try:
            with locked(descriptor):
                opened = os.fstat(descriptor)
                if not stat.S_ISREG(opened.st_mode):
                    raise MemoryWriteError(f"{'/'.join(parts)} is not a regular file")
                if _same_file(location, opened):
                    yield descriptor
                    return
        finally:
            os.close(descriptor)


def _refuse_link(location: Path, parts: Sequence[str]) -> None:
    if location.is_symlink():
        raise MemoryWriteError(f"{'/'.join(parts)} goes through a symlink: links are not followed")


def _same_file(location: Path, opened: os.stat_result) -> bool:
    try:
        return os.path.samestat(location.lstat(), opened)
    except FileNotFoundError:
        return False


def _write(descriptor: int, text: str, heading: str, name: str) -> tuple[int, int]:
    """First and last line of what was appended."""
    before = _content(descriptor)
    encoding = next((encoding for bom, encoding in _BOMS if before.startswith(bom)), "utf-8")
    try:
        old = decode(before)
    except ValueError as error:
        raise MemoryWriteError(f"{name} {error}: nothing is appended to it") from error
    if len(before) % _WIDTHS.get(encoding[:6], 1):
        raise MemoryWriteError(
            f"{name} is written in {encoding} and ends within a character ({len(before)} bytes): "
            "nothing is appended to it; save it anew in an editor first"
        )
    newline = "\r\n" if "\r\n" in old else "\n"
    added = f"{_lead(old, heading)}{text}\n".replace("\n", newline)
    _write_all(descriptor, added.encode(encoding), len(before))
    last = len(LineMap(old + added))
    return last - text.count("\n"), last


def _lead(old: str, heading: str) -> str:
    """What comes between the note as it is and the text."""
    if not old.strip():
        return f"{heading}\n\n"
    return "" if old.endswith(("\n", "\r")) else "\n"


def _content(descriptor: int) -> bytes:
    os.lseek(descriptor, 0, os.SEEK_SET)
    pieces = []
    while piece := os.read(descriptor, 1 << 20):
        pieces.append(piece)
    return b"".join(pieces)


def _write_all(descriptor: int, data: bytes, size: int) -> None:
    """All of `data` or nothing of it: on a full disk what was written is taken back, if it is still the end."""
    written = 0
    try:
        while written < len(data):
            written += os.write(descriptor, data[written:])
        os.fsync(descriptor)
    except OSError:
        if written and os.fstat(descriptor).st_size == size + written:
            os.ftruncate(descriptor, size)
        raise
