"""Writing a note's chunks into one generation of an index."""

from __future__ import annotations

import time
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass

from recallite.index.rows import fetch
from recallite.index.schema import fts_table, plain_table, vec_table
from recallite.index.tokens import index_form
from recallite.index.vector import has_table
from recallite.transcripts import TranscriptProgress
from recallite.types import Source
from recallite.workspace import FoundFile
from recallite_worker.chunking import ChunkText
from recallite_worker.generations import Generation
from recallite_worker.store import IndexStore

_ROWS_PER_PAUSE = 64


@dataclass(frozen=True, slots=True)
class FileState:
    """What is stored about a file when it is written."""

    source: Source
    path: str
    hash: bytes | None
    size: int
    mtime_ns: int
    ctime_ns: int


@dataclass(frozen=True, slots=True)
class FileRow:
    """A row of `files` as it is in the index."""

    id: int
    source: Source
    path: str
    hash: bytes | None
    size: int
    mtime_ns: int
    ctime_ns: int
    state: str

    def is_unchanged(self, found: FoundFile) -> bool:
        """Whether the file on disk needs no look at its content.

        The change time tells of a rewrite of the same size whose modification time was put back.
        """
        return (
            self.state != "writing"
            and self.hash is not None
            and (self.size, self.mtime_ns, self.ctime_ns) == (found.size, found.mtime_ns, found.ctime_ns)
        )


