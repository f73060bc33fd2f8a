"""Exclusive locks on open files, between threads and processes; the system takes them back when a process ends."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from recallite.errors import MemoryWriteError

WAIT_SECONDS = 30.0
_PAUSE_SECONDS = 0.01

if sys.platform == "win32":
    import msvcrt

    _FAR = 1 << 40
    """Windows locks bytes, and others could not read those: one far behind the end."""

    def _try(descriptor: int) -> None:
        os.lseek(descriptor, _FAR, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

    def _release(descriptor: int) -> None:
        os.lseek(descriptor, _FAR, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)
else:
    import fcntl

    def _try(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _release(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)


@contextmanager
def locked(descriptor: int, name: str) -> Iterator[None]:
    """Hold the lock of an open file. Raises MemoryWriteError when another holds it for 30 seconds."""
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            _try(descriptor)
            break
        except OSError as error:
            if time.monotonic() > deadline:
                raise MemoryWriteError(f"{name} has been locked by another process for {WAIT_SECONDS:g} s") from error
            time.sleep(_PAUSE_SECONDS)
    try:
        yield
    finally:
        _release(descriptor)
