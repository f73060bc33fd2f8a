"""The search pipeline: question → candidates of both sides → one order → hits with their text."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import apsw

from recallite.embeddings.calibration import DEFAULT, calibration_of
from recallite.errors import IndexUnusableError
from recallite.index.connection import Snapshot, damaged
from recallite.index.filters import Filter
from recallite.index.keyword import KeywordHit, KeywordQuery
from recallite.index.readonly import ReaderClosedError
from recallite.index.rows import fetch
from recallite.search.connections import OpenIndex, SearchConnections
from recallite.search.crowding import FEWEST_NOTES, give_way, session_files
from recallite.search.fusion import Fusion, Scored, Weights, fuse, passing
from recallite.search.query import parse_query
from recallite.search.questions import QuestionEmbedder, Vector
from recallite.search.snippet import snippet
from recallite.types import Hit, Mode, ScoreParts, SearchReply, Source
from recallite.workspace.text import without_surrogates

MAX_CANDIDATES = 200
CANDIDATES_PER_MULTIPLIER = 50
"""Candidates of each side: `candidateMultiplier` times this, at most MAX_CANDIDATES.

They do not depend on how many hits are asked for, so that the hits for k begin those for k + 1.
"""
_DAMAGE = (apsw.CorruptError, apsw.NotADBError)


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """The settings of a search, resolved."""

    workspace: Path
    sessions_dir: Path
    sources: tuple[Source, ...]
    """What the settings name; nothing else is found, though it may still be in the index."""
    max_results: int
    min_score: float
    hybrid: bool
    weights: Weights
    fusion: Fusion
    candidate_multiplier: int

    @property
    def candidates(self) -> int:
        return min(MAX_CANDIDATES, CANDIDATES_PER_MULTIPLIER * self.candidate_multiplier)


@dataclass(frozen=True, slots=True)
class _Asked:
    """One search as it was asked for."""

    text: str
    query: KeywordQuery
    max_results: int
    min_score: float
    where: Filter
    explain: bool


@dataclass(frozen=True, slots=True)
class _Sides:
    """What was found, before it is joined."""

    scored: list[Scored]
    mode: Mode
    reason: str | None


class Searcher:
    """Answers questions from one agent's index; reads only. Thread-safe and fork-safe."""

    def __init__(self, settings: SearchSettings, connections: SearchConnections, questions: QuestionEmbedder) -> None:
        self.settings = settings
        self._connections = connections
        self._questions = questions

    def search(self, text: str, *, max_results: int, min_score: float, where: Filter, explain: bool) -> SearchReply:
        """Raises IndexUnusableError when there is no index to ask; no query text can raise."""
        text = without_surrogates(text)
        query = parse_query(text)
        asked = _Asked(text, query, max_results, min_score, where, explain)
        if not query.terms and not query.literal:
            return SearchReply((), "none", "the query is blank")
        while True:
            index = self._connections.get()
            try:
                return self._answer(index, asked)
            except ReaderClosedError:
                continue  # this process just became a writer; the next connection shares its view
            except _DAMAGE as error:
                raise damaged(index.reader.path, error) from error
            except (apsw.BusyError, apsw.LockedError) as error:
                raise IndexUnusableError(f"{index.reader.path} is locked: {error}") from error

    def _answer(self, index: OpenIndex, asked: _Asked) -> SearchReply:
        # The question is embedded outside the read transaction, which stays short.
        with index.reader.reading():
            snapshot = index.reader.snapshot()
        vector, reason = self._question(asked.text, snapshot)
        with index.reader.reading():
            now = index.reader.snapshot()
            asked = replace(asked, where=asked.where.within(self.settings.sources, index.reader, now.generation))
            if _space_id(now) != _space_id(snapshot):
                vector, reason = None, "the index was replaced while the question was embedded"
            sides = self._candidates(index, now, asked.query, vector, reason, asked.where)
            chosen = passing(sides.scored, asked.min_score)
            if "sessions" in self.settings.sources:
                files = session_files(index.reader.connection, [each.chunk_id for each in chosen])
                chosen = give_way(chosen, files, min_score=asked.min_score)
            hits = self._hits(index, chosen[: asked.max_results], asked.query, asked.explain)
            pending = _pending(index, now)
            reason = sides.reason if hits or not asked.where else _nothing_there(index, now, asked.where)
        space = now.space if sides.mode != "keyword" else None
        return SearchReply(
            hits=tuple(hits),
            mode=sides.mode,
            reason=reason,
            provider=space.provider if space is not None else None,
            model=space.model if space is not None else None,
            fallback=now.failover if space is not None else None,
            pending_vectors=pending,
        )

    def _question(self, text: str, snapshot: Snapshot) -> tuple[Vector | None, str | None]:
        space = snapshot.space
        if space is None or space.dims is None:
            return None, self._questions.choice.reason or "nothing is embedded yet"
        return self._questions.embed(text, space)

    def _candidates(
        self,
        index: OpenIndex,
        snapshot: Snapshot,
        query: KeywordQuery,
        vector: Vector | None,
        reason: str | None,
        where: Filter,
    ) -> _Sides:
        limit = self.settings.candidates
        space = snapshot.space
        cosines: dict[int, float] = {}
        if vector is not None and space is not None:
            try:
                cosines = index.vector.search(vector, space=space, limit=limit, where=where)
            except apsw.SQLError as error:
                # sqlite-vec reports damage in its tables as an error of the statement.
                vector = None
                reason = f"the vectors cannot be read ({error}): run `recallite index --force`"
        use_keyword = self.settings.hybrid or vector is None
        words = self._words(index, snapshot, query, where) if use_keyword else []
        notes = self._notes_beside(index, where, cosines.keys(), [hit.chunk_id for hit in words])
        if notes is not None:
            words = [*(self._words(index, snapshot, query, notes) if use_keyword else ()), *words]
            if vector is not None and space is not None:
                cosines.update(index.vector.search(vector, space=space, limit=limit, where=notes))
        if vector is None or space is None:
            return _Sides(self._keyword_only(words), "keyword", reason)
        missing = [hit.chunk_id for hit in words if hit.chunk_id not in cosines]
        cosines.update(index.vector.cosines(vector, missing, space=space))
        calibration = calibration_of(space.provider, space.model, space.floor, space.middle)
        background = index.vector.background(vector, space=space)
        if background is not None:
            calibration = calibration.at(background)
        weights = self.settings.weights if use_keyword else Weights(vector=1.0, text=0.0)
        scored = fuse(words, cosines, weights=weights, calibration=calibration, fusion=self.settings.fusion)
        mode: Mode = "hybrid" if use_keyword else "vector"
        return _Sides(scored, mode, None if use_keyword else "query.hybrid.enabled is false")

    def _words(self, index: OpenIndex, snapshot: Snapshot, query: KeywordQuery, where: Filter) -> list[KeywordHit]:
        limit = self.settings.candidates
        return index.keyword.search(query, generation=snapshot.generation, limit=limit, where=where)

    def _notes_beside(
        self, index: OpenIndex, where: Filter, near: Collection[int], worded: Collection[int]
    ) -> Filter | None:
        """A filter for notes alone, when so many chunks of sessions were found that hardly a note had room."""
        sources = self.settings.sources if where.sources is None else where.sources
        if not {"memory", "sessions"} <= set(sources):
            return None
        if max(len(near), len(worded)) < self.settings.candidates:
            return None
        found = {*near, *worded}
        files = session_files(index.reader.connection, found)
        return replace(where, sources=("memory",)) if len(found) - len(files) < FEWEST_NOTES else None

    def _keyword_only(self, words: Sequence[KeywordHit]) -> list[Scored]:
        only_text = Weights(vector=0.0, text=1.0)
        return fuse(words, {}, weights=only_text, calibration=DEFAULT)

    def _hits(self, index: OpenIndex, chosen: Sequence[Scored], query: KeywordQuery, explain: bool) -> list[Hit]:
        hits = []
        for scored in chosen:
            rows = fetch(
                index.reader.connection,
                "SELECT f.path, f.source, f.size, f.mtime_ns, f.ctime_ns, f.hash, c.start_line, c.end_line, c.text "
                "FROM chunks c JOIN files f ON f.id = c.file_id WHERE c.id = ?",
                (scored.chunk_id,),
            )
            if not rows:
                continue  # a vector whose chunk went while the extension was missing
            path, source, *state, start, end, text = rows[0]
            parts = ScoreParts(scored.keyword, scored.vector, scored.cosine, scored.bm25, scored.exact)
            hits.append(
                Hit(
                    path=path,
                    start_line=start,
                    end_line=end,
                    score=scored.score,
                    snippet=snippet(text, query),
                    source=source,
                    chunk_id=scored.chunk_id,
                    stale=self._is_stale(source, path, *state),
                    parts=parts if explain else None,
                )
            )
        return hits

    def _is_stale(self, source: Source, path: str, size: int, mtime_ns: int, ctime_ns: int, hash_: bytes) -> bool:
        if source == "sessions":
            return _rewritten(self.settings.sessions_dir / path.partition("/")[2], size, mtime_ns)
        return _changed(self.settings.workspace / path, size, mtime_ns, ctime_ns, hash_)


