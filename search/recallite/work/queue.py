"""The work queue: which agents have dirty files, and who may write which index.

Nothing here is the truth; the files are. A queue that is lost, doubled or late costs time only, since a scan
finds every difference between the disk and an index.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, Protocol

Lane = Literal["live", "backfill"]
"""Fresh edits, and large amounts of old text: the first never wait for the second."""

LANES: tuple[Lane, ...] = ("live", "backfill")

Errand = Literal["live", "backfill", "batch"]
"""What a message asks for: a slice of work in one of the lanes, or a look at an agent's batch jobs."""

ERRANDS: tuple[Errand, ...] = (*LANES, "batch")

Debt = Literal["vectors", "batch"]
"""What is owed to an agent without any changed file: vectors to be made, batch jobs to be looked at."""

SLOT_SECONDS = 2 * 24 * 3600
"""Longer than any batch job lives; a slot whose job was lost is free again after this time."""

SCAN = "*"
"""Marked in place of a path: compare the whole disk with the index."""


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to write one agent's index, until it expires or a later lease takes over."""

    agent: str
    token: str
    epoch: int
    """Grows with each lease; the index refuses writers with a smaller one than it has seen."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A dirty path. `generation` tells a mark from a later one of the same path."""

    path: str
    generation: int
    lane: Lane = "live"


@dataclass(frozen=True, slots=True)
class Backlog:
    """How many marks an agent has in each lane."""

    agent: str
    live: int
    backfill: int

    def count(self, lane: Lane) -> int:
        return self.live if lane == "live" else self.backfill


@dataclass(frozen=True, slots=True)
class Pause:
    """A provider is left alone by all workers until then (seconds since 1970)."""

    until: float
    reason: str


class WorkQueue(Protocol):
    """Both implementations (SQLite and Redis) pass the same contract tests."""

    def mark(self, agent: str, paths: Iterable[str], *, lane: Lane = "live") -> None:
        """Note that paths changed. Marking a path again makes it one mark with a newer generation.

        A live mark stays live when it is marked for backfill.
        """
        ...

    def backlog(self) -> list[Backlog]:
        """Agents with marks, in the order in which to serve them: live first, longest waiting first."""
        ...

    def lease(self, agent: str, *, at_least: int = 0) -> Lease:
        """Take the agent's writing right; the epoch is greater than `at_least`.

        Raises LeaseHeldError while another living holder has it.
        """
        ...

    def renew(self, lease: Lease) -> None:
        """Prolong a lease. Raises FencedError when it was taken over."""
        ...

    def release(self, lease: Lease) -> None:
        """Give the right back; does nothing if it was taken over."""
        ...

    def claim(self, agent: str, limit: int, *, lane: Lane | None = None) -> list[Mark]:
        """Up to `limit` marks of the agent, of one lane or live ones first; they stay until `done`."""
        ...

    def done(self, agent: str, marks: Iterable[Mark]) -> None:
        """Remove marks, except those that were marked again since they were claimed."""
        ...

    def length(self, agent: str | None = None, *, lane: Lane | None = None) -> int:
        """Number of marks, of one agent or of all, of one lane or of both."""
        ...

    def owe(self, agent: str, debt: Debt = "vectors", *, seconds: float = 0.0) -> None:
        """Note that something is owed to the agent, due in `seconds`. It survives whoever noted it.

        No mark: the text of all files may be written.
        """
        ...

    def settle(self, agent: str, debt: Debt = "vectors") -> None:
        """Nothing of the kind is owed any more: no chunk waits for a vector that a provider could give now."""
        ...

    def owed(self, debt: Debt = "vectors") -> list[str]:
        """Agents to which it is due now, longest due first."""
        ...

    def forget(self, agent: str) -> None:
        """Drop what is noted of an agent that is no longer configured, except its epoch."""
        ...

    def schedule(self, agent: str, errand: Errand) -> bool:
        """Whether a message should be sent for the agent: true until `started`, for the first who asks."""
        ...

    def scheduled(self, agent: str, errand: Errand) -> None:
        """A message for the agent was seen on its way: no further one is needed for now."""
        ...

    def started(self, agent: str, errand: Errand) -> None:
        """A message for the agent has arrived at a worker: marks from now on need a further one."""
        ...

    def holder(self, agent: str) -> str | None:
        """Who holds the agent's lease now, for people to read."""
        ...

    def is_new(self) -> bool:
        """Whether the queue has lost its memory since `known` was last called: all must be scanned."""
        ...

    def known(self) -> None:
        """All agents have been marked since the queue began or lost its memory."""
        ...

    def pause(self, key: str, seconds: float, reason: str) -> None:
        """Let all workers leave a provider account alone. A longer pause that is in force stays."""
        ...

    def paused(self, key: str) -> Pause | None:
        """The pause in force for a provider account."""
        ...

    def spend(self, key: str, day: str, tokens: int, *, limit: int) -> bool:
        """Count tokens (0 or more) against a day's limit, for all workers together.

        False, and not counted, above it.
        """
        ...

    def refund(self, key: str, day: str, tokens: int) -> None:
        """Take back what was counted for a request that the provider has not served."""
        ...

    def spent(self, key: str, day: str) -> int:
        """Tokens counted on a day."""
        ...

    def take_slot(self, key: str, token: str, *, limit: int) -> bool:
        """Whether `token` may be one of `limit` batch jobs under way for an account, for all hosts together.

        True too when it is one already. A slot is given back by `free_slot`, or after two days without `keep_slot`.
        """
        ...

    def keep_slot(self, key: str, token: str) -> None:
        """The job is under way, whatever the limit: also where the queue had lost its memory."""
        ...

    def free_slot(self, key: str, token: str) -> None:
        """The job is over."""
        ...

    def slots(self, key: str) -> int:
        """Batch jobs under way for an account."""
        ...

    def close(self) -> None: ...
