"""Opening an SQLite file, for reading so that nothing is created, locked or changed: not a byte, beside it either.

SQLite keeps one view of a file's shared memory per process. A reader that opens it read-only, as all here do,
would take a writer of the same process with it. So every writer is opened with `connect_writer`: readers open now
are closed, and later ones share the writer's view.
"""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote
from weakref import WeakSet

import apsw

from recallite.errors import IndexDamagedError, IndexUnusableError
from recallite.filenames import as_text
from recallite.index.files import beside, has_garbled_log, is_there, log_size

BUSY_TIMEOUT_MS = 5000
WRITER_TIMEOUT_MS = 10_000

_registry = threading.Lock()
_written_here: set[str] = set()
_open: WeakSet[ReadOnlyDatabase] = WeakSet()
_inherited: list[object] = []
"""Connections that were in use when a fork brought them along: neither used nor closed, which would wait for ever."""


class ReaderClosedError(Exception):
    """This process began to write the file: open it again."""


class ReadOnlyDatabase:
    """A read-only connection of one thread. Opens without a write-ahead log, with one, or on a read-only disk."""

    def __init__(self, path: Path) -> None:
        """Raises apsw.Error; IndexUnusableError for a log that cannot be read here, IndexDamagedError for garbage."""
        self.path = path
        self.immutable = False
        self._lock = threading.RLock()
        self._identity: tuple[int, ...] | None = None
        self._pid = os.getpid()
        with _registry:
            _close_inherited()
            shared = str(path) in _written_here
            self._identity = _identity(path)
            self.connection = self._connect_any(shared)
            if self.immutable:
                self._identity = _identity(path, content=True)
            self.closed = False
            _open.add(self)

    def _connect_any(self, shared: bool) -> apsw.Connection:
        try:
            if shared:
                return self._connect("mode=ro")
            if is_there(beside(self.path, "-wal")):  # without it, SQLite would make one
                if has_garbled_log(self.path):
                    raise IndexDamagedError(
                        f"the write-ahead log of {self.path} is damaged: run `recallite index`, which begins it anew "
                        "and indexes again what it held"
                    )
                return self._connect("mode=ro&readonly_shm=1")
        except (apsw.ReadOnlyError, apsw.CantOpenError, apsw.BusyError) as error:
            # The files beside the database are gone and cannot be made here. With nothing waiting in a
            # write-ahead log the database file alone is the whole truth.
            if log_size(self.path) > 0:
                raise IndexUnusableError(self._unread_log(error)) from error
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

    def _unread_log(self, error: apsw.Error) -> str:
        if isinstance(error, apsw.BusyError):
            return f"{self.path} is locked by another process ({error}): ask again"
        if not is_there(beside(self.path, "-shm")):
            return (
                f"{self.path} has a write-ahead log and no -shm file beside it, which only a writer can make: "
                "run `recallite index` where the folder may be written"
            )
        return (
            f"{self.path} has a write-ahead log that this process may not read ({error}): "
            "give it read permission on the -wal and -shm files"
        )

    @contextmanager
    def reading(self) -> Iterator[apsw.Connection]:
        """One consistent view of the file for as long as the block lasts. Raises ReaderClosedError."""
        with self._lock:
            if self.closed:
                raise ReaderClosedError
            if not self.connection.get_autocommit():  # a block inside a block
                yield self.connection
                return
            self.connection.execute("BEGIN")
            try:
                yield self.connection
            finally:
                if not self.connection.get_autocommit():  # SQLite itself ends it after some errors
                    self.connection.execute("COMMIT")

    def is_current(self) -> bool:
        """Whether the path still names the file that is open, in the way it was opened."""
        if self.closed or self._pid != os.getpid():
            return False
        if self.immutable and is_there(beside(self.path, "-wal")):
            return False  # a writer has come
        return _identity(self.path, content=self.immutable) == self._identity

    def close(self) -> None:
        """Wait for a read under way, then close."""
        if not self._lock.acquire(blocking=self._pid == os.getpid()):
            self.closed = True
            _inherited.append(self.connection)
            return
        try:
            if not self.closed:
                self.closed = True
                self.connection.close()
        finally:
            self._lock.release()


def _close_inherited() -> None:
    """In a forked child: SQLite takes its copies of the parent's locks for locks of this process, which has none."""
    for reader in list(_open):
        if reader._pid != os.getpid():
            reader.close()


def expect_writer(path: Path) -> None:
    """This process is about to open the file for writing; returns when no reader stands in the way."""
    with _registry:
        if str(path) in _written_here:
            return
        _written_here.add(str(path))
        for reader in list(_open):
            if reader.path == path:
                reader.close()


def connect_writer(path: Path) -> apsw.Connection:
    """Open a file for writing; made if it is not there, 0600 in a directory of 0700. Its log files get that mode, too.

    Raises apsw.Error, and OSError for what this process may not write.
    """
    expect_writer(path)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _registry:  # between making and closing the new file no thread may open it: its locks would be lost
        _make_private(path)
        connection = apsw.Connection(as_text(path), flags=apsw.SQLITE_OPEN_READWRITE)
    if connection.readonly("main"):
        connection.close()
        raise PermissionError(errno.EACCES, "this process may not write it", str(path))
    connection.set_busy_timeout(WRITER_TIMEOUT_MS)
    return connection


def _make_private(path: Path) -> None:
    """An empty file of mode 0600, unless there is a file."""
    with suppress(FileExistsError):
        os.close(os.open(os.path.realpath(path), os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))


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
