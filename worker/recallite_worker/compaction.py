"""Giving back space: sqlite-vec never fills the holes that deleted vectors leave in its blocks."""

from __future__ import annotations

import apsw

from recallite.config import AgentSettings
from recallite.index.connection import SpaceRow, space_row, unusable
from recallite.index.extension import extension_of
from recallite.index.rows import fetch
from recallite.index.schema import fts_table, vec_table
from recallite.work import WorkQueue
from recallite_worker.generations import Generations
from recallite_worker.leases import PATIENCE_SECONDS, LeaseKeeper, take_lease
from recallite_worker.store import IndexStore, open_store, seen_epoch
from recallite_worker.vectors import VectorWriter


def compact_agent(settings: AgentSettings, queue: WorkQueue) -> tuple[int, int]:
    """Rebuild the vector tables, merge the keyword index, give free pages back; bytes before and after.

    Searches go on meanwhile. A slice of indexing that is under way is waited for. Raises LeaseHeldError when the
    agent is still being indexed then, and IndexUnusableError.
    """
    try:
        return _compact(settings, queue)
    except apsw.Error as error:
        raise unusable(settings.index_path, error) from error


def _compact(settings: AgentSettings, queue: WorkQueue) -> tuple[int, int]:
    before = settings.index_path.stat().st_size
    epoch = seen_epoch(settings.index_path)
    lease = take_lease(queue, settings.agent, at_least=epoch, patience=PATIENCE_SECONDS)
    with LeaseKeeper(queue, lease):
        store = open_store(settings.index_path, epoch=lease.epoch, extension=extension_of(settings))
        try:
            Generations(store).drop_retired()
            for space in _spaces(store):
                VectorWriter(store, space).rebuild()
            for (generation,) in fetch(store.connection, "SELECT id FROM generations"):
                table = fts_table(generation)
                with store.transaction() as connection:
                    connection.execute(f"INSERT INTO {table}({table}) VALUES ('optimize')")
            store.connection.execute("VACUUM")
        finally:
            store.close()
    return before, settings.index_path.stat().st_size


def compact_when_wasteful(store: IndexStore, spaces: list[SpaceRow]) -> None:
    """Rebuild a vector table in which more than half of the places are holes."""
    for space in spaces:
        current = space_row(store.connection, space.id)
        if current is None or not current.vec0 or store.vec_reason is not None:
            continue
        table = vec_table(space.id)
        places, used = fetch(
            store.connection,
            f"SELECT (SELECT coalesce(sum(size), 0) FROM {table}_chunks), (SELECT count(*) FROM {table}_rowids)",
        )[0]
        if places > 2 * used + _SPARE_PLACES:
            VectorWriter(store, current).rebuild()


_SPARE_PLACES = 512
"""Below this many holes a rebuild is not worth its work."""


def _spaces(store: IndexStore) -> list[SpaceRow]:
    rows = fetch(store.connection, "SELECT id FROM spaces WHERE vec0")
    found = [space_row(store.connection, id_) for (id_,) in rows]
    return [space for space in found if space is not None]
