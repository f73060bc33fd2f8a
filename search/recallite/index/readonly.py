"""Opening an SQLite file so that nothing is created, locked or changed: not a byte, beside the file either.

SQLite keeps one view of a file's shared memory per process. A reader that opens it read-only, as all here do,
would take a writer of the same process with it. So a process that is about to write says so with
`expect_writer`: readers open now are closed, and later ones share the writer's view.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote
from weakref import WeakSet

import apsw

from recallite.errors import IndexUnusableError

BUSY_TIMEOUT_MS = 5000

_registry = threading.Lock()
_written_here: set[str] = set()
_open: WeakSet[ReadOnlyDatabase] = WeakSet()
_inherited: list[object] = []
"""Connections that a fork brought along: never used here, and never closed, which would disturb the parent."""


class ReaderClosedError(Exception):
    """This process began to write the file: open it again."""


class ReadOnlyDatabase:
    """A read-only connection of one thread. Opens without a write-ahead log, with one, or on a read-only disk."""

    def __init__(self, path: Path) -> None:
        """Raises apsw.Error, and IndexUnusableError for a log that this process may not read."""
        self.path = path
        self.immutable = False
        self._lock = threading.RLock()
        self._identity: tuple[int, ...] | None = None
        self._pid = os.getpid()
        with _registry:
            shared = str(path) in _written_here
            self._identity = _identity(path)
            self.connection = self._connect_any(shared)
            if self.immutable:
                self._identity = _identity(path, content=True)
            self.closed = False
            _open.add(self)

    def _connect_any(self, shared: bool) -> apsw.Connection:
        try:
            if shared or _beside(self.path, "-wal").exists():  # without it, SQLite would make one
                return self._connect("mode=ro" if shared else "mode=ro&readonly_shm=1")
        except (apsw.ReadOnlyError, apsw.CantOpenError, apsw.BusyError) as error:
            # The files beside the database are gone and cannot be made here. With nothing waiting in a
            # write-ahead log the database file alone is the whole truth.
            if log_size(self.path) > 0:
                raise IndexUnusableError(
                    f"{self.path} has a write-ahead log that cannot be read here ({error}): "
                    "give this process read access to the -wal and -shm files"
                ) from error
        self.immutable = True
        return self._connect("immutable=1")

    def _connect(self, parameters: str) -> apsw.Connection:
        uri = f"file:{quote(os.fsencode(self.path))}?{parameters}"
        connection = apsw.Connection(uri, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
        try:
            connection.set_busy_timeout(BUSY_TIMEOUT_MS)
            connection.execute("PRAGMA temp_store=MEMORY; PRAGMA cache_size=-65536")
            connection.execute("SELECT count(*) FROM sqlite_master").fetchall()
        except BaseException:
            connection.close()
            raise
        return connection

    @contextmanager
    def reading(self) -> Iterator[apsw.Connection]:
        """One consistent view of the file for as long as the block lasts. Raises ReaderClosedError."""
        with self._lock:
            if self.closed:
                raise ReaderClosedError
            with self.connection:
                yield self.connection

    def is_current(self) -> bool:
        """Whether the path still names the file that is open, in the way it was opened."""
        if self.closed or self._pid != os.getpid():
            return False
        if self.immutable and _beside(self.path, "-wal").exists():
            return False  # a writer has come
        return _identity(self.path, content=self.immutable) == self._identity

    def close(self) -> None:
        """Wait for a read under way, then close. A connection from before a fork is left alone."""
        if self._pid != os.getpid():
            _inherited.append(self.connection)
            self.closed = True
            return
        with self._lock:
            if not self.closed:
                self.closed = True
                self.connection.close()


def expect_writer(path: Path) -> None:
    """This process is about to open the file for writing; returns when no reader stands in the way."""
    with _registry:
        if str(path) in _written_here:
            return
        _written_here.add(str(path))
        for reader in list(_open):
            if reader.path == path:
                reader.close()


def log_size(path: Path) -> int:
    """Bytes in the write-ahead log beside a database; 0 without one."""
    try:
        return _beside(path, "-wal").stat().st_size
    except OSError:
        return 0


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _identity(path: Path, *, content: bool = False) -> tuple[int, ...] | None:
    """Which file stands there; with `content` also its state, for a connection that SQLite tells no changes."""
    try:
        info = path.stat()
    except OSError:
        return None
    return (info.st_dev, info.st_ino, *((info.st_size, info.st_mtime_ns) if content else ()))


def _forget_registry_lock() -> None:
    """A fork may have happened while another thread held the lock."""
    global _registry
    _registry = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_registry_lock)
