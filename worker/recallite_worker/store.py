"""The index file as its one writer sees it: opening, the fence, short transactions, damage."""

from __future__ import annotations

import ctypes
import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import apsw

from recallite.errors import FencedError, IndexMissingError
from recallite.filenames import as_text
from recallite.index.extension import VectorExtension
from recallite.index.readonly import BUSY_TIMEOUT_MS, expect_writer
from recallite.index.rows import fetch
from recallite.index.schema import APPLICATION_ID, MIGRATIONS, PAGE_SIZE, SCHEMA_VERSION, TABLES, check_header

logger = logging.getLogger(__name__)

TRANSACTION_SECONDS = 0.2
"""A transaction is committed at the next good moment after this time; none may reach half a second."""
JOURNAL_SIZE_LIMIT = 64 * 1024 * 1024
CHECK_INTERVAL_SECONDS = 24 * 3600.0
QUICK_CHECK_BYTES = 16 * 1024 * 1024
"""A file up to this size is checked for damage at every opening, a larger one once a day or after a crash."""


class IndexStore:
    """A writable index. Every transaction begins by checking that no later writer has taken over."""

    def __init__(self, connection: apsw.Connection, path: Path, epoch: int, vec_reason: str | None) -> None:
        self.connection = connection
        self.path = path
        self.epoch = epoch
        self.vec_reason = vec_reason
        """Why vec0 cannot be used; None when it can."""
        self.is_replaced = False
        """Whether a damaged index was moved aside and this one begun in its place: all has to be indexed."""
        self._began: float | None = None

    @contextmanager
    def transaction(self) -> Iterator[apsw.Connection]:
        """Commits what is written inside, or nothing. `pause()` commits in between when it takes long.

        Raises FencedError when a later writer has taken over.
        """
        self._begin()
        try:
            yield self.connection
        except BaseException:
            self._rollback()
            raise
        self._commit()

    def pause(self) -> None:
        """A moment inside a transaction at which what was written so far may be committed."""
        if self._began is not None and time.monotonic() - self._began > TRANSACTION_SECONDS:
            self._commit()
            self._begin()

    def _begin(self) -> None:
        self.connection.execute("BEGIN IMMEDIATE")
        self._began = time.monotonic()
        rows = fetch(self.connection, "SELECT value FROM meta WHERE key = 'epoch'")
        seen = int(rows[0][0]) if rows else 0
        if seen > self.epoch:
            self._rollback()
            raise FencedError(f"{self.path}: a later writer (epoch {seen}) has taken over from {self.epoch}")
        if seen < self.epoch:
            set_meta(self.connection, "epoch", self.epoch)

    def _commit(self) -> None:
        self.connection.execute("COMMIT")
        self._began = None

    def _rollback(self) -> None:
        self._began = None
        if self.connection.in_transaction:
            self.connection.execute("ROLLBACK")

    def close(self) -> None:
        """Empties the write-ahead log if no reader needs it, and leaves its files for read-only readers."""
        try:
            with self.transaction() as connection:
                set_meta(connection, "open", None)
            self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        except (FencedError, apsw.BusyError, apsw.LockedError):
            pass
        finally:
            self.connection.close()


