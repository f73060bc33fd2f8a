"""What is known of an agent's batch jobs: beside the cache, so that it survives rebuilds and every crash.

A text goes through `waiting` (in a job, or to be put into one), `delivered` (its vector lies here until the index
takes it) or `normal` (the job did not give it: it is embedded by an ordinary request). Jobs are rows too, and every
step is committed before the next one is taken.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import apsw
import numpy as np

from recallite.embeddings.batches import BatchLimits
from recallite.embeddings.protocol import Vector
from recallite.errors import IndexUnusableError
from recallite.filenames import as_text
from recallite.index.batchfile import OPEN_STATES, JobState
from recallite.index.readonly import expect_writer
from recallite.index.rows import Parameters, Row, fetch
from recallite_worker.store import make_private, quarantine

_SCHEMA = """
CREATE TABLE IF NOT EXISTS jobs(
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, space TEXT NOT NULL, account TEXT NOT NULL,
    dims INTEGER, state TEXT NOT NULL, items INTEGER NOT NULL, tokens INTEGER NOT NULL,
    delivered INTEGER NOT NULL DEFAULT 0,
    file TEXT, provider_id TEXT, claim TEXT, claimed REAL, created REAL NOT NULL, submitted REAL, finished REAL,
    next_look REAL NOT NULL DEFAULT 0, looks INTEGER NOT NULL DEFAULT 0, attempts INTEGER NOT NULL DEFAULT 0,
    reason TEXT);
