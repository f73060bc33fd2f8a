"""The queue of the embedded mode: one small SQLite file for all agents of a host."""

from __future__ import annotations

import logging
import os
import secrets
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from recallite.errors import FencedError, LeaseHeldError, QueueUnreachableError
from recallite.filenames import as_text
from recallite.index.readonly import ReaderClosedError, ReadOnlyDatabase, expect_writer
from recallite.index.rows import Parameters, Row, fetch
from recallite.work.holder import Holder
from recallite.work.queue import LANES, SLOT_SECONDS, Backlog, Debt, Errand, Lane, Lease, Mark, Pause

logger = logging.getLogger(__name__)

LEASE_SECONDS = 30.0
"""A lease lives this long without renewal; the lease of a process that died on this host ends at once."""

_abandoned: list[apsw.Connection] = []
"""Connections that a fork brought along: never used, and never closed, which would touch the parent's file."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS agents(
    agent TEXT PRIMARY KEY, epoch INTEGER NOT NULL DEFAULT 0, token TEXT, holder TEXT, expires REAL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS dirty(
    agent TEXT NOT NULL, path TEXT NOT NULL, generation INTEGER NOT NULL, lane INTEGER NOT NULL,
    PRIMARY KEY (agent, path)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS dirty_in_order ON dirty(agent, lane, generation);
CREATE TABLE IF NOT EXISTS counter(id INTEGER PRIMARY KEY CHECK (id = 1), value INTEGER NOT NULL);
INSERT OR IGNORE INTO counter VALUES (1, 0);
CREATE TABLE IF NOT EXISTS owed(
    agent TEXT NOT NULL, debt TEXT NOT NULL, due REAL NOT NULL, PRIMARY KEY (agent, debt)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS slots(
    key TEXT NOT NULL, token TEXT NOT NULL, until REAL NOT NULL, PRIMARY KEY (key, token)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS pauses(key TEXT PRIMARY KEY, until REAL NOT NULL, reason TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS spending(
    key TEXT NOT NULL, day TEXT NOT NULL, tokens INTEGER NOT NULL, PRIMARY KEY (key, day)) WITHOUT ROWID;
"""


def queue_path(state_dir: Path) -> Path:
    """Where the embedded queue of a state directory lies."""
    return state_dir / "recallite" / "queue.sqlite"


