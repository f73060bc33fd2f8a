"""Exclusive locks on open files, between threads and processes; the system takes them back when a process ends."""

from __future__ import annotations

import errno
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

WAIT_SECONDS = 30.0
_PAUSE_SECONDS = 0.01

if sys.platform == "win32":
    import msvcrt

    _FAR = 1 << 40
    """Windows locks bytes, and others could not read those: one far behind the end."""

    def try_lock(descriptor: int) -> None:
        """Take the lock of an open file. Raises PermissionError when another has it."""
        os.lseek(descriptor, _FAR, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        os.lseek(descriptor, 0, os.SEEK_SET)

    def _release(descriptor: int) -> None:
        os.lseek(descriptor, _FAR, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)
else:
    import fcntl

    def try_lock(descriptor: int) -> None:
        """Take the lock of an open file. Raises BlockingIOError when another has it."""
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _release(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)


@contextmanager
def locked(descriptor: int, *, wait_seconds: float = WAIT_SECONDS) -> Iterator[None]:
    """Hold the lock of an open file.

    Raises TimeoutError when another has it for that long, and OSError where the file system has no locks.
    """
    deadline = time.monotonic() + wait_seconds
    while True:
        try:
            try_lock(descriptor)
            break
        except (BlockingIOError, PermissionError) as error:
            if time.monotonic() > deadline:
                told = f"another process has had it locked for {wait_seconds:g} s"
                raise TimeoutError(errno.ETIMEDOUT, told) from error
            time.sleep(_PAUSE_SECONDS)
    try:
        yield
    finally:
        _release(descriptor)