CREATE INDEX IF NOT EXISTS jobs_by_state ON jobs(state);
CREATE TABLE IF NOT EXISTS items(
    space TEXT NOT NULL, hash BLOB NOT NULL, job INTEGER, state TEXT NOT NULL, text TEXT, tokens INTEGER NOT NULL,
    vector BLOB, PRIMARY KEY (space, hash)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS items_by_job ON items(job, state);
CREATE TABLE IF NOT EXISTS trouble(
    space TEXT PRIMARY KEY, failures INTEGER NOT NULL, off_until REAL NOT NULL, reason TEXT NOT NULL) WITHOUT ROWID;
"""
_PART = 500
FAILURES_UNTIL_OFF = 2
OFF_SECONDS = 6 * 3600.0


@dataclass(frozen=True, slots=True)
class Job:
    """A row of `jobs`."""

    id: int
    name: str
    """Ours, told to the provider when the job is made: by it a job is found whose id was lost."""
    space: str
    account: str
    dims: int | None
    """The length that its vectors must have; None where that is not known yet."""
    state: JobState
    items: int
    tokens: int
    file: str | None
    provider_id: str | None
    claimed: float | None
    submitted_at: float | None
    next_look: float
    looks: int
    attempts: int


_COLUMNS = (
    "id, name, space, account, dims, state, items, tokens, file, provider_id, claimed, submitted, next_look, looks, "
    "attempts"
)


class BatchStore:
    """For one agent. Several processes may use the file at once; what they do is decided row by row."""

    def __init__(self, path: Path) -> None:
        """A damaged file is moved aside and a new one begun: its jobs cannot be known any more."""
        try:
            self._connection = _open(path)
        except (apsw.CorruptError, apsw.NotADBError) as error:
            quarantine(path, error)
            self._connection = _open(path)

    def states(self, space: str, hashes: Sequence[bytes]) -> dict[bytes, str]:
        """The state of those of the texts that are known here."""
        return {bytes(h): str(state) for h, state in self._by_hash("hash, state", space, hashes)}

    def delivered(self, space: str, hashes: Sequence[bytes]) -> dict[bytes, Vector]:
        """Vectors that lie here for these texts."""
        return _vectors(self._by_hash("hash, vector", space, hashes, more="AND state = 'delivered'"))

    def forget(self, space: str, hashes: Sequence[bytes]) -> None:
        """The index has what it needs of these texts."""
        with self._transaction() as connection:
            connection.executemany(
                "DELETE FROM items WHERE space = ? AND hash = ? AND state != 'waiting'", [(space, h) for h in hashes]
            )

    def refuse(self, space: str, hashes: Sequence[bytes]) -> None:
        """What a job gave for these texts cannot be used: they are embedded without a batch."""
        with self._transaction() as connection:
            connection.executemany(
                "UPDATE items SET state = 'normal', vector = NULL, job = NULL "
                "WHERE space = ? AND hash = ? AND state = 'delivered'",
                [(space, h) for h in hashes],
            )

    def leftovers(self, space: str) -> dict[bytes, Vector]:
        """Vectors that nothing in the index waits for any more, as long as no job of the space is open."""
        if any(job.space == space for job in self.open_jobs()):
            return {}
        return _vectors(self._read("SELECT hash, vector FROM items WHERE space = ? AND state = 'delivered'", (space,)))

    def plan(self, space: str, texts: Mapping[bytes, tuple[str, int]]) -> None:
        """Put texts (with their tokens) on the list of those that a job shall take."""
        with self._transaction() as connection:
            connection.executemany(
                "INSERT OR IGNORE INTO items(space, hash, state, text, tokens) VALUES (?, ?, 'waiting', ?, ?)",
                [(space, hash_, text, tokens) for hash_, (text, tokens) in texts.items()],
            )

    def cut(
        self, space: str, account: str, limits: BatchLimits, *, dims: int | None = None, max_tokens: int | None = None
    ) -> int:
        """Make jobs of all texts that are in none; how many jobs were made. A text above `max_tokens` is alone."""
        made = 0
        while True:
            with self._transaction() as connection:
                chosen = self._next_lot(connection, space, limits, max_tokens)
                if not chosen:
                    return made
                connection.execute(
                    "INSERT INTO jobs(name, space, account, dims, state, items, tokens, created) "
                    "VALUES (?, ?, ?, ?, 'planned', ?, ?, ?)",
                    (f"recallite-{secrets.token_hex(12)}", space, account, dims, len(chosen), sum(t for _, t in chosen),
                     time.time()),
                )  # fmt: skip
                job = connection.last_insert_rowid()
                connection.executemany(
                    "UPDATE items SET job = ? WHERE space = ? AND hash = ?", [(job, space, h) for h, _ in chosen]
                )
            made += 1

    def _next_lot(
        self, connection: apsw.Connection, space: str, limits: BatchLimits, max_tokens: int | None
    ) -> list[tuple[bytes, int]]:
        rows = fetch(
            connection,
            "SELECT hash, tokens, length(CAST(text AS BLOB)) FROM items "
            "WHERE job IS NULL AND state = 'waiting' AND space = ? LIMIT ?",
            (space, limits.max_items),
        )
        chosen: list[tuple[bytes, int]] = []
        size = cost = 0
        for hash_, tokens, length in rows:
            size += 2 * length + _LINE_BYTES  # JSON may write a character as two
            cost += int(tokens)
            if chosen and (size > limits.max_bytes or (max_tokens is not None and cost > max_tokens)):
                break
            chosen.append((bytes(hash_), int(tokens)))
        return chosen

    def open_jobs(self) -> list[Job]:
        """Jobs that are not over, oldest first."""
        marks = ",".join(f"'{state}'" for state in OPEN_STATES)
        return [Job(*row) for row in self._read(f"SELECT {_COLUMNS} FROM jobs WHERE state IN ({marks}) ORDER BY id")]

    def job(self, id_: int) -> Job | None:
        """A job as it is now; None when it is over."""
        return next((job for job in self.open_jobs() if job.id == id_), None)

    def texts(self, job: Job) -> Iterator[tuple[bytes, str]]:
        """What a job shall embed."""
        for hash_, text in self._read("SELECT hash, text FROM items WHERE job = ? AND state = 'waiting'", (job.id,)):
            yield bytes(hash_), str(text)

    def uploaded(self, job: Job, file: str) -> None:
        self._write("UPDATE jobs SET state = 'uploaded', file = ? WHERE id = ? AND state = 'planned'", (file, job.id))

    def claim(self, job: Job) -> str | None:
        """The right to submit a job now; None when another has it. From here on a crash must look before it submits."""
        claim = secrets.token_hex(8)
        changed = self._write(
            "UPDATE jobs SET state = 'creating', claim = ?, claimed = ? WHERE id = ? AND state = 'uploaded'",
            (claim, time.time(), job.id),
        )
        return claim if changed else None

    def unclaim(self, job: Job, claim: str) -> None:
        """The provider has certainly not taken it."""
        self._write(
            "UPDATE jobs SET state = 'uploaded', claim = NULL WHERE id = ? AND claim = ? AND state = 'creating'",
            (job.id, claim),
        )

    def reopen(self, job: Job) -> None:
        """A submission whose end nobody saw was looked for and is not there."""
        self._write(
            "UPDATE jobs SET state = 'uploaded', claim = NULL WHERE id = ? AND state = 'creating' AND claimed = ?",
            (job.id, job.claimed),
        )

    def submitted(self, job: Job, provider_id: str, *, claim: str | None) -> bool:
        """Note the provider's id; False when somebody else has noted one meanwhile."""
        mine = "AND claim = ?" if claim is not None else ""
        parameters: list[str | int | float] = [provider_id, time.time(), job.id]
        changed = self._write(
            "UPDATE jobs SET state = 'running', provider_id = ?, submitted = ?, attempts = 0, next_look = 0 "
            f"WHERE id = ? AND state = 'creating' {mine}",
            (*parameters, *([claim] if claim is not None else [])),
        )
        if changed:  # the provider has the texts now
            self._write("UPDATE items SET text = NULL WHERE job = ? AND state = 'waiting'", (job.id,))
        return changed

    def look_later(self, job: Job, seconds: float, *, reason: str | None = None, failed: bool = False) -> None:
        self._write(
            "UPDATE jobs SET next_look = ?, looks = looks + 1, reason = ?, "
            "attempts = CASE WHEN ? THEN attempts + 1 ELSE 0 END WHERE id = ?",
            (time.time() + seconds, reason, int(failed), job.id),
        )

    def deliver(self, job: Job, vectors: Mapping[bytes, Vector]) -> int:
        """Keep vectors of a job; those that came before, or belong to another, are passed over. How many were new."""
        count = 0
        with self._transaction() as connection:
            for hash_, vector in vectors.items():
                connection.execute(
                    "UPDATE items SET state = 'delivered', vector = ?, text = NULL "
                    "WHERE space = ? AND hash = ? AND job = ? AND state = 'waiting'",
                    (vector.astype("<f2").tobytes(), job.space, hash_, job.id),
                )
                count += connection.changes()
            connection.execute("UPDATE jobs SET delivered = delivered + ? WHERE id = ?", (count, job.id))
        return count

    def finish(self, job: Job, state: JobState, reason: str | None = None) -> int:
        """A job is over: texts that it did not give are embedded without a batch. How many those are."""
        with self._transaction() as connection:
            connection.execute(
                "UPDATE items SET state = 'normal', job = NULL, text = NULL WHERE job = ? AND state = 'waiting'",
                (job.id,),
            )
            left = connection.changes()
            connection.execute(
                "UPDATE jobs SET state = ?, reason = ?, finished = ? WHERE id = ?", (state, reason, time.time(), job.id)
            )
        return left

    def drop_unsent(self, job: Job, reason: str, *, forget: bool) -> bool:
        """End a job that was not submitted, unless it just is being. Its texts are forgotten, or go without a batch."""
        with self._transaction() as connection:
            connection.execute(
                "UPDATE jobs SET state = 'cancelled', reason = ?, finished = ? "
                "WHERE id = ? AND state IN ('planned', 'uploaded')",
                (reason, time.time(), job.id),
            )
            if connection.changes() == 0:
                return False
            change = "DELETE FROM items" if forget else "UPDATE items SET state = 'normal', job = NULL, text = NULL"
            connection.execute(f"{change} WHERE job = ? AND state = 'waiting'", (job.id,))
        return True

    def note_success(self, space: str) -> None:
        self._write("DELETE FROM trouble WHERE space = ? AND off_until = 0", (space,))

    def note_failure(self, space: str, reason: str, *, at_once: bool = False) -> None:
        """After repeated failures the batch service is left alone for some hours."""
        with self._transaction() as connection:
            rows = fetch(connection, "SELECT failures FROM trouble WHERE space = ?", (space,))
            failures = (int(rows[0][0]) if rows else 0) + 1
            is_off = at_once or failures >= FAILURES_UNTIL_OFF
            until = time.time() + OFF_SECONDS if is_off else 0.0
            connection.execute(
                "INSERT OR REPLACE INTO trouble VALUES (?, ?, ?, ?)", (space, 0 if is_off else failures, until, reason)
            )

    def off_reason(self, space: str) -> str | None:
        """Why no jobs are made for now."""
        rows = self._read("SELECT reason FROM trouble WHERE space = ? AND off_until > ?", (space, time.time()))
        return str(rows[0][0]) if rows else None

    def release_unsent(self, space: str) -> list[Job]:
        """Texts of jobs that were not submitted are embedded without a batch; the jobs, whose slots are to be freed."""
        unsent = [job for job in self.open_jobs() if job.space == space and job.state in ("planned", "uploaded")]
        dropped = [job for job in unsent if self.drop_unsent(job, "batch jobs are switched off for now", forget=False)]
        self._write(
            "UPDATE items SET state = 'normal', text = NULL WHERE space = ? AND state = 'waiting' AND job IS NULL",
            (space,),
        )
        return dropped

    def close(self) -> None:
        self._connection.close()

    def _by_hash(self, columns: str, space: str, hashes: Sequence[bytes], *, more: str = "") -> Iterator[Row]:
        for start in range(0, len(hashes), _PART):
            part = hashes[start : start + _PART]
            marks = ",".join("?" * len(part))
            sql = f"SELECT {columns} FROM items WHERE space = ? AND hash IN ({marks}) {more}"
            yield from self._read(sql, (space, *part))

    def _read(self, sql: str, parameters: Parameters = ()) -> list[Row]:
        return fetch(self._connection, sql, parameters)

    def _write(self, sql: str, parameters: Parameters) -> bool:
        with self._transaction() as connection:
            connection.execute(sql, parameters)
            return connection.changes() > 0

    @contextmanager
    def _transaction(self) -> Iterator[apsw.Connection]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield self._connection
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise


def _open(path: Path) -> apsw.Connection:
    expect_writer(path)
    make_private(path)
    connection = apsw.Connection(as_text(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        connection.set_busy_timeout(10_000)
        connection.execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL").fetchall()
        connection.execute(f"BEGIN IMMEDIATE; {_SCHEMA} COMMIT")
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def open_store(path: Path) -> Iterator[BatchStore]:
    """The jobs in a file, for as long as the block lasts. Raises IndexUnusableError when it cannot be used.

    A file in which damage is found is moved aside: what it knew is lost, and the block ends.
    """
    try:
        store = BatchStore(path)
        try:
            yield store
        finally:
            store.close()
    except (apsw.CorruptError, apsw.NotADBError) as error:
        aside = quarantine(path, error)
        raise IndexUnusableError(f"{path} was damaged and is moved to {aside}: batch jobs are begun anew") from error
    except apsw.Error as error:
        raise IndexUnusableError(f"{path} cannot be used ({type(error).__name__}: {error})") from error


_LINE_BYTES = 256
"""What a line has beyond its text."""


def _vectors(rows: Iterable[Row]) -> dict[bytes, Vector]:
    return {bytes(hash_): np.frombuffer(blob, "<f2").astype(np.float32) for hash_, blob in rows}
