"""Which generation and space are being built, and the flip when they are complete.

A change of the chunk settings, or of how text is cut or tokenised, builds a new generation; a change of the
model builds a new space. Meanwhile the old ones answer and follow every edit. The flip is one row of `meta`.
"""

from __future__ import annotations

from dataclasses import dataclass

import apsw

from recallite.embeddings.protocol import Space
from recallite.index.connection import SpaceRow, active_rows, space_row
from recallite.index.rows import fetch
from recallite.index.schema import create_fts, fts_table, plain_table, vec_table
from recallite.index.tokens import TOKENS_VERSION
from recallite.index.vector import has_table
from recallite_worker.chunking import CHUNKER_VERSION
from recallite_worker.store import IndexStore, get_meta, set_meta

_DROP_ROWS = 500


@dataclass(frozen=True, slots=True)
class ChunkSettings:
    """What decides where chunks begin and end, and how they are tokenised."""

    tokens: int
    overlap: int

    @property
    def key(self) -> tuple[int, int, int, int]:
        return self.tokens, self.overlap, CHUNKER_VERSION, TOKENS_VERSION


@dataclass(frozen=True, slots=True)
class Generation:
    """A generation that is written now."""

    id: int
    settings: ChunkSettings


class Generations:
    """The generations and spaces of one index, and their transitions."""

    def __init__(self, store: IndexStore) -> None:
        self.store = store

    def prepare(self, settings: ChunkSettings, *, rebuild: bool = False) -> None:
        """See to it that a generation with these settings is active or being built.

        `rebuild` begins a new one even when nothing changed. A rebuild that was interrupted goes on; one that
        was begun for other settings is dropped.
        """
        with self.store.transaction() as connection:
            active, _ = active_rows(connection)
            building = self._ids(connection, settings, "building")
            self._retire(connection, "building", keep=building[-1:])
            if active is None:
                new = building[-1] if building else self._create(connection, settings, "active")
                connection.execute("UPDATE generations SET state = 'active' WHERE id = ?", (new,))
                set_meta(connection, "active", f"{new}:")
            elif not building and (rebuild or active not in self._ids(connection, settings, "active")):
                self._create(connection, settings, "building")

    def _ids(self, connection: apsw.Connection, settings: ChunkSettings, state: str) -> list[int]:
        rows = fetch(
            connection,
            "SELECT id FROM generations WHERE chunk_tokens = ? AND chunk_overlap = ? AND chunker_version = ? "
            "AND tokens_version = ? AND state = ? ORDER BY id",
            (*settings.key, state),
        )
        return [int(row[0]) for row in rows]

    def _create(self, connection: apsw.Connection, settings: ChunkSettings, state: str) -> int:
        connection.execute(
            "INSERT INTO generations(chunk_tokens, chunk_overlap, chunker_version, tokens_version, state) "
            "VALUES (?, ?, ?, ?, ?)",
            (*settings.key, state),
        )
        id_ = connection.last_insert_rowid()
        connection.execute(create_fts(id_))
        return id_

    def _retire(self, connection: apsw.Connection, state: str, keep: list[int]) -> None:
        for (id_,) in fetch(connection, "SELECT id FROM generations WHERE state = ?", (state,)):
            if id_ not in keep:
                connection.execute("UPDATE generations SET state = 'retired' WHERE id = ?", (id_,))
                connection.execute("UPDATE spaces SET state = 'retired' WHERE generation = ?", (id_,))

    def live(self) -> list[Generation]:
        """Generations that follow the files: the active one, then the one being built."""
        rows = fetch(
            self.store.connection,
            "SELECT id, chunk_tokens, chunk_overlap FROM generations WHERE state IN ('active', 'building') "
            "ORDER BY state",
        )
        return [Generation(id_, ChunkSettings(tokens, overlap)) for id_, tokens, overlap in rows]

    def prepare_spaces(self, space: Space | None) -> list[SpaceRow]:
        """The spaces of the live generations that take vectors of this embedder, made if they are not there.

        A generation that has no space yet uses its first one at once; a further one is built beside it.
        """
        found = []
        if space is not None:
            for generation in self.live():
                found.append(self._space(generation.id, space) or self._new_space(generation.id, space))
        self._note_wanted([row.id for row in found])
        return found

    def _note_wanted(self, wanted: list[int]) -> None:
        """After a change of model, and back: what was added meanwhile waits for its vectors too."""
        mark = ",".join(map(str, wanted))
        if get_meta(self.store.connection, "wanted_spaces") == mark:
            return
        with self.store.transaction() as connection:
            connection.execute(f"UPDATE spaces SET state = 'retired' WHERE state = 'building' AND id NOT IN ({mark})")
            for id_ in wanted:
                set_meta(connection, f"fill:{id_}", 0)
            set_meta(connection, "wanted_spaces", mark)

    def _space(self, generation: int, space: Space) -> SpaceRow | None:
        rows = fetch(
            self.store.connection,
            "SELECT id FROM spaces WHERE generation = ? AND provider = ? AND model = ? AND variant = ? "
            "AND (dims IS NULL OR ? IS NULL OR dims = ?) AND state != 'retired'",
            (generation, space.provider, space.model, space.variant, space.dims, space.dims),
        )
        return space_row(self.store.connection, rows[0][0]) if rows else None

    def _new_space(self, generation: int, space: Space) -> SpaceRow:
        with self.store.transaction() as connection:
            active, active_space = active_rows(connection)
            first = generation == active and active_space is None
            connection.execute(
                "INSERT INTO spaces(generation, provider, model, variant, state) VALUES (?, ?, ?, ?, ?)",
                (generation, space.provider, space.model, space.variant, "active" if first else "building"),
            )
            id_ = connection.last_insert_rowid()
            if first:
                set_meta(connection, "active", f"{generation}:{id_}")
        row = space_row(self.store.connection, id_)
        assert row is not None
        return row

    def flip(self, spaces: list[SpaceRow], *, text_complete: bool) -> bool:
        """Let what was built answer, if it is complete; whether something changed.

        `spaces` are those of the configured embedder (empty without one). A generation is complete when its
        text is and none of its chunks waits for a vector that is worth a try.
        """
        if not text_complete:
            return False
        generation = self.live()[-1].id
        space = next((s for s in spaces if s.generation == generation), None)
        with self.store.transaction() as connection:
            active, active_space = active_rows(connection)
            if space is None and generation == active:
                return False  # no embedder now: the vectors that are there stay
            target = space.id if space is not None else None
            if (active, active_space) == (generation, target):
                return False
            if target is not None and (self._waiting(connection, target) or not self._has_vectors(target)):
                return False
            connection.execute("UPDATE generations SET state = 'retired' WHERE state = 'active'")
            connection.execute("UPDATE spaces SET state = 'retired' WHERE state = 'active'")
            connection.execute("UPDATE generations SET state = 'active' WHERE id = ?", (generation,))
            connection.execute("UPDATE spaces SET state = 'active' WHERE id = ?", (target,))
            set_meta(connection, "active", f"{generation}:{target if target is not None else ''}")
        return True

    def _waiting(self, connection: apsw.Connection, space: int) -> bool:
        if get_meta(connection, f"fill:{space}") is not None:
            return True
        sql = "SELECT 1 FROM pending WHERE space = ? AND NOT permanent LIMIT 1"
        return bool(fetch(connection, sql, (space,)))

    def _has_vectors(self, space: int) -> bool:
        """Whether the space holds vectors, or there is nothing to embed: all-failed vectors are no gain."""
        row = space_row(self.store.connection, space)
        failed = fetch(self.store.connection, "SELECT 1 FROM pending WHERE space = ? LIMIT 1", (space,))
        return not failed or (row is not None and row.dims is not None)

    def drop_retired(self) -> None:
        """Remove what no longer answers, in short transactions."""
        connection = self.store.connection
        for (space,) in fetch(connection, "SELECT id FROM spaces WHERE state = 'retired'"):
            self._drop_space(space)
        for (id_,) in fetch(connection, "SELECT id FROM generations WHERE state = 'retired'"):
            self._drop_generation(id_)

    def _drop_space(self, space: int) -> None:
        row = space_row(self.store.connection, space)
        if row is not None and row.vec0 and self.store.vec_reason is not None:
            return  # vec0 tables cannot be dropped without the extension; they wait for it
        with self.store.transaction() as connection:
            connection.execute(f"DROP TABLE IF EXISTS {plain_table(space)}")
            if has_table(connection, vec_table(space)):
                connection.execute(f"DROP TABLE {vec_table(space)}")
            connection.execute("DELETE FROM pending WHERE space = ?", (space,))
            connection.execute("DELETE FROM spaces WHERE id = ?", (space,))
            set_meta(connection, f"fill:{space}", None)

    def _drop_generation(self, generation: int) -> None:
        sql = "SELECT 1 FROM spaces WHERE generation = ?"
        if fetch(self.store.connection, sql, (generation,)):
            return
        removed = True
        while removed:
            with self.store.transaction() as connection:
                rows = fetch(
                    connection,
                    "SELECT c.id FROM chunks c JOIN files f ON f.id = c.file_id WHERE f.generation = ? LIMIT ?",
                    (generation, _DROP_ROWS),
                )
                removed = bool(rows)
                connection.executemany("DELETE FROM chunks WHERE id = ?", rows)
        with self.store.transaction() as connection:
            connection.execute("DELETE FROM files WHERE generation = ?", (generation,))
            connection.execute(f"DROP TABLE IF EXISTS {fts_table(generation)}")
            connection.execute("DELETE FROM generations WHERE id = ?", (generation,))
