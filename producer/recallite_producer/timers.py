"""What is done again and again, and when it is next due."""

from __future__ import annotations

import heapq
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field

_JITTER = 0.1
"""Intervals vary by this share, so that many agents, and many hosts, do not act in the same second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerTimes:
    """How often the producer does what."""

    scan_seconds: float = 300.0
    """Between two comparisons of an agent's files with its index: what finds an event that was missed."""
    sweep_seconds: float = 30.0
    """Between two messages for work that is left: what repairs a message that was lost."""
    check_seconds: float = 2.0
    """Between two looks at whether each folder exists and is watched."""
    poll_seconds: float = 30.0
    """Between two walks over folders without events."""
    idle_seconds: float = 15.0
    """Between two looks for sessions that have gone quiet."""
    status_seconds: float = 5.0
    """Between two writes of producer.json."""


@dataclass(order=True, slots=True)
class _Timer:
    due: float
    number: int
    seconds: float = field(compare=False)
    action: Callable[[], None] = field(compare=False)


class Timers:
    """Runs actions of one thread at intervals. An action that raises is due again after its interval."""

    def __init__(self) -> None:
        self._heap: list[_Timer] = []

    def every(self, seconds: float, action: Callable[[], None]) -> None:
        """Do it first after one interval."""
        heapq.heappush(self._heap, _Timer(self._after(seconds), len(self._heap), seconds, action))

    def next_due(self) -> float | None:
        """When to call `run_due`, on the clock of `time.monotonic`."""
        return self._heap[0].due if self._heap else None

    def run_due(self) -> None:
        """Do all that is due."""
        now = time.monotonic()
        while self._heap and self._heap[0].due <= now:
            timer = self._heap[0]
            timer.due = self._after(timer.seconds)
            heapq.heapreplace(self._heap, timer)
            timer.action()

    @staticmethod
    def _after(seconds: float) -> float:
        return time.monotonic() + seconds * random.uniform(1 - _JITTER, 1 + _JITTER)
