"""The search pipeline: question → candidates of both sides → one order → hits with their text."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

import apsw

from recallite.embeddings.calibration import Calibration, calibration_of
from recallite.index.connection import Snapshot, SpaceRow, unusable
from recallite.index.filters import Filter
from recallite.index.keyword import KeywordHit, KeywordQuery
from recallite.index.readonly import ReaderClosedError
from recallite.index.rows import fetch
from recallite.index.vector import UnreadableVectorsError
from recallite.search.background import Background
from recallite.search.connections import OpenIndex, SearchConnections
from recallite.search.crowding import FEWEST_NOTES, session_files
from recallite.search.fusion import Fusion, Scored, Weights, fuse
from recallite.search.hits import Folders, hits_of
from recallite.search.ordering import Ordering, ordered
from recallite.search.query import parse_query
from recallite.search.questions import QuestionEmbedder, Vector
from recallite.types import Hit, Mode, SearchReply, Source
from recallite.workspace.text import without_surrogates

MAX_CANDIDATES = 200
CANDIDATES_PER_MULTIPLIER = 50
"""Candidates of each side: `candidateMultiplier` times this, at most MAX_CANDIDATES.

They do not depend on how many hits are asked for, so that the hits for k begin those for k + 1.
"""
_Answer = TypeVar("_Answer")


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
    ordering: Ordering = field(default_factory=Ordering)

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
        self.today = settings.ordering.today
        """The day that ages are counted from."""

    def with_settings(self, settings: SearchSettings, *, questions: QuestionEmbedder | None = None) -> Searcher:
        """A searcher of the same index with other settings; it shares this one's connections."""
        return Searcher(settings, self._connections, questions if questions is not None else self._questions)

    def indexed_paths(self) -> set[str]:
        """The paths of all files in the index. Raises IndexUnusableError."""
        return self._asking(_paths)

    def search(self, text: str, *, max_results: int, min_score: float, where: Filter, explain: bool) -> SearchReply:
        """Raises IndexUnusableError when there is no index to ask; no query text can raise."""
        text = without_surrogates(text)
        query = parse_query(text)
        asked = _Asked(text, query, max_results, min_score, where, explain)
        if not query.terms and not query.literal:
            return SearchReply((), "none", "the query is blank")
        return self._asking(lambda index: self._answer(index, asked))

    def _asking(self, ask: Callable[[OpenIndex], _Answer]) -> _Answer:
        while True:
            index = self._connections.get()
            try:
                return ask(index)
            except ReaderClosedError:
                continue  # this process just became a writer; the next connection shares its view
            except apsw.Error as error:
                index.reader.close()  # the next search begins with a new connection
                raise unusable(index.reader.path, error) from error

    def _answer(self, index: OpenIndex, asked: _Asked) -> SearchReply:
        # The question is embedded outside the read transaction, which stays short.
        with index.reader.reading():
            snapshot = index.reader.snapshot()
            embedded = snapshot.space is not None and index.vector.holds_any(snapshot.space)
        vector, reason = self._question(asked.text, snapshot.space if embedded else None)
        with index.reader.reading():
            now = index.reader.snapshot()
            asked = replace(asked, where=asked.where.within(self.settings.sources, index.reader, now.generation))
            if _space_id(now) != _space_id(snapshot):
                vector, reason = None, "the index was replaced while the question was embedded"
            sides = self._sides(index, now, asked, vector, reason)
            hits = self._hits(index, sides.scored, asked)
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

    def _question(self, text: str, space: SpaceRow | None) -> tuple[Vector | None, str | None]:
        if space is None:
            return None, self._questions.choice.reason or "nothing is embedded yet"
        return self._questions.embed(text, space)

    def _hits(self, index: OpenIndex, scored: list[Scored], asked: _Asked) -> list[Hit]:
        settings = self.settings
        chosen = ordered(
            index.reader.connection,
            scored,
            ordering=settings.ordering,
            today=self.today(),
            min_score=asked.min_score,
            count=asked.max_results,
            has_sessions="sessions" in settings.sources,
        )
        folders = Folders(settings.workspace, settings.sessions_dir)
        return hits_of(index.reader.connection, chosen, asked.query, folders=folders, explain=asked.explain)

    def _sides(
        self, index: OpenIndex, snapshot: Snapshot, asked: _Asked, vector: Vector | None, reason: str | None
    ) -> _Sides:
        if vector is not None and snapshot.space is not None:
            try:
                return self._by_both(index, snapshot, snapshot.space, asked, vector)
            except (apsw.SQLError, UnreadableVectorsError) as error:  # a table is gone, or what is in it
                reason = f"the vectors cannot be read ({error}): run `recallite index --force`"
        words = self._words(index, snapshot, asked.query, asked.where)
        notes = self._notes_beside(index, asked.where, (), [hit.chunk_id for hit in words])
        if notes is not None:
            words = [*self._words(index, snapshot, asked.query, notes), *words]
        return _Sides(self._keyword_only(words), "keyword", reason)

    def _by_both(self, index: OpenIndex, snapshot: Snapshot, space: SpaceRow, asked: _Asked, vector: Vector) -> _Sides:
        where, query = asked.where, asked.query
        background = index.backgrounds.of(asked.text, vector, space)
        cosines = self._near(index, vector, background, space, where)
        use_keyword = self.settings.hybrid
        words = self._words(index, snapshot, query, where) if use_keyword else []
        notes = self._notes_beside(index, where, cosines.keys(), [hit.chunk_id for hit in words])
        if notes is not None:
            words = [*(self._words(index, snapshot, query, notes) if use_keyword else ()), *words]
            cosines.update(self._near(index, vector, background, space, notes))
        missing = [hit.chunk_id for hit in words if hit.chunk_id not in cosines]
        cosines.update(index.vector.cosines(vector, missing, space=space))
        calibration = calibration_of(space.provider, space.model, space.floor, space.middle)
        scores, foreign = self._calibrated(index, cosines, calibration, background)
        weights = self.settings.weights if use_keyword else Weights(vector=1.0, text=0.0)
        scored = fuse(words, cosines, scores, weights=weights, fusion=self.settings.fusion, foreign=foreign)
        mode: Mode = "hybrid" if use_keyword else "vector"
        return _Sides(scored, mode, None if use_keyword else "query.hybrid.enabled is false")

    def _near(
        self, index: OpenIndex, vector: Vector, background: Background | None, space: SpaceRow, where: Filter
    ) -> dict[int, float]:
        """Cosines of the nearest chunks; in an index of several languages also of those nearest in the others."""
        beside = [background.neutral] if background is not None and background.neutral is not None else []
        limit = self.settings.candidates
        return index.vector.search(vector, beside=beside, space=space, limit=limit, where=where)

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

    def _calibrated(
        self, index: OpenIndex, cosines: dict[int, float], calibration: Calibration, background: Background | None
    ) -> tuple[dict[int, float], frozenset[int]]:
        """The vector score of each chunk, and which chunks are in another language than the question."""
        if background is None or not background.by_language:
            scale = calibration.at(background.floor) if background is not None else calibration
            return {id_: scale.score(cosine) for id_, cosine in cosines.items()}, frozenset()
        languages = index.backgrounds.languages(cosines)
        scales = {name: calibration.at(background.floor_of(name)) for name in {*languages.values()}}
        scores = {id_: scales[languages[id_]].score(cosine) for id_, cosine in cosines.items()}
        return scores, frozenset(id_ for id_, name in languages.items() if background.is_foreign(name))

    def _keyword_only(self, words: Sequence[KeywordHit]) -> list[Scored]:
        only_text = Weights(vector=0.0, text=1.0)
        return fuse(words, {}, {}, weights=only_text)


def _paths(index: OpenIndex) -> set[str]:
    with index.reader.reading() as connection:
        generation = index.reader.snapshot().generation
        return {row[0] for row in fetch(connection, "SELECT path FROM files WHERE generation = ?", (generation,))}


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