def seen_epoch(path: Path) -> int:
    """The greatest epoch that wrote this index; 0 for one that is not there. Used to take a higher lease."""
    try:
        check_header(path)
    except IndexMissingError:
        return 0
    expect_writer(path)
    connection = apsw.Connection(as_text(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        connection.set_busy_timeout(BUSY_TIMEOUT_MS)
        rows = fetch(connection, "SELECT value FROM meta WHERE key = 'epoch'")
        return int(rows[0][0]) if rows else 0
    except (apsw.SQLError, apsw.CorruptError, apsw.NotADBError):
        return 0
    finally:
        connection.close()


def open_store(path: Path, *, epoch: int, extension: VectorExtension) -> IndexStore:
    """Open the index for writing and make it if it is not there, 0600 in a directory of 0700.

    A damaged file is moved aside (`<name>.damaged-<time>`) and a new one begun. Raises ForeignIndexError,
    IndexVersionError, FencedError.
    """
    with suppress(IndexMissingError):
        check_header(path)
    try:
        return _open(path, epoch, extension)
    except (apsw.CorruptError, apsw.NotADBError) as error:
        quarantine(path, error)
        store = _open(path, epoch, extension)
        store.is_replaced = True
        return store


def _open(path: Path, epoch: int, extension: VectorExtension) -> IndexStore:
    make_private(path)
    expect_writer(path)
    connection = apsw.Connection(as_text(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        connection.set_busy_timeout(BUSY_TIMEOUT_MS)
        _prepare(connection)
        store = IndexStore(connection, path, epoch, extension.load(connection))
        _check(store)
    except BaseException:
        connection.close()
        raise
    return store


def _prepare(connection: apsw.Connection) -> None:
    """Settings and tables. The application id is written first: a file with any content of ours carries it."""
    application = connection.execute("PRAGMA application_id").fetchall()[0][0]
    if application != APPLICATION_ID:
        connection.execute(f"PRAGMA page_size={PAGE_SIZE}; PRAGMA application_id={APPLICATION_ID}")
    connection.execute(
        f"PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA journal_size_limit={JOURNAL_SIZE_LIMIT}; "
        "PRAGMA temp_store=MEMORY; PRAGMA cache_size=-65536; PRAGMA secure_delete=ON"
    ).fetchall()  # without it nothing behind the first statement that answers is run
    keep_log_files(connection)
    if _version(connection) < SCHEMA_VERSION:
        connection.execute("BEGIN IMMEDIATE")
        version = _version(connection)  # another writer may have been faster
        steps = TABLES if version == 0 else "".join(MIGRATIONS[v] for v in range(version, SCHEMA_VERSION))
        connection.execute(f"{steps} PRAGMA user_version={SCHEMA_VERSION};")
        connection.execute("COMMIT")


def _version(connection: apsw.Connection) -> int:
    return int(fetch(connection, "PRAGMA user_version")[0][0])


def keep_log_files(connection: apsw.Connection) -> None:
    """Leave -wal and -shm when the last connection closes: a reader that may create nothing needs them."""
    keep = ctypes.c_int(1)
    connection.file_control("main", apsw.SQLITE_FCNTL_PERSIST_WAL, ctypes.addressof(keep))


def _check(store: IndexStore) -> None:
    """Look for damage when the last writer did not close, when the file is small, and once a day."""
    connection = store.connection
    now = time.time()
    crashed = get_meta(connection, "open") is not None
    checked = float(str(get_meta(connection, "checked") or 0))
    small = store.path.stat().st_size <= QUICK_CHECK_BYTES
    due = crashed or small or now - checked > CHECK_INTERVAL_SECONDS
    if due:
        verdict = connection.execute("PRAGMA quick_check(1)").fetchall()
        if verdict != [("ok",)]:
            raise apsw.CorruptError(str(verdict[0][0]))
    with store.transaction():
        set_meta(connection, "open", os.getpid())
        if due:
            set_meta(connection, "checked", now)


def quarantine(path: Path, error: Exception) -> Path:
    """Move a damaged index and its log aside, so that a new one can be built from the notes."""
    aside = path.with_name(f"{path.name}.damaged-{time.strftime('%Y%m%dT%H%M%S')}-{os.getpid()}")
    move_database(path, aside)
    logger.warning("%s is damaged (%s): moved to %s and made anew from the notes", path, error, aside)
    return aside


def move_database(path: Path, target: Path) -> None:
    """Rename a database with its log files. The log goes first: a new file must never meet an old log."""
    for suffix in ("-wal", "-shm", "-journal", ""):
        beside = path.with_name(path.name + suffix)
        if beside.exists():
            beside.rename(target.with_name(target.name + suffix))


def make_private(path: Path) -> None:
    """Make an empty file of mode 0600 in a directory of mode 0700; the log files take the mode over."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    os.close(descriptor)


def get_meta(connection: apsw.Connection, key: str) -> object:
    """A value of `meta`; None when it is not there."""
    rows = fetch(connection, "SELECT value FROM meta WHERE key = ?", (key,))
    return rows[0][0] if rows else None


def set_meta(connection: apsw.Connection, key: str, value: str | int | float | None) -> None:
    """Write a value of `meta`; None removes it."""
    if value is None:
        connection.execute("DELETE FROM meta WHERE key = ?", (key,))
    else:
        connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))
