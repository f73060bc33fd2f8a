"""A value that each process makes for itself, also after a fork."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from typing import Generic, TypeVar

T_co = TypeVar("T_co", covariant=True)

_all: weakref.WeakSet[PerProcess[object]] = weakref.WeakSet()


class PerProcess(Generic[T_co]):
    """Makes its value on first use and again in a forked child. Safe to use from several threads."""

    def __init__(self, make: Callable[[], T_co]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._pid: int | None = None
        self._value: T_co | None = None
        self._inherited: list[T_co] = []
        _all.add(self)

    def get(self) -> T_co:
        with self._lock:
            if self._pid != os.getpid() or self._value is None:
                if self._value is not None:
                    # Kept, not dropped: its destructor may close what the parent still uses.
                    self._inherited.append(self._value)
                self._value = self._make()
                self._pid = os.getpid()
            return self._value

    def _unlock_in_child(self) -> None:
        """The thread that held the lock at the fork does not exist in the child."""
        self._lock = threading.Lock()


def _after_fork() -> None:
    for one in list(_all):
        one._unlock_in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