def _rewritten(location: Path, size: int, mtime_ns: int) -> bool:
    """Whether a transcript is more than what it was with something added."""
    try:
        info = os.stat(location, follow_symlinks=False)  # noqa: PTH116 - Path.stat has it too, but slower
    except OSError:
        return True
    return info.st_size < size or (info.st_size == size and info.st_mtime_ns != mtime_ns)


def _changed(location: Path, size: int, mtime_ns: int, ctime_ns: int, hash_: bytes | None) -> bool:
    """Whether the file is no longer as it was indexed. Its content is read only when nothing but ctime differs."""
    try:
        info = os.stat(location, follow_symlinks=False)  # noqa: PTH116 - Path.stat has it too, but slower
        if (info.st_size, info.st_mtime_ns) != (size, mtime_ns):
            return True
        if ctime_ns in (0, info.st_ctime_ns) or size > _LARGEST_READ:
            return False
        return hashlib.sha256(location.read_bytes()).digest() != hash_
    except OSError:
        return True


_LARGEST_READ = 1_000_000
"""Bytes; a larger file that differs in nothing but its change time is taken for unchanged until the next scan."""


def _space_id(snapshot: Snapshot) -> int | None:
    return snapshot.space.id if snapshot.space is not None else None


def _nothing_there(index: OpenIndex, snapshot: Snapshot, where: Filter) -> str | None:
    """Why a narrowed search found nothing, when nothing is indexed there at all."""
    allowed, values = where.chunk_ids(snapshot.generation)
    if fetch(index.reader.connection, f"{allowed} LIMIT 1", values):
        return None
    place = f"under {where.folder}" if where.folder is not None else f"of source {', '.join(where.sources or ())}"
    return f"nothing {place} is indexed"


def _pending(index: OpenIndex, snapshot: Snapshot) -> int:
    if snapshot.space is None:
        return 0
    rows = fetch(
        index.reader.connection, "SELECT count(*) FROM pending WHERE space = ? AND NOT permanent", (snapshot.space.id,)
    )
    return int(rows[0][0])
