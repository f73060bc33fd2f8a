"""Every error that recallite raises on purpose.

RecalliteError
├── ConfigError               openclaw.json cannot be used as it stands
├── UnknownAgentError         no such agent, or an id that cannot be one
├── MemoryPathError           memory_get was asked for a path it must not read
├── MemoryWriteError          a note, or the store of sessions, could not be written
├── IndexUnusableError        the index file cannot be used
│   ├── IndexMissingError     nothing has been indexed yet
│   ├── ForeignIndexError     the file at the index path is not ours
│   ├── IndexVersionError     written by a newer recallite
│   └── IndexDamagedError     SQLite says the file is damaged
├── ClosedError               a MemorySearch was asked after it was closed
├── QueueUnreachableError     Redis does not answer
├── LeaseError
│   ├── LeaseHeldError        another writer works on this agent
│   └── FencedError           this writer's lease was taken over
└── ProviderError             an embedding provider did not deliver
    ├── ProviderUnavailableError   not installed, no key, or unusable here: nothing to retry
    ├── ProviderAuthError          the key was refused
    ├── ProviderTransientError     time-out, connection, 5xx: worth retrying
    │   └── RateLimitedError       429; carries retry_after_seconds
    ├── QuotaExceededError         the account is used up
    └── InputRejectedError         the provider refused this input (400, 413, 422)
"""

from __future__ import annotations

from pathlib import Path


def unforeseen(error: BaseException) -> str:
    """What is said of an error that nobody foresaw. Its own words are left out: text of a note may be in them."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    where = f", {Path(last.tb_frame.f_code.co_filename).name}:{last.tb_lineno}" if last is not None else ""
    return f"a fault of this program ({type(error).__name__}{where}): please report it"


class RecalliteError(Exception):
    """Root of all errors of this project."""


class ConfigError(RecalliteError):
    """The configuration file is wrong; `problems` has one line per fault.

    Without `file` it is the environment or the command line, which each line names itself.
    """

    def __init__(self, file: Path | None, problems: list[str]) -> None:
        self.file = file
        self.problems = problems
        lines = problems if file is None else [f"Invalid config at {file}:", *(f"- {p}" for p in problems)]
        super().__init__("\n".join(lines))


class UnknownAgentError(RecalliteError):
    """The agent id is not configured, or cannot be an id at all."""


class MemoryPathError(RecalliteError):
    """A path that `memory_get` must not read; the message says why."""


class MemoryWriteError(RecalliteError):
    """A note or the store of sessions could not be written; the message says why, and nothing was changed."""


class IndexUnusableError(RecalliteError):
    """The index file cannot be used; subclasses say why."""


class IndexMissingError(IndexUnusableError):
    """Nothing has been indexed for this agent yet."""


class ForeignIndexError(IndexUnusableError):
    """The file at the index path was not written by recallite."""


class IndexVersionError(IndexUnusableError):
    """The index was written by a newer recallite."""


class IndexDamagedError(IndexUnusableError):
    """SQLite reports that the index file is damaged."""


class ClosedError(RecalliteError, ValueError):
    """A MemorySearch was asked after it was closed."""


class QueueUnreachableError(RecalliteError):
    """The work queue's server does not answer; what was to be marked is not marked."""


class LeaseError(RecalliteError):
    """The right to write an index is not ours."""


class LeaseHeldError(LeaseError):
    """Another writer works on this agent now."""


class FencedError(LeaseError):
    """A newer writer has taken over; nothing of ours was committed."""


class ProviderError(RecalliteError):
    """An embedding provider did not deliver vectors."""


class ProviderUnavailableError(ProviderError):
    """The provider cannot be used here: not installed, no key, unsupported platform."""


class ProviderAuthError(ProviderError):
    """The provider refused the key."""


class ProviderTransientError(ProviderError):
    """A failure that may pass: time-out, broken connection, server error."""


class RateLimitedError(ProviderTransientError):
    """HTTP 429; `retry_after_seconds` is the provider's word, if it gave one."""

    def __init__(self, message: str, *, retry_after_seconds: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_seconds = retry_after_seconds


class QuotaExceededError(ProviderError):
    """The account's quota is used up; retrying within minutes cannot help."""


class ProviderPausedError(QuotaExceededError):
    """The provider was not asked: all workers leave it alone for now. `for_quota`: its account is used up.

    `seconds` is how long, after it asked to slow down.
    """

    def __init__(self, message: str, *, for_quota: bool = False, seconds: float | None = None) -> None:
        super().__init__(message)
        self.for_quota = for_quota
        self.seconds = seconds


class InputRejectedError(ProviderError):
    """The provider refused the input itself (400, 413, 422): smaller requests may pass."""
