"""One long session must not fill the answer: its further chunks give way to what other files say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

import apsw

from recallite.index.rows import fetch
from recallite.search.fusion import Scored

CHUNKS_IN_FULL = 2
"""Chunks of a transcript that keep their score. The next one counts for four fifths, each further one for a
twentieth less, down to a half: enough for a note that is nearly as good, too little for one that is far from it."""
_NEXT, _STEP, _LEAST = 0.8, 0.05, 0.5
FEWEST_NOTES = 20
"""With fewer notes among the candidates than this, and lists that are full, notes are looked for on their own."""


def session_files(connection: apsw.Connection, chunk_ids: Iterable[int]) -> dict[int, int]:
    """The files of those chunks that come from transcripts."""
    ids = list(chunk_ids)
    marks = ",".join("?" * len(ids))
    sql = f"SELECT c.id, c.file_id FROM chunks c JOIN files f ON f.id = c.file_id WHERE c.id IN ({marks}) "
    return dict(fetch(connection, f"{sql} AND f.source = 'sessions'", ids))


def give_way(scored: list[Scored], files: Mapping[int, int], *, min_score: float) -> list[Scored]:
    """The same hits, best first. A hit with every term stays before those without, and none falls below `min_score`.

    `files` are the transcripts of chunks; chunks of notes stand for themselves. When all is of one transcript, or
    nothing is, nothing changes.
    """
    owners = {files.get(each.chunk_id) for each in scored}
    if len(owners) < 2:
        return scored
    places: Counter[int] = Counter()
    factors = {each.chunk_id: _factor(files.get(each.chunk_id), places) for each in scored}
    lowered = {each.chunk_id: max(each.score * factors[each.chunk_id], min(each.score, min_score)) for each in scored}
    floor = max((lowered[each.chunk_id] for each in scored if not each.parts.exact), default=0.0)
    result = [_lowered(each, max(lowered[each.chunk_id], floor if each.parts.exact else 0.0)) for each in scored]
    return sorted(result, key=lambda each: (-each.score, not each.parts.exact, each.chunk_id))


def _lowered(each: Scored, score: float) -> Scored:
    if score >= each.score:
        return each
    return replace(each, score=score, parts=replace(each.parts, gave_way=score / each.score))


def _factor(file: int | None, places: Counter[int]) -> float:
    if file is None:
        return 1.0
    places[file] += 1
    further = places[file] - CHUNKS_IN_FULL
    return 1.0 if further <= 0 else max(_LEAST, _NEXT - _STEP * (further - 1))
