"""Changes on their way to the work queue: kept in memory for as long as it is out of reach."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Protocol

from recallite.errors import RecalliteError
from recallite.work import SCAN, Lane

logger = logging.getLogger(__name__)

FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 30.0
MOST_PATHS = 10_000
"""An agent with more paths than this unsent is scanned instead."""
_PATHS_AT_ONCE = 1_000


class Sender(Protocol):
    """Where changes go: recallite.work.dispatch.Dispatch, or a stand-in for tests.

    Both methods may raise when the queue is out of reach; then nothing of that call counts as done.
    """

    def dirty(self, agent: str, paths: Sequence[str], *, lane: Lane = "live") -> object:
        """Note changed paths of an agent and tell the workers."""
        ...

    def sweep(self) -> object:
        """Tell the workers again about everything that is left."""
        ...


class Outbox:
    """For one thread; the attributes may be read from others."""

    def __init__(self, sender: Sender) -> None:
        self._sender = sender
        self._unsent: dict[tuple[str, Lane], dict[str, None]] = {}
        self._pause = 0.0
        self._not_before = 0.0
        self.trouble: str | None = None
        """Why the queue cannot be reached, since the first failure."""
        self.last_scan: dict[str, float] = {}
        """When an agent's scan was last taken by the queue, in seconds since 1970."""

    def __len__(self) -> int:
        return sum(map(len, list(self._unsent.values())))

    def add(self, agent: str, paths: Iterable[str], lane: Lane) -> None:
        """Keep paths for the next `flush`."""
        kept = self._unsent.setdefault((agent, lane), {})
        kept.update(dict.fromkeys(paths))
        if len(kept) > MOST_PATHS:
            self._unsent[agent, lane] = {SCAN: None}

    def next_due(self) -> float | None:
        """When to call `flush`, on the clock of `time.monotonic`; None if nothing is unsent."""
        return self._not_before if self._unsent else None

    def flush(self) -> bool:
        """Send what is unsent, unless it is too soon after a failure; whether nothing is left."""
        while self._unsent and time.monotonic() >= self._not_before:
            key = next(iter(self._unsent))
            batch = list(islice(self._unsent[key], _PATHS_AT_ONCE))
            try:
                self._sender.dirty(key[0], batch, lane=key[1])
            except Exception as error:  # whatever a sender raises: the marks must not be lost
                self._unsent[key] = self._unsent.pop(key)  # the next try begins with another agent
                self._failed(error)
                return False
            self._sent(key, batch)
        return not self._unsent

    def sweep(self) -> None:
        """Let the sender repair what was lost on the way; a failure is met again by the next sweep."""
        if time.monotonic() < self._not_before:
            return
        try:
            self._sender.sweep()
        except Exception as error:
            self._failed(error)
        else:
            self._reached()

    def retry_now(self) -> None:
        """Try again at the next `flush`, however recent the last failure."""
        self._not_before = 0.0

    def _sent(self, key: tuple[str, Lane], batch: list[str]) -> None:
        kept = self._unsent[key]
        for path in batch:
            del kept[path]
        if not kept:
            del self._unsent[key]
        if SCAN in batch:
            self.last_scan[key[0]] = time.time()
        self._reached()

    def _failed(self, error: Exception) -> None:
        reason = f"{type(error).__name__}: {error}"
        if self.trouble is None:
            is_expected = isinstance(error, RecalliteError | OSError)
            logger.warning(
                "the work queue is out of reach, changes are kept and sent later (%s)",
                reason,
                exc_info=None if is_expected else error,
            )
        self.trouble = reason
        self._pause = min(LONGEST_PAUSE_SECONDS, self._pause * 2 or FIRST_PAUSE_SECONDS)
        self._not_before = time.monotonic() + self._pause * random.uniform(0.5, 1.0)

    def _reached(self) -> None:
        if self.trouble is not None:
            logger.info("the work queue is within reach again")
        self.trouble = None
        self._pause = self._not_before = 0.0