class SqliteQueue:
    """A WorkQueue in a file. May be shared by threads, and by processes of one host."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        """`read_only` is for looking at lengths and holders: the file must exist and is not changed."""
        self._path = path
        self._read_only = read_only
        self._lock = threading.RLock()
        self._pid = 0
        self._connection: apsw.Connection | None = None
        self._database: ReadOnlyDatabase | None = None

    def mark(self, agent: str, paths: Iterable[str], *, lane: Lane = "live") -> None:
        rank = LANES.index(lane)
        with self._transaction() as connection:
            connection.execute("UPDATE counter SET value = value + 1")
            generation = fetch(connection, "SELECT value FROM counter")[0][0]
            connection.executemany(
                "INSERT INTO dirty VALUES (?, ?, ?, ?) ON CONFLICT (agent, path) DO UPDATE "
                "SET generation = excluded.generation, lane = min(lane, excluded.lane)",
                [(agent, path, generation, rank) for path in paths],
            )

    def backlog(self) -> list[Backlog]:
        rows = self._read(
            "SELECT agent, sum(lane = 0), sum(lane = 1) FROM dirty GROUP BY agent "
            "ORDER BY min((lane << 50) + generation)"
        )
        return [Backlog(str(agent), int(live), int(backfill)) for agent, live, backfill in rows]

    def lease(self, agent: str, *, at_least: int = 0) -> Lease:
        now = time.time()
        with self._transaction() as connection:
            rows = fetch(connection, "SELECT epoch, token, holder, expires FROM agents WHERE agent = ?", (agent,))
            epoch, token, held_by, expires = rows[0] if rows else (0, None, None, None)
            if token is not None and expires > now and Holder.parse(held_by).may_be_alive():
                raise LeaseHeldError(f"agent {agent!r} is being indexed by {Holder.parse(held_by)}")
            lease = Lease(agent, secrets.token_hex(8), max(epoch, at_least) + 1)
            connection.execute(
                "INSERT OR REPLACE INTO agents VALUES (?, ?, ?, ?, ?)",
                (agent, lease.epoch, lease.token, str(Holder.current()), now + LEASE_SECONDS),
            )
        return lease

    def renew(self, lease: Lease) -> None:
        with self._transaction() as connection:
            connection.execute(
                "UPDATE agents SET expires = ? WHERE agent = ? AND token = ?",
                (time.time() + LEASE_SECONDS, lease.agent, lease.token),
            )
            if connection.changes() == 0:
                raise FencedError(f"another writer has taken over agent {lease.agent!r}")

    def release(self, lease: Lease) -> None:
        with self._transaction() as connection:
            connection.execute(
                "UPDATE agents SET token = NULL, holder = NULL, expires = NULL WHERE agent = ? AND token = ?",
                (lease.agent, lease.token),
            )

    def claim(self, agent: str, limit: int, *, lane: Lane | None = None) -> list[Mark]:
        lanes = (0, 1) if lane is None else (LANES.index(lane),) * 2
        rows = self._read(
            "SELECT path, generation, lane FROM dirty WHERE agent = ? AND lane IN (?, ?) "
            "ORDER BY lane, generation, path LIMIT ?",
            (agent, *lanes, limit),
        )
        return [Mark(str(path), int(generation), LANES[rank]) for path, generation, rank in rows]

    def done(self, agent: str, marks: Iterable[Mark]) -> None:
        with self._transaction() as connection:
            connection.executemany(
                "DELETE FROM dirty WHERE agent = ? AND path = ? AND generation = ?",
                [(agent, mark.path, mark.generation) for mark in marks],
            )

    def length(self, agent: str | None = None, *, lane: Lane | None = None) -> int:
        lanes = (0, 1) if lane is None else (LANES.index(lane),) * 2
        if agent is None:
            rows = self._read("SELECT count(*) FROM dirty WHERE lane IN (?, ?)", lanes)
        else:
            rows = self._read("SELECT count(*) FROM dirty WHERE agent = ? AND lane IN (?, ?)", (agent, *lanes))
        return int(rows[0][0])

    def owe(self, agent: str, debt: Debt = "vectors", *, seconds: float = 0.0) -> None:
        with self._transaction() as connection:
            connection.execute("INSERT OR REPLACE INTO owed VALUES (?, ?, ?)", (agent, debt, time.time() + seconds))

    def settle(self, agent: str, debt: Debt = "vectors") -> None:
        with self._transaction() as connection:
            connection.execute("DELETE FROM owed WHERE agent = ? AND debt = ?", (agent, debt))

    def owed(self, debt: Debt = "vectors") -> list[str]:
        sql = "SELECT agent FROM owed WHERE debt = ? AND due <= ? ORDER BY due, agent"
        return [str(agent) for (agent,) in self._read(sql, (debt, time.time()))]

    def forget(self, agent: str) -> None:
        with self._transaction() as connection:
            connection.execute("DELETE FROM dirty WHERE agent = ?", (agent,))
            connection.execute("DELETE FROM owed WHERE agent = ?", (agent,))

    def schedule(self, agent: str, errand: Errand) -> bool:
        """Always true: the embedded service is woken, no message is sent."""
        return True

    def scheduled(self, agent: str, errand: Errand) -> None:
        """Nothing to note: there are no messages."""

    def started(self, agent: str, errand: Errand) -> None:
        """Nothing to note: there are no messages."""

    def is_new(self) -> bool:
        """Never: a file that is lost takes the whole process's view with it, and each start scans."""
        return False

    def known(self) -> None:
        """Nothing to note."""

    def holder(self, agent: str) -> str | None:
        rows = self._read(
            "SELECT holder FROM agents WHERE agent = ? AND token IS NOT NULL AND expires > ?",
            (agent, time.time()),
        )
        if not rows or not Holder.parse(rows[0][0]).may_be_alive():
            return None
        return str(rows[0][0])

    def pause(self, key: str, seconds: float, reason: str) -> None:
        with self._transaction() as connection:
            connection.execute(
                "INSERT INTO pauses VALUES (?, ?, ?) ON CONFLICT (key) DO UPDATE "
                "SET until = excluded.until, reason = excluded.reason WHERE excluded.until > until",
                (key, time.time() + seconds, reason),
            )

    def paused(self, key: str) -> Pause | None:
        rows = self._read("SELECT until, reason FROM pauses WHERE key = ? AND until > ?", (key, time.time()))
        return Pause(float(rows[0][0]), str(rows[0][1])) if rows else None

    def spend(self, key: str, day: str, tokens: int, *, limit: int) -> bool:
        assert tokens >= 0, tokens
        with self._transaction() as connection:
            connection.execute("INSERT OR IGNORE INTO spending VALUES (?, ?, 0)", (key, day))
            connection.execute(
                "UPDATE spending SET tokens = tokens + ? WHERE key = ? AND day = ? AND tokens + ? <= ?",
                (tokens, key, day, tokens, limit),
            )
            return connection.changes() > 0

    def refund(self, key: str, day: str, tokens: int) -> None:
        assert tokens >= 0, tokens
        with self._transaction() as connection:
            connection.execute(
                "UPDATE spending SET tokens = max(0, tokens - ?) WHERE key = ? AND day = ?", (tokens, key, day)
            )

    def spent(self, key: str, day: str) -> int:
        rows = self._read("SELECT tokens FROM spending WHERE key = ? AND day = ?", (key, day))
        return int(rows[0][0]) if rows else 0

    def take_slot(self, key: str, token: str, *, limit: int) -> bool:
        now = time.time()
        with self._transaction() as connection:
            connection.execute("DELETE FROM slots WHERE until <= ?", (now,))
            rows = fetch(connection, "SELECT token FROM slots WHERE key = ?", (key,))
            if (token,) not in rows and len(rows) >= limit:
                return False
            connection.execute("INSERT OR REPLACE INTO slots VALUES (?, ?, ?)", (key, token, now + SLOT_SECONDS))
        return True

    def keep_slot(self, key: str, token: str) -> None:
        with self._transaction() as connection:
            until = time.time() + SLOT_SECONDS
            connection.execute("INSERT OR REPLACE INTO slots VALUES (?, ?, ?)", (key, token, until))

    def free_slot(self, key: str, token: str) -> None:
        with self._transaction() as connection:
            connection.execute("DELETE FROM slots WHERE key = ? AND token = ?", (key, token))

    def slots(self, key: str) -> int:
        return int(self._read("SELECT count(*) FROM slots WHERE key = ? AND until > ?", (key, time.time()))[0][0])

    def close(self) -> None:
        with self._lock:
            if self._database is not None:
                self._database.close()
            elif self._connection is not None and self._pid == os.getpid():
                self._connection.close()
            self._connection = self._database = None

    def _read(self, sql: str, parameters: Parameters = ()) -> list[Row]:
        with self._lock, self._our_errors():
            return fetch(self._open(), sql, parameters)

    @contextmanager
    def _transaction(self) -> Iterator[apsw.Connection]:
        with self._lock, self._our_errors():
            connection = self._open()
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    @contextmanager
    def _our_errors(self) -> Iterator[None]:
        try:
            yield
        except apsw.Error as error:
            what = "the disk is full" if isinstance(error, apsw.FullError) else f"{type(error).__name__}: {error}"
            raise QueueUnreachableError(f"the work queue {self._path} cannot be used ({what})") from error
        except ReaderClosedError as error:
            raise QueueUnreachableError(f"the work queue {self._path} is being opened for writing") from error

    def _open(self) -> apsw.Connection:
        if self._connection is not None and self._pid == os.getpid():
            return self._connection
        if self._connection is not None:
            _abandoned.append(self._connection)
        if self._read_only:
            self._database = ReadOnlyDatabase(self._path)
            self._connection, self._pid = self._database.connection, os.getpid()
            return self._connection
        expect_writer(self._path)
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            self._connection = self._connect()
        except (apsw.CorruptError, apsw.NotADBError):
            # Nothing in it is the truth: a scan finds again what it held.
            aside = self._path.with_name(f"{self._path.name}.damaged-{int(time.time())}")
            for suffix in ("-wal", "-shm", ""):
                beside = self._path.with_name(self._path.name + suffix)
                if beside.exists():
                    beside.rename(aside.with_name(aside.name + suffix))
            logger.warning("the work queue %s was damaged: moved to %s and begun anew", self._path, aside)
            self._connection = self._connect()
        self._pid = os.getpid()
        return self._connection

    def _connect(self) -> apsw.Connection:
        os.close(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600))
        connection = apsw.Connection(as_text(self._path), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            connection.set_busy_timeout(10_000)
            connection.execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL").fetchall()
            connection.execute(f"BEGIN IMMEDIATE; {_SCHEMA} COMMIT")
        except BaseException:
            connection.close()
            raise
        return connection
