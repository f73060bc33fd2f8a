"""A dirty path → what the index should hold for it now."""

from __future__ import annotations

import hashlib
import os
import time
from dataclasses import dataclass

from recallite.errors import MemoryPathError
from recallite.workspace import BinaryContentError, FoundFile, decode
from recallite.workspace.figures import figures
from recallite.workspace.paths import read_beneath
from recallite_worker.writer import FileState

_TIME_GRAIN_NS = 20_000_000


@dataclass(frozen=True, slots=True)
class ReadFile:
    """A note as it was read. `text` is None when it cannot be indexed; `reason` says why."""

    state: FileState
    text: str | None
    reason: str | None = None


def read_note(found: FoundFile) -> ReadFile | None:
    """The content of a note, or None when it is gone or is no longer a plain file there."""
    try:
        data, info = read_beneath(found.root, found.parts)
    except (FileNotFoundError, MemoryPathError):
        return None
    except OSError as error:
        state = FileState(found.source, found.path, None, found.size, found.mtime_ns, found.ctime_ns)
        return ReadFile(state, None, f"cannot be read: {error.strerror or type(error).__name__}")
    size, mtime_ns, ctime_ns = figures(info)
    state = FileState(
        found.source,
        found.path,
        hashlib.sha256(data).digest(),
        size,
        mtime_ns,
        0 if _is_fresh(info) else ctime_ns,
    )
    try:
        return ReadFile(state, decode(data))
    except BinaryContentError as error:
        return ReadFile(state, None, str(error))


def _is_fresh(info: os.stat_result) -> bool:
    """Whether a file changed so shortly ago that a further change could have the same time.

    File systems stamp times a few milliseconds coarse; a change time of 0 makes the next scan read it once more.
    """
    return time.time_ns() - info.st_ctime_ns < _TIME_GRAIN_NS
