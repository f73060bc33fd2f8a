"""Vectors that the generation which is being replaced holds for the same texts of the same files.

The cache may be switched off, or too small for the index: a new way to cut or to tokenise pays for new texts only.
"""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from recallite.index.connection import SpaceRow, space_row
from recallite.index.rows import fetch
from recallite.index.vector import Matrix, UnreadableVectorsError, VectorIndex


class InheritedVectors:
    """For one run over a space. Finds nothing in a rebuild without any change, which may be for damage."""

    def __init__(self, connection: apsw.Connection, space: SpaceRow) -> None:
        self._connection = connection
        self._vectors = VectorIndex(connection)
        self._old = self._find_old(space.id)
        self._of_file: dict[int, dict[bytes, int]] = {}

    @property
    def dims(self) -> int | None:
        """The length of the old vectors, which the new ones will have."""
        return self._old.dims if self._old is not None else None

    def find(self, chunk_ids: Sequence[int], *, dims: int | None) -> dict[int, Matrix]:
        """Vectors of this length by the id of the chunk that waits for one."""
        if self._old is None or self._old.dims != dims:
            return {}
        sql = "SELECT file_id, hash FROM chunks WHERE id = ?"
        old = {
            id_: held
            for id_ in chunk_ids
            for file_id, hash_ in fetch(self._connection, sql, (id_,))
            if (held := self._held(file_id).get(bytes(hash_))) is not None
        }
        try:
            vectors = self._vectors.vectors(old.values(), self._old)
        except UnreadableVectorsError:
            return {}
        return {id_: vectors[held] for id_, held in old.items() if held in vectors}

    def _find_old(self, space: int) -> SpaceRow | None:
        """The active space of the same model in another generation, made with other settings."""
        rows = fetch(
            self._connection,
            "SELECT o.id FROM spaces n JOIN generations g ON g.id = n.generation "
            "JOIN spaces o ON (o.provider, o.model, o.variant) = (n.provider, n.model, n.variant) "
            "JOIN generations h ON h.id = o.generation "
            "WHERE n.id = ? AND o.state = 'active' AND h.state = 'active' AND h.id <> g.id AND o.dims IS NOT NULL "
            "AND (g.chunk_tokens, g.chunk_overlap, g.chunker_version, g.tokens_version) "
            "<> (h.chunk_tokens, h.chunk_overlap, h.chunker_version, h.tokens_version)",
            (space,),
        )
        return space_row(self._connection, rows[0][0]) if rows else None

    def _held(self, file_id: int) -> dict[bytes, int]:
        """Ids of the old chunks by the hash of their text, of the file that a new chunk is from."""
        if self._old is None:
            return {}
        known = self._of_file.get(file_id)
        if known is None:
            self._of_file.clear()  # chunks wait in the order of their files
            rows = fetch(
                self._connection,
                "SELECT c.hash, c.id FROM files n JOIN files o ON (o.source, o.path) = (n.source, n.path) "
                "JOIN chunks c ON c.file_id = o.id WHERE n.id = ? AND o.generation = ?",
                (file_id, self._old.generation),
            )
            known = self._of_file[file_id] = {bytes(hash_): id_ for hash_, id_ in rows}
        return known
