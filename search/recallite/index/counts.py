"""What an index says of itself: numbers for status, from the data."""

from __future__ import annotations

from dataclasses import dataclass

from recallite.index.connection import FAILOVER, TROUBLE, IndexReader, SpaceRow, noted_reason, space_row
from recallite.index.extension import VectorExtension
from recallite.index.rows import fetch
from recallite.index.schema import fts_table, plain_table, vec_table
from recallite.index.vector import has_table
from recallite.transcripts.progress import TranscriptProgress
from recallite.types import Failure, Fallback, Source
from recallite.wording import counted


@dataclass(frozen=True, slots=True)
class IndexedFile:
    """A file as the index has it."""

    source: Source
    size: int
    mtime_ns: int
    ctime_ns: int
    """0 when the file was read so soon after its change that a further one would not show: it counts for nothing."""
    state: str
    reason: str | None
    chunks: int
    transcript: TranscriptProgress | None = None
    """How far it was read, if it is a transcript."""

    def was(self, size: int, mtime_ns: int, ctime_ns: int) -> bool:
        """Whether the file looked like this when it was read."""
        return (self.size, self.mtime_ns) == (size, mtime_ns) and self.ctime_ns in (0, ctime_ns)


@dataclass(frozen=True, slots=True)
class IndexCounts:
    """The active generation in numbers."""

    chunk_tokens: int
    chunk_overlap: int
    files: dict[str, IndexedFile]
    chunks: int
    keyword_rows: int
    vectors: int
    pending: int
    failed: int
    chunk_failures: tuple[Failure, ...]
    space: SpaceRow | None
    failover: Fallback | None
    primary_reason: str | None
    """Why the fallback has its turn, also before its vectors answer."""
    provider_trouble: str | None
    """Why vectors wait for the provider."""
    rebuild: str | None
    last_success: float | None
    vec_reason: str | None
    """Why vec0 cannot be written here; None when it can."""


def count(reader: IndexReader, extension: VectorExtension) -> IndexCounts:
    """Read everything in one transaction, so that the numbers fit each other."""
    with reader.reading() as connection:
        snapshot = reader.snapshot()
        rows = fetch(
            connection,
            "SELECT f.path, f.source, f.size, f.mtime_ns, f.ctime_ns, f.state, f.reason, count(c.id) FROM files f "
            "LEFT JOIN chunks c ON c.file_id = f.id WHERE f.generation = ? GROUP BY f.id",
            (snapshot.generation,),
        )
        progress = _transcripts(reader, snapshot.generation)
        files = {
            path: IndexedFile(source, size, mtime_ns, ctime_ns, state, reason, chunks, progress.get(path))
            for path, source, size, mtime_ns, ctime_ns, state, reason, chunks in rows
        }
        space = snapshot.space
        cut = fetch(
            connection, "SELECT chunk_tokens, chunk_overlap FROM generations WHERE id = ?", (snapshot.generation,)
        )
        return IndexCounts(
            chunk_tokens=cut[0][0],
            chunk_overlap=cut[0][1],
            files=files,
            chunks=sum(file.chunks for file in files.values()),
            keyword_rows=_one(reader, f"SELECT count(*) FROM {fts_table(snapshot.generation)}_docsize"),
            vectors=_vectors(reader, space),
            pending=_pending(reader, space, permanent=False),
            failed=_pending(reader, space, permanent=True),
            chunk_failures=_failures(reader, space),
            space=space,
            failover=snapshot.failover,
            primary_reason=noted_reason(connection, FAILOVER),
            provider_trouble=noted_reason(connection, TROUBLE),
            rebuild=_rebuild(reader, snapshot.generation, space),
            last_success=_last_success(reader),
            vec_reason=extension.load(connection),
        )


def _transcripts(reader: IndexReader, generation: int) -> dict[str, TranscriptProgress]:
    """By path; none in an index that no writer of this version has opened yet."""
    if _one(reader, "PRAGMA user_version") < _FIRST_WITH_TRANSCRIPTS:
        return {}
    sql = "SELECT path, transcript FROM files WHERE generation = ? AND transcript IS NOT NULL"
    rows = fetch(reader.connection, sql, (generation,))
    return {path: progress for path, text in rows if (progress := TranscriptProgress.parse(text)) is not None}


_FIRST_WITH_TRANSCRIPTS = 2
"""Version of the schema."""


def _one(reader: IndexReader, sql: str, parameters: tuple[int, ...] = ()) -> int:
    return int(fetch(reader.connection, sql, parameters)[0][0])


def _vectors(reader: IndexReader, space: SpaceRow | None) -> int:
    """Chunks of the generation that have a vector, in either table."""
    if space is None:
        return 0
    total = 0
    tables = ((f"{vec_table(space.id)}_rowids", "rowid"), (plain_table(space.id), "chunk_id"))
    for table, column in tables:
        if has_table(reader.connection, table):
            total += _one(
                reader,
                f"SELECT count(*) FROM {table} v JOIN chunks c ON c.id = v.{column} "
                "JOIN files f ON f.id = c.file_id WHERE f.generation = ?",
                (space.generation,),
            )
    return total


def _pending(reader: IndexReader, space: SpaceRow | None, *, permanent: bool) -> int:
    if space is None:
        return 0
    sql = "SELECT count(*) FROM pending WHERE space = ? AND permanent = ?"
    return _one(reader, sql, (space.id, int(permanent)))


def _failures(reader: IndexReader, space: SpaceRow | None) -> tuple[Failure, ...]:
    """Chunks whose last try gave no vector, with the reason."""
    if space is None:
        return ()
    rows = fetch(
        reader.connection,
        "SELECT f.path, p.reason, p.permanent, c.start_line FROM pending p JOIN chunks c ON c.id = p.chunk_id "
        "JOIN files f ON f.id = c.file_id WHERE p.space = ? AND p.reason IS NOT NULL ORDER BY f.path, c.ord",
        (space.id,),
    )
    return tuple(Failure(path, reason, bool(permanent), line) for path, reason, permanent, line in rows)


def _rebuild(reader: IndexReader, generation: int, space: SpaceRow | None) -> str | None:
    """Progress of a generation or a space that is being built."""
    rows = fetch(reader.connection, "SELECT id FROM generations WHERE state = 'building' AND id != ?", (generation,))
    if rows:
        done = _one(reader, "SELECT count(*) FROM files WHERE generation = ?", (rows[-1][0],))
        total = _one(reader, "SELECT count(*) FROM files WHERE generation = ?", (generation,))
        return f"text {done} of {counted(total, 'file')}"
    rows = fetch(reader.connection, "SELECT id FROM spaces WHERE state = 'building'")
    if not rows:
        return None
    building = space_row(reader.connection, rows[-1][0])
    waiting = _pending(reader, building, permanent=False)
    model = f"{building.provider}/{building.model}" if building is not None else "?"
    return f"vectors of {model}: {counted(waiting, 'chunk')} to go"


def _last_success(reader: IndexReader) -> float | None:
    rows = fetch(reader.connection, "SELECT value FROM meta WHERE key = 'last_success'")
    return float(rows[0][0]) if rows else None
