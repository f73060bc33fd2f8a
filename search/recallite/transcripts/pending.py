"""Whether what a transcript holds beyond its index is worth indexing now."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

from recallite.config import AgentSettings
from recallite.errors import MemoryPathError
from recallite.transcripts.names import is_archive
from recallite.transcripts.reader import TranscriptReader
from recallite.workspace.files import FoundFile
from recallite.workspace.paths import opened_beneath

Verdict = Literal["same", "waiting", "due"]
"""`waiting`: there is new text, but less than the thresholds ask for, and the session is not quiet yet."""


class IndexedTranscript(Protocol):
    """A transcript as it was when it was indexed."""

    @property
    def size(self) -> int: ...
    @property
    def mtime_ns(self) -> int: ...
    @property
    def ctime_ns(self) -> int: ...
    @property
    def state(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Growth:
    """What was added to a transcript."""

    messages: int
    """Records of type `message`, of any role."""
    compacted: bool
    """Whether the session was compacted."""
    end: int
    """Bytes of the file that are counted: up to the end of its last whole line."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """How much new text starts an update. A threshold of 0 is crossed by anything new."""

    bytes: int
    messages: int
    idle_seconds: float
    """A session that was not written to for so long is indexed as it is."""
    at_compaction: bool = True

    @classmethod
    def of(cls, settings: AgentSettings) -> Thresholds:
        """As `sync.sessions` says."""
        sessions = settings.search.sync.sessions
        return cls(
            sessions.delta_bytes,
            sessions.delta_messages,
            sessions.idle_minutes * 60.0,
            sessions.post_compaction_force,
        )

    def are_over(self, mtime_ns: int, now: float) -> bool:
        """Whether a session has gone quiet whose file was last written at `mtime_ns`."""
        return abs(now - mtime_ns / 1e9) >= self.idle_seconds

    def are_crossed(self, growth: Growth) -> bool:
        return growth.messages >= self.messages or (growth.compacted and self.at_compaction)


def read_growth(found: FoundFile, since: int) -> Growth:
    """Count what lies behind the byte `since`, where a line begins as a rule. Reads it all: for short stretches."""
    try:
        with opened_beneath(found.root, found.parts) as (file, _):
            file.seek(since)
            reader = TranscriptReader(file, offset=since, end=found.size)
            for _ in reader:
                pass
    except (OSError, MemoryPathError):
        return Growth(0, False, since)
    return Growth(reader.entries, reader.compaction > 0, reader.offset)


def judge(
    found: FoundFile,
    indexed: IndexedTranscript | None,
    thresholds: Thresholds,
    *,
    now: float | None = None,
    count: Callable[[FoundFile, int], Growth] = read_growth,
) -> Verdict:
    """Compare a transcript with what the index has of it.

    An archive, a file that shrank or was written anew and one whose indexing was broken off are due at once.
    `count` reads at most `thresholds.bytes` of the file, and only when nothing else decides.
    """
    since = 0
    if indexed is not None:
        if indexed.state == "writing":
            return "due"
        if _state(found) == _state(indexed):
            return "same"
        if found.size <= indexed.size:
            return "due"
        since = indexed.size
    now = time.time() if now is None else now
    is_over = is_archive(found.parts[-1]) or thresholds.are_over(found.mtime_ns, now)
    if is_over or found.size - since >= thresholds.bytes:
        return "due"
    return "due" if thresholds.are_crossed(count(found, since)) else "waiting"


def _state(file: FoundFile | IndexedTranscript) -> tuple[int, int, int]:
    return file.size, file.mtime_ns, file.ctime_ns