class TextWriter:
    """Files, chunks and keyword rows of one generation. All calls stand inside `store.transaction()`."""

    def __init__(self, store: IndexStore, generation: Generation) -> None:
        self.store = store
        self.generation = generation
        self._connection = store.connection
        self._fts = fts_table(generation.id)
        self._spaces: tuple[int, ...] = ()
        self._vector_tables: list[str] = []
        self.refresh_spaces(())

    def refresh_spaces(self, wanted: Sequence[int]) -> None:
        """`wanted` are the spaces in which new chunks wait for a vector."""
        self._spaces = tuple(wanted)
        rows = fetch(self._connection, "SELECT id FROM spaces WHERE generation = ?", (self.generation.id,))
        tables = [(vec_table(id_), "rowid", self.store.vec_reason is None) for (id_,) in rows]
        tables += [(plain_table(id_), "chunk_id", True) for (id_,) in rows]
        self._vector_tables = [
            f"DELETE FROM {name} WHERE {column} = ?"
            for name, column, usable in tables
            if usable and has_table(self._connection, name)
        ]

    def files(self) -> dict[str, FileRow]:
        """All files of the generation by path."""
        rows = fetch(
            self._connection,
            "SELECT id, source, path, hash, size, mtime_ns, ctime_ns, state FROM files WHERE generation = ?",
            (self.generation.id,),
        )
        return {row[2]: FileRow(*row) for row in rows}

    def file(self, path: str) -> FileRow | None:
        rows = fetch(
            self._connection,
            "SELECT id, source, path, hash, size, mtime_ns, ctime_ns, state FROM files "
            "WHERE generation = ? AND path = ? AND source IN ('memory', 'sessions')",
            (self.generation.id, path),
        )
        return FileRow(*rows[0]) if rows else None

    def touch(self, row: FileRow, state: FileState) -> None:
        """The content is as it was: only size and time are noted."""
        self._connection.execute(
            "UPDATE files SET size = ?, mtime_ns = ?, ctime_ns = ? WHERE id = ?",
            (state.size, state.mtime_ns, state.ctime_ns, row.id),
        )

    def write(self, state: FileState, chunks: Sequence[ChunkText]) -> int:
        """Make the file's chunks equal to `chunks`; how many were new.

        A chunk whose text stays keeps its row and its vector, wherever in the file it moved. A large file is
        committed in parts: until the last one its row says `writing`, which makes the next run start over.
        """
        file_id = self.note(state, "writing", None, None)
        old = fetch(
            self._connection,
            "SELECT id, ord, start_line, end_line, hash FROM chunks WHERE file_id = ? ORDER BY ord",
            (file_id,),
        )
        by_hash: dict[bytes, deque[tuple[int, int, int, int]]] = defaultdict(deque)
        for id_, order, start, end, hash_ in old:
            by_hash[bytes(hash_)].append((id_, order, start, end))
        added: list[tuple[int, ChunkText, bytes]] = []
        for order, chunk in enumerate(chunks):
            hash_ = chunk.hash
            if by_hash[hash_]:
                id_, *place = by_hash[hash_].popleft()
                if place != [order, chunk.start_line, chunk.end_line]:
                    self.place(id_, order, chunk)
            else:
                added.append((order, chunk, hash_))
        self.delete([id_ for rows in by_hash.values() for id_, *_ in rows])
        for count, (order, chunk, hash_) in enumerate(added, 1):
            self.insert(file_id, order, chunk, hash_)
            if count % _ROWS_PER_PAUSE == 0:
                self.store.pause()
        self.note(state, "indexed", None, state.hash)
        return len(added)

    def place(self, chunk_id: int, order: int, chunk: ChunkText) -> None:
        """Let a chunk whose text is that of `chunk` stand where that stands."""
        self._connection.execute(
            "UPDATE chunks SET ord = ?, start_line = ?, end_line = ? WHERE id = ?",
            (order, chunk.start_line, chunk.end_line, chunk_id),
        )

    def set_aside(self, file_id: int, order: int) -> dict[bytes, deque[int]]:
        """Give up the places of a file's chunks from `order` on: their ids, by the hash of their text.

        They are found until they are deleted. Their order becomes negative, which tells them from those that
        take their places, also when the process ends meanwhile.
        """
        self._connection.execute(
            "UPDATE chunks SET ord = -1 - ord WHERE file_id = ? AND ord >= ?",
            (file_id, order),
        )
        rows = fetch(self._connection, "SELECT id, hash FROM chunks WHERE file_id = ? AND ord < 0", (file_id,))
        aside: dict[bytes, deque[int]] = defaultdict(deque)
        for id_, hash_ in rows:
            aside[bytes(hash_)].append(id_)
        return aside

    def transcript(self, file_id: int) -> TranscriptProgress | None:
        """How far a transcript is indexed; None if that is not known."""
        rows = fetch(self._connection, "SELECT transcript FROM files WHERE id = ?", (file_id,))
        return TranscriptProgress.parse(rows[0][0]) if rows else None

    def keep_transcript(self, file_id: int, progress: TranscriptProgress) -> None:
        """Note how far a transcript is indexed, in the transaction of the chunks that are meant."""
        self._connection.execute("UPDATE files SET transcript = ? WHERE id = ?", (progress.dump(), file_id))

    def rename(self, row: FileRow, path: str) -> None:
        """Let a file and all that was made of it have another path, which no file has."""
        self._connection.execute("UPDATE files SET path = ? WHERE id = ?", (path, row.id))

    def fail(self, state: FileState, reason: str) -> None:
        """Note that a file cannot be indexed as it is; its earlier chunks are removed."""
        file_id = self.note(state, "writing", None, None)
        self.delete(self._chunk_ids(file_id))
        self.note(state, "failed", reason, state.hash)

    def keep(self, state: FileState, reason: str) -> None:
        """Note that a file cannot be read now. What is indexed of it stays, and is found."""
        row = self.file(state.path)
        if row is None:
            self.note(state, "failed", reason, None)
            return
        if self._chunk_ids(row.id):
            reason = f"{reason}; what was indexed of it stays"
        self._connection.execute(
            "UPDATE files SET size = ?, mtime_ns = ?, ctime_ns = ?, hash = NULL, state = 'failed', reason = ? "
            "WHERE id = ?",
            (state.size, state.mtime_ns, state.ctime_ns, reason, row.id),
        )

    def adopt(self, row: FileRow, chunks: Sequence[ChunkText]) -> None:
        """Take over what another generation holds of a file. Without a hash it counts as changed by the next scan."""
        self.write(FileState(row.source, row.path, None, row.size, row.mtime_ns, row.ctime_ns), chunks)
        self._connection.execute(
            "UPDATE files SET transcript = NULL, state = ?, reason = (SELECT reason FROM files WHERE id = ?) "
            "WHERE generation = ? AND source = ? AND path = ?",
            (row.state, row.id, self.generation.id, row.source, row.path),
        )

    def chunks(self, file_id: int) -> list[ChunkText]:
        """What is indexed of a file; `start` and `end` mean nothing here."""
        sql = "SELECT text, start_line, end_line FROM chunks WHERE file_id = ? ORDER BY ord"
        return [ChunkText(text, 0, 0, start, end) for text, start, end in fetch(self._connection, sql, (file_id,))]

    def remove(self, path: str) -> bool:
        """Remove a file and all that was indexed of it; whether it was there."""
        row = self.file(path)
        if row is None:
            return False
        if row.state != "writing":
            self._connection.execute("UPDATE files SET state = 'writing', hash = NULL WHERE id = ?", (row.id,))
        self.delete(self._chunk_ids(row.id))
        self._connection.execute("DELETE FROM files WHERE id = ?", (row.id,))
        return True

    def note(self, state: FileState, mark: str, reason: str | None, hash_: bytes | None) -> int:
        """Write the file's row; its id."""
        self._connection.execute(
            "INSERT INTO files(generation, source, path, hash, size, mtime_ns, ctime_ns, state, reason, indexed_at) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (generation, source, path) DO UPDATE SET "
            "hash = excluded.hash, size = excluded.size, mtime_ns = excluded.mtime_ns, ctime_ns = excluded.ctime_ns, "
            "state = excluded.state, reason = excluded.reason, indexed_at = excluded.indexed_at, "
            "transcript = CASE excluded.state WHEN 'failed' THEN NULL ELSE transcript END",
            (
                self.generation.id,
                state.source,
                state.path,
                hash_,
                state.size,
                state.mtime_ns,
                state.ctime_ns,
                mark,
                reason,
                time.time(),
            ),
        )
        rows = fetch(
            self._connection,
            "SELECT id FROM files WHERE generation = ? AND source = ? AND path = ?",
            (self.generation.id, state.source, state.path),
        )
        return int(rows[0][0])

    def insert(self, file_id: int, order: int, chunk: ChunkText, hash_: bytes) -> None:
        """Add a chunk that is found by keyword from now on and waits for its vectors."""
        self._connection.execute(
            "INSERT INTO chunks(file_id, ord, start_line, end_line, hash, text) VALUES (?, ?, ?, ?, ?, ?)",
            (file_id, order, chunk.start_line, chunk.end_line, hash_, chunk.text),
        )
        id_ = self._connection.last_insert_rowid()
        self._connection.execute(f"INSERT INTO {self._fts}(rowid, body) VALUES (?, ?)", (id_, index_form(chunk.text)))
        for space in self._spaces:
            self._connection.execute("INSERT INTO pending(space, chunk_id) VALUES (?, ?)", (space, id_))

    def _chunk_ids(self, file_id: int) -> list[int]:
        rows = fetch(self._connection, "SELECT id FROM chunks WHERE file_id = ?", (file_id,))
        return [int(row[0]) for row in rows]

    def delete(self, ids: Sequence[int]) -> None:
        """Remove chunks with all that was made of them."""
        for count, id_ in enumerate(ids, 1):
            self._connection.execute(f"DELETE FROM {self._fts} WHERE rowid = ?", (id_,))
            for delete in self._vector_tables:
                self._connection.execute(delete, (id_,))
            self._connection.execute("DELETE FROM chunks WHERE id = ?", (id_,))
            if count % _ROWS_PER_PAUSE == 0:
                self.store.pause()
        if ids:
            # Each space in use holds its own waiting list; ids are few, spaces fewer.
            for (space,) in fetch(self._connection, "SELECT id FROM spaces"):
                self._connection.executemany(
                    "DELETE FROM pending WHERE space = ? AND chunk_id = ?", [(space, id_) for id_ in ids]
                )
