"""What age and likeness make of the merged order: decay, then MMR over what passes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, tzinfo

import apsw

from recallite.index.rows import fetch
from recallite.search.crowding import give_way, session_files
from recallite.search.decay import age_days, decay
from recallite.search.diversity import diversify
from recallite.search.fusion import Scored, in_order, passing
from recallite.workspace.ignore import IgnoreRules

MAX_POOL = 200
"""Candidates that MMR looks at, the best first: as many as a search may return."""


@dataclass(frozen=True, slots=True)
class Ordering:
    """The settings of this stage; None switches a part off."""

    half_life_days: int | None = None
    lambda_: float | None = None
    evergreen: IgnoreRules = field(default_factory=IgnoreRules)
    """Paths that never age."""
    zone: tzinfo | None = None
    """Where the user's day begins; None is the machine's zone."""

    def today(self) -> date:
        return datetime.now(self.zone).date()


def ordered(
    connection: apsw.Connection,
    scored: list[Scored],
    *,
    ordering: Ordering,
    today: date,
    min_score: float,
    count: int,
    has_sessions: bool = False,
) -> list[Scored]:
    """The first `count` of the final order, best first. Call it inside a read transaction.

    Age multiplies the scores; what then lies below `min_score` goes, unless it is an exact hit; the further chunks
    of one transcript give way to other files; of the rest near repetitions give way. The hits for k begin those for
    k + 1.
    """
    if ordering.half_life_days is not None:
        scored = in_order(_aged(connection, scored, ordering, ordering.half_life_days, today))
    kept = passing(scored, min_score)
    if has_sessions:
        kept = give_way(kept, session_files(connection, [each.chunk_id for each in kept]), min_score=min_score)
    if ordering.lambda_ is not None:
        kept = _diverse(connection, kept[:MAX_POOL], ordering.lambda_, count)
    return kept[:count]


def _aged(
    connection: apsw.Connection, scored: Iterable[Scored], ordering: Ordering, half_life: int, today: date
) -> Iterable[Scored]:
    sql = "SELECT f.path, f.source, f.mtime_ns FROM chunks c JOIN files f ON f.id = c.file_id WHERE c.id = ?"
    for each in scored:
        for path, source, mtime_ns in fetch(connection, sql, (each.chunk_id,)):
            age = age_days(path, source, mtime_ns, today=today, zone=ordering.zone)
            if age is not None and ordering.evergreen.holds(path):
                age = None
            factor = decay(age, half_life)
            yield replace(each, score=each.score * factor, parts=replace(each.parts, age_days=age, decay=factor))


def _diverse(connection: apsw.Connection, pool: Sequence[Scored], lambda_: float, count: int) -> list[Scored]:
    texts = [_text(connection, each.chunk_id) for each in pool]
    picks = diversify([each.score for each in pool], texts, lambda_=lambda_, count=count)
    return [
        replace(pool[pick.place], parts=replace(pool[pick.place].parts, similarity=pick.similarity)) for pick in picks
    ]


def _text(connection: apsw.Connection, chunk_id: int) -> str:
    rows = fetch(connection, "SELECT text FROM chunks WHERE id = ?", (chunk_id,))
    return str(rows[0][0]) if rows else ""
