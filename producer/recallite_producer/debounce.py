"""Changes wait here until their file has been quiet for a while."""

from __future__ import annotations

import heapq
import stat
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from recallite_producer.roots import Change

LONGEST_WAIT = 10
"""A file that is edited without end is passed on each time it has waited this many times its quiet time."""
MOST_PATHS = 10_000
"""An agent with more changes than this waiting is scanned instead."""

Key = tuple[str, str]


@dataclass(slots=True)
class _Waiting:
    change: Change
    first: float
    last: float


class Debouncer:
    """Takes changes from any thread; one thread takes them out."""

    def __init__(self, quiet_seconds: Mapping[str, float], *, wake: Callable[[], None] = lambda: None) -> None:
        """`quiet_seconds` is by agent. `wake` is called when `next_due` has become earlier."""
        self._quiet = quiet_seconds
        self._wake = wake
        self._lock = threading.Lock()
        self._waiting: dict[Key, _Waiting] = {}
        self._order: list[tuple[float, Key]] = []
        """A heap of when to look at what; each waiting change stands in it once."""
        self._paths: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._waiting)

    def count(self, agent: str) -> int:
        """How many changes of one agent wait."""
        return self._paths[agent]

    def touch(self, change: Change) -> None:
        """Note a change, or that it goes on."""
        now = time.monotonic()
        with self._lock:
            known = self._waiting.get((change.agent, change.path))
            if known is None and self._paths[change.agent] >= MOST_PATHS:
                change = Change.anywhere(change.agent)
                known = self._waiting.get((change.agent, change.path))
            if known is not None:
                known.last = now
                # A folder in whose place there is a file now: what lay in the folder has to go.
                known.change = known.change if known.change.is_directory else change
                return
            is_next = self._put(_Waiting(change, now, now))
        if is_next:
            self._wake()

    def next_due(self) -> float | None:
        """When to call `take`, on the clock of `time.monotonic`; None if nothing waits."""
        with self._lock:
            return self._order[0][0] if self._order else None

    def take(self) -> list[Change]:
        """The changes that have been quiet long enough, or have waited for the longest time.

        A file that was written to just now, though no event said so, is waited for.
        """
        now = time.monotonic()
        due: list[Change] = []
        for waiting in self._ready(now):
            quiet = self._quiet[waiting.change.agent]
            if not _is_growing(waiting.change, quiet):
                due.append(waiting.change)
            elif now < waiting.first + LONGEST_WAIT * quiet:
                self._put_back(_Waiting(waiting.change, waiting.first, now))
            else:
                due.append(waiting.change)
                self._put_back(_Waiting(waiting.change, now, now))
        return due

    def take_all(self) -> list[Change]:
        """Everything, however fresh: for the end of the program."""
        with self._lock:
            changes = [waiting.change for waiting in self._waiting.values()]
            self._waiting.clear()
            self._order.clear()
            self._paths.clear()
        return changes

    def _ready(self, now: float) -> list[_Waiting]:
        ready = []
        with self._lock:
            while self._order and self._order[0][0] <= now:
                key = heapq.heappop(self._order)[1]
                due = self._due(self._waiting[key])
                if due > now:
                    heapq.heappush(self._order, (due, key))
                    continue
                ready.append(self._waiting.pop(key))
                self._paths[key[0]] -= 1
        return ready

    def _put_back(self, waiting: _Waiting) -> None:
        with self._lock:
            touched = self._waiting.get((waiting.change.agent, waiting.change.path))
            if touched is not None:
                touched.first = min(touched.first, waiting.first)
            else:
                self._put(waiting)

    def _put(self, waiting: _Waiting) -> bool:
        key = (waiting.change.agent, waiting.change.path)
        due = self._due(waiting)
        is_next = not self._order or due < self._order[0][0]
        self._waiting[key] = waiting
        self._paths[key[0]] += 1
        heapq.heappush(self._order, (due, key))
        return is_next

    def _due(self, waiting: _Waiting) -> float:
        quiet = self._quiet[waiting.change.agent]
        return min(waiting.last + quiet, waiting.first + LONGEST_WAIT * quiet)


def _is_growing(change: Change, quiet_seconds: float) -> bool:
    location = change.location
    if location is None or change.is_directory:
        return False
    try:
        info = location.lstat()
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(info.st_mode) and 0 <= time.time() - info.st_mtime < quiet_seconds / 2
