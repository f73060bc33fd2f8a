"""What a slice of work did, and what is left."""

from __future__ import annotations

from dataclasses import dataclass, field

from recallite.types import Failure


@dataclass(slots=True)
class SyncProgress:
    """Numbers for a progress bar; they cover one slice."""

    files_done: int = 0
    files_waiting: int = 0
    chunks_added: int = 0
    vectors_done: int = 0
    vectors_waiting: int = 0


@dataclass(slots=True)
class SyncResult:
    """What a slice did, and what is left."""

    agent: str
    files_written: int = 0
    files_unchanged: int = 0
    """Files that were read and found as they were."""
    files_removed: int = 0
    chunks_added: int = 0
    texts_embedded: int = 0
    vectors_cached: int = 0
    scanned: bool = False
    more: bool = False
    """Whether the agent should be served again now. False when what is left needs the provider back."""
    vectors_waiting: int = 0
    provider_reason: str | None = None
    """Why there is no provider, or why it failed."""
    pause_seconds: float | None = None
    """For how long the provider, which asked to slow down, is left alone."""
    jobs_made: int = 0
    """Batch jobs that wait to be submitted."""
    vectors_in_batch: int = 0
    """Those of `vectors_waiting` that a batch job will bring."""
    retry_after_seconds: float | None = None
    """When to come back for vectors that the provider did not give now."""
    failures: list[Failure] = field(default_factory=list)
    milliseconds: int = 0
