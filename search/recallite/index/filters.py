"""Narrowing a search to sources and folders, inside SQLite and exactly."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import get_args

from recallite.index.connection import IndexReader
from recallite.index.rows import fetch
from recallite.types import Source


@dataclass(frozen=True, slots=True)
class Filter:
    """Which chunks may be hits. `sources` None means all; `folder` is an index path or a folder of one."""

    sources: tuple[Source, ...] | None = None
    folder: str | None = None

    def __bool__(self) -> bool:
        return self.sources is not None or self.folder is not None

    def within(self, allowed: tuple[Source, ...], reader: IndexReader, generation: int) -> Filter:
        """The same, and of these sources only; unchanged when the index holds no others."""
        if self.sources is not None:
            return replace(self, sources=tuple(source for source in self.sources if source in allowed))
        sql = "SELECT 1 FROM files WHERE generation = ? AND source = ? LIMIT 1"
        others = [source for source in get_args(Source) if source not in allowed]
        if any(fetch(reader.connection, sql, (generation, source)) for source in others):
            return replace(self, sources=allowed)
        return self

    def chunk_ids(self, generation: int) -> tuple[str, tuple[str | int, ...]]:
        """A subquery of the allowed chunk ids, and its parameters."""
        sql = "SELECT c.id FROM files f JOIN chunks c ON c.file_id = f.id WHERE f.generation = ?"
        parameters: list[str | int] = [generation]
        if self.sources is not None:
            marks = ",".join("?" * len(self.sources))
            sql += f" AND f.source IN ({marks})"
            parameters.extend(self.sources)
        if self.folder is not None:
            folder = self.folder.rstrip("/")
            # '0' follows '/': the range holds exactly the paths that begin with the folder and a slash.
            sql += " AND (f.path = ? OR (f.path >= ? AND f.path < ?))"
            parameters.extend((folder, f"{folder}/", f"{folder}0"))
        return sql, tuple(parameters)
