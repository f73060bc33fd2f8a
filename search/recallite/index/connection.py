"""An index as its readers see it: which generation answers, and with which vectors."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import apsw

from recallite.errors import IndexMissingError, IndexUnusableError
from recallite.index.readonly import ReadOnlyDatabase
from recallite.index.rows import fetch
from recallite.index.schema import READ_PERMISSION, check_header, damaged
from recallite.types import Fallback


@dataclass(frozen=True, slots=True)
class SpaceRow:
    """A row of `spaces`: one embedding space of one generation."""

    id: int
    generation: int
    provider: str
    model: str
    variant: str
    dims: int | None
    vec0: bool
    floor: float | None
    middle: float | None
    state: str


FAILOVER = "failover"
"""The key in `meta` of what is known of a primary provider while the fallback is used: JSON, from and reason."""

TROUBLE = "provider_trouble"
"""The key in `meta` of why vectors wait for the provider: JSON, reason and count."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Which generation and space answer now."""

    generation: int
    space: SpaceRow | None
    failover: Fallback | None = None
    """Why the vectors are not those of the configured provider, where its fallback made them."""


class IndexReader:
    """A read-only connection to an index, for one thread; see `SearchConnections` for more."""

    def __init__(self, path: Path) -> None:
        """Raises IndexUnusableError and its subclasses."""
        check_header(path)
        self.path = path
        try:
            self.database = ReadOnlyDatabase(path)
            with self.reading() as connection:
                version = connection.execute("PRAGMA user_version").fetchall()[0][0]
        except apsw.Error as error:
            raise unusable(path, error) from error
        if version == 0:
            self.close()
            raise IndexMissingError(f"the index at {path} is just being made: run `recallite index`")

    @property
    def connection(self) -> apsw.Connection:
        return self.database.connection

    def reading(self) -> AbstractContextManager[apsw.Connection]:
        """One consistent view for as long as the block lasts; see `ReadOnlyDatabase.reading`."""
        return self.database.reading()

    def is_current(self) -> bool:
        return self.database.is_current()

    def snapshot(self) -> Snapshot:
        """The generation and space that answer now. Call it inside `reading`."""
        generation, space = active_rows(self.connection)
        if generation is None:
            raise IndexMissingError(f"the index at {self.path} is still empty: run `recallite index`")
        row = space_row(self.connection, space) if space is not None else None
        return Snapshot(generation, row, _failover(self.connection, row))

    def close(self) -> None:
        self.database.close()


def active_rows(connection: apsw.Connection) -> tuple[int | None, int | None]:
    """Ids of the active generation and space: one row of `meta`, `<generation>:<space>`."""
    rows = fetch(connection, "SELECT value FROM meta WHERE key = 'active'")
    if not rows:
        return None, None
    generation, _, space = str(rows[0][0]).partition(":")
    return int(generation), int(space) if space else None


def noted_reason(connection: apsw.Connection, key: str) -> str | None:
    """The reason under one of the keys FAILOVER and TROUBLE, and whose it is."""
    said = _noted(connection, key)
    if said is None:
        return None
    return f"{said['from']}: {said['reason']}" if "from" in said else str(said["reason"])


def _failover(connection: apsw.Connection, space: SpaceRow | None) -> Fallback | None:
    said = _noted(connection, FAILOVER)
    if said is None or space is None or space.provider == said["from"]:
        return None
    return Fallback(str(said["from"]), str(said["reason"]))


def _noted(connection: apsw.Connection, key: str) -> dict[str, object] | None:
    rows = fetch(connection, "SELECT value FROM meta WHERE key = ?", (key,))
    return dict(json.loads(str(rows[0][0]))) if rows else None


def space_row(connection: apsw.Connection, space: int) -> SpaceRow | None:
    rows = fetch(
        connection,
        "SELECT id, generation, provider, model, variant, dims, vec0, floor, middle, state FROM spaces WHERE id = ?",
        (space,),
    )
    if not rows:
        return None
    id_, generation, provider, model, variant, dims, vec0, floor, middle, state = rows[0]
    return SpaceRow(id_, generation, provider, model, variant, dims, bool(vec0), floor, middle, state)


def unusable(path: Path, error: apsw.Error) -> IndexUnusableError:
    """What an error of SQLite says of the index, with the remedy."""
    if isinstance(error, apsw.CorruptError | apsw.NotADBError):
        return damaged(path, error)
    if isinstance(error, apsw.BusyError | apsw.LockedError):
        return IndexUnusableError(f"{path} is locked by another process ({error}): ask again")
    if isinstance(error, apsw.CantOpenError | apsw.PermissionsError):
        return IndexUnusableError(f"{path} cannot be opened ({error}): {READ_PERMISSION}")
    return IndexUnusableError(
        f"{path} cannot be read now ({type(error).__name__}: {error}): ask again; if it stays so, run "
        "`recallite index`, and if that does not help, move the file away and run it again"
    )
