"""A dirty path → what the index should hold for it now."""

from __future__ import annotations

import hashlib
import os
import time
from dataclasses import dataclass, replace
from typing import BinaryIO

from recallite.errors import MemoryPathError
from recallite.workspace import FoundFile
from recallite.workspace.figures import figures
from recallite.workspace.paths import opened_beneath
from recallite.workspace.text import ContentError, decode, read_content
from recallite_worker.writer import FileState

_TIME_GRAIN_NS = 20_000_000


@dataclass(frozen=True, slots=True)
class ReadFile:
    """A note as it was read. `text` is None when it cannot be indexed; `reason` says why.

    Without a hash in its state it could not be read at all.
    """

    state: FileState
    text: str | None
    reason: str | None = None


def read_note(found: FoundFile) -> ReadFile | None:
    """The content of a note, or None when it is gone or is no longer a plain file there."""
    try:
        with opened_beneath(found.root, found.parts) as (file, info):
            return _read(found, file, info)
    except (FileNotFoundError, MemoryPathError):
        return None
    except OSError as error:
        state = FileState(found.source, found.path, None, found.size, found.mtime_ns, found.ctime_ns)
        return ReadFile(state, None, f"cannot be read: {error.strerror or type(error).__name__}")


def _read(found: FoundFile, file: BinaryIO, info: os.stat_result) -> ReadFile:
    size, mtime_ns, ctime_ns = figures(info)
    state = FileState(found.source, found.path, None, size, mtime_ns, 0 if _is_fresh(info) else ctime_ns)
    try:
        data = read_content(file)
    except ContentError as error:
        # It is the same file as before as long as it is refused for the same reason.
        return ReadFile(replace(state, hash=hashlib.sha256(str(error).encode()).digest()), None, str(error))
    return ReadFile(replace(state, hash=hashlib.sha256(data).digest()), decode(data))


def _is_fresh(info: os.stat_result) -> bool:
    """Whether a file changed so shortly ago that a further change could have the same time.

    File systems stamp times a few milliseconds coarse; a change time of 0 makes the next scan read it once more.
    """
    return time.time_ns() - info.st_ctime_ns < _TIME_GRAIN_NS
