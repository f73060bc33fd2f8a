"""The same questions asked in several ways of searching."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from recallite.client import MemorySearch
from recallite.embeddings.choice import ProviderChoice
from recallite.evaluation.measures import NDCG_DEPTH, Measures, mean, measure
from recallite.evaluation.questions import Question
from recallite.filenames import as_spelled
from recallite.index.filters import Filter
from recallite.search.fusion import Weights
from recallite.search.questions import QuestionEmbedder
from recallite.search.searcher import Searcher, SearchSettings
from recallite.workspace.files import index_path

SWEPT_WEIGHTS = (0.9, 0.8, 0.6, 0.5, 0.3)
"""Shares of the vector side that a sweep tries, beside those that are set."""


@dataclass(frozen=True, slots=True)
class Way:
    """One way of searching."""

    name: str
    mode: str
    """The mode that its answers must have, else it was not measured."""
    searcher: Searcher


@dataclass(frozen=True, slots=True)
class Result:
    """What one way reached. `measures` None: it could not be measured, and `reason` says why."""

    way: str
    measures: Measures | None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Evaluation:
    """All ways over all questions."""

    questions: int
    k: int
    results: tuple[Result, ...]
    unknown: tuple[str, ...]
    """Notes that answer a question and are not in the index."""


def ways(memory: MemorySearch, *, sweep: bool = False) -> list[Way]:
    """Keyword, vector and hybrid as set; with `sweep` hybrid with other weights, and by reciprocal ranks."""
    asked, settings = memory.searcher, memory.searcher.settings
    silent = QuestionEmbedder(ProviderChoice("none", None, "asked by keyword"))

    def like(change: Callable[[SearchSettings], SearchSettings]) -> Searcher:
        return asked.with_settings(change(replace(settings, hybrid=True)))

    share = f"{settings.weights.vector:g}/{settings.weights.text:g}, {settings.fusion}"
    found = [
        Way("keyword", "keyword", asked.with_settings(settings, questions=silent)),
        Way("vector", "vector", asked.with_settings(replace(settings, hybrid=False))),
        Way(f"hybrid ({share})", "hybrid", like(lambda now: now)),
    ]
    if sweep:
        for vector in SWEPT_WEIGHTS:
            weights = Weights(vector, round(1 - vector, 2))
            name = f"hybrid ({weights.vector:g}/{weights.text:g}, weighted)"
            found.append(Way(name, "hybrid", like(_weighted(weights))))
        found.append(Way("hybrid (rrf)", "hybrid", like(lambda now: replace(now, fusion="rrf"))))
    return found


def _weighted(weights: Weights) -> Callable[[SearchSettings], SearchSettings]:
    return lambda now: replace(now, weights=weights, fusion="weighted")


def evaluate(
    memory: MemorySearch, questions: Sequence[Question], *, k: int, min_score: float | None = None, sweep: bool = False
) -> Evaluation:
    """Ask every question in every way. The index is only read; each question is embedded once.

    `min_score` is by default the one that is set. Raises IndexUnusableError.
    """
    indexed = memory.searcher.indexed_paths()
    questions = [_by_index(question, memory.settings.workspace, indexed) for question in questions]
    least = memory.searcher.settings.min_score if min_score is None else min_score
    chosen = ways(memory, sweep=sweep)
    reached: dict[str, list[Measures]] = {way.name: [] for way in chosen}
    reasons: dict[str, str] = {}
    for question in questions:
        for way in chosen:
            if way.name in reasons:
                continue
            reply = way.searcher.search(
                question.text, max_results=max(k, NDCG_DEPTH), min_score=least, where=Filter(), explain=False
            )
            if reply.mode != way.mode and reply.mode != "none":
                reasons[way.name] = reply.reason or f"the answers are by {reply.mode}"
            else:
                reached[way.name].append(measure(reply.hits, question, k=k))
    results = [
        Result(way.name, None if way.name in reasons else mean(reached[way.name]), reasons.get(way.name))
        for way in chosen
    ]
    return Evaluation(len(questions), k, tuple(results), tuple(_unknown(questions, indexed)))


def _by_index(question: Question, workspace: Path, indexed: Collection[str]) -> Question:
    """The question with its answers' paths as the index has them; a note may also be named by where it lies."""

    def named(path: str) -> str:
        if path in indexed:
            return path
        return index_path(workspace, Path(os.path.normpath(workspace / as_spelled(path))))

    return replace(question, answers=tuple(replace(each, path=named(each.path)) for each in question.answers))


def _unknown(questions: Sequence[Question], indexed: Collection[str]) -> list[str]:
    return sorted({answer.path for question in questions for answer in question.answers} - {*indexed})
