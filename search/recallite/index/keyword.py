"""Candidates by keyword: FTS5 with a score that stays meaningful in tiny and in huge indexes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import apsw

from recallite.index.filters import Filter
from recallite.index.rows import fetch
from recallite.index.schema import fts_table
from recallite.index.spelling import FOLDED, Asked

_COMMON_SHARE = 0.5
"""FTS5 gives terms of more than half the rows no weight; ranking by them costs time and says nothing."""
_OTHER_SPELLING = 0.95
"""What a chunk with all terms scores that spells one of them otherwise, beside one that does not."""
_HOLDS = "(instr(chunks.text, ?) > 0)"
_RANK_SHARE, _PHRASE_SHARE = 0.35, 0.10
"""Parts of the score that come from FTS5's rank and from an exact phrase; the rest is coverage."""


@dataclass(frozen=True, slots=True)
class Term:
    """One word of a query as an FTS5 string: a token, or several in a row (`dec 0054`)."""

    fts: str
    """Quoted, ready for MATCH; nothing of the user's stands outside quotes."""
    tokens: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Related:
    """Something near a term: a part of it, or other forms of the word. Holding it counts for `share` of it."""

    term: Term
    of: int
    """Number of the term in the query."""
    share: float


@dataclass(frozen=True, slots=True)
class KeywordQuery:
    """What to look for by keyword. Without terms, `literal` is looked for as it is."""

    terms: tuple[Term, ...]
    phrase: Term | None = None
    """All terms in a row, when there are several."""
    related: tuple[Related, ...] = ()
    literal: str = ""
    signed: bool = False
    """Whether there are signs in `literal`: it is looked for as it is when nothing else is found."""
    asked: Asked = field(default_factory=Asked)
    """The query as it is spelt; of the chunks with all terms those come first that hold it so."""
    distinctive: bool = True
    """Whether holding every term says much; false when only a common word was left of a sentence."""


@dataclass(frozen=True, slots=True)
class KeywordHit:
    """A chunk that holds at least one term. `score` is 0..1; `bm25` is FTS5's rank, lower is better.

    An `exact` one holds all terms, `likeness` says in which spelling (see `recallite.index.spelling`).
    """

    chunk_id: int
    score: float
    bm25: float
    exact: bool
    likeness: int = FOLDED


class KeywordIndex:
    """The keyword side of one connection."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        connection.register_fts5_function("recallite_matched", _matched)

    def search(self, query: KeywordQuery, *, generation: int, limit: int, where: Filter) -> list[KeywordHit]:
        """At most `limit` hits for each way of looking (phrase, all terms, any term), best first."""
        if not query.terms:
            return self._literal(query.literal, generation, limit, where) if query.literal else []
        total = self._count(generation)
        if total == 0:
            return []
        wanted = (*query.terms, *(related.term for related in query.related))
        self._make_vocabulary(generation)
        frequency = {term: self._frequency(term, generation) for term in wanted}
        weights = [math.log1p((total - frequency[t] + 0.5) / (frequency[t] + 0.5)) for t in query.terms]
        full = (1.0,) * len(query.terms)
        everything = " AND ".join(t.fts for t in query.terms)
        ranks = {id_: rank for id_, rank, _ in self._match(everything, generation, limit, where)}
        likeness = self._likeness(ranks, query)
        if len(ranks) >= limit and min(likeness.values()) < query.asked.most:
            # A crowd in another spelling may have kept out what is spelt as it was asked.
            spelt = self._match(everything, generation, limit, where, asked=query.asked)
            ranks.update((id_, rank) for id_, rank, _ in spelt)
        phrase_rows: set[int] = set()
        if query.phrase is not None:
            found = self._match(f"{query.phrase.fts} AND ({everything})", generation, limit, where)
            phrase_rows = {id_ for id_, _, _ in found}
        rows = {id_: (rank, full) for id_, rank in ranks.items()}
        for id_, rank, held in self._any_term(query, frequency, total, generation, limit, where):
            rows.setdefault(id_, (rank, held))
        # A short note with the phrase can have hundreds of chunks before it that name the words more often. The rank
        # that FTS5 gives a phrase is of another scale; that of the words is at best that of the last of those chunks.
        last = max((rank for rank, _ in rows.values()), default=0.0)
        rows.update((id_, (last, full)) for id_ in phrase_rows if id_ not in rows)
        likeness.update(
            self._likeness([i for i, (_, held) in rows.items() if held == full and i not in likeness], query)
        )
        hits = [
            _hit(id_, rank, held, weights, phrase=id_ in phrase_rows, likeness=likeness.get(id_), query=query)
            for id_, (rank, held) in rows.items()
        ]
        if not hits and query.signed:
            return self._literal(query.literal, generation, limit, where)
        return sorted(hits, key=lambda hit: (not hit.exact, -hit.likeness, -hit.score, hit.chunk_id))

    def _likeness(self, chunk_ids: Iterable[int], query: KeywordQuery) -> dict[int, int]:
        sql = "SELECT text FROM chunks WHERE id = ?"
        return {
            id_: query.asked.likeness(text) for id_ in chunk_ids for (text,) in fetch(self._connection, sql, (id_,))
        }

    def _any_term(
        self,
        query: KeywordQuery,
        frequency: dict[Term, int],
        total: int,
        generation: int,
        limit: int,
        where: Filter,
    ) -> list[tuple[int, float, tuple[float, ...]]]:
        """Chunks with any term: id, rank, and how much of each term of the query they hold (0..1).

        Terms that most chunks hold are left out while others remain: they weigh next to nothing.
        """
        direct = [Related(term, number, 1.0) for number, term in enumerate(query.terms)]
        known = [near for near in (*direct, *query.related) if frequency[near.term]]
        rare = [near for near in known if frequency[near.term] <= total * _COMMON_SHARE]
        asked = rare or known
        if not asked:
            return []
        expression = " OR ".join(near.term.fts for near in asked)
        found = []
        for id_, rank, mask in self._match(expression, generation, limit, where):
            held = [0.0] * len(query.terms)
            for bit, near in enumerate(asked):
                if mask >> bit & 1:
                    held[near.of] = max(held[near.of], near.share)
            found.append((id_, rank, tuple(held)))
        return found

    def _match(
        self, expression: str, generation: int, limit: int, where: Filter, *, asked: Asked | None = None
    ) -> list[tuple[int, float, int]]:
        """Rows in the order of their rank; with `asked` only those that hold its words so, the whole of it first."""
        table = fts_table(generation)
        sql = f"SELECT {table}.rowid, rank, recallite_matched({table}) FROM {table}"
        parameters: list[Any] = [expression]
        order = "rank"
        if asked is not None:
            sql += f" JOIN chunks ON chunks.id = {table}.rowid"
        sql += f" WHERE {table} MATCH ?"
        if where:
            allowed, values = where.chunk_ids(generation)
            sql += f" AND +{table}.rowid IN ({allowed})"  # the + keeps SQLite from a look-up per allowed row
            parameters.extend(values)
        if asked is not None:
            for word in asked.words:
                sql += f" AND ({' OR '.join([_HOLDS] * len(word.forms))})"
                parameters.extend(word.forms)
            as_written = [spelling.written for spelling in (asked.whole, *asked.words) if spelling is not None]
            order = f"{' + '.join([_HOLDS] * len(as_written))} DESC, rank"
            parameters.extend(as_written)
        sql += f" ORDER BY {order} LIMIT ?"
        return fetch(self._connection, sql, (*parameters, limit))

    def _literal(self, text: str, generation: int, limit: int, where: Filter) -> list[KeywordHit]:
        """For queries without a letter or digit (`***`, an emoji): the characters as they are."""
        allowed, values = where.chunk_ids(generation)
        rows = fetch(
            self._connection,
            f"SELECT id FROM chunks WHERE id IN ({allowed}) AND instr(text, ?) > 0 ORDER BY id LIMIT ?",
            (*values, text, limit),
        )
        return [KeywordHit(id_, 1.0, 0.0, True) for (id_,) in rows]

    def _count(self, generation: int) -> int:
        # The size table of a contentless FTS5 index has one row per chunk.
        rows = fetch(self._connection, f"SELECT count(*) FROM {fts_table(generation)}_docsize")
        return int(rows[0][0])

    def _make_vocabulary(self, generation: int) -> None:
        # Asked for each time: an error in the transaction that made it takes the table away again.
        self._connection.execute(
            f"CREATE VIRTUAL TABLE IF NOT EXISTS temp.{_vocabulary(generation)} "
            f"USING fts5vocab(main, {fts_table(generation)}, row)"
        )

    def _frequency(self, term: Term, generation: int) -> int:
        """In how many chunks the term stands, at most: that of its rarest token."""
        vocabulary = _vocabulary(generation)
        least = 1 << 62
        for token in term.tokens:
            if token.endswith("*"):
                sql = f"SELECT sum(doc) FROM temp.{vocabulary} WHERE term >= ? AND term < ?"
                rows = fetch(self._connection, sql, (token[:-1], token[:-1] + "\U0010ffff"))
            else:
                sql = f"SELECT doc FROM temp.{vocabulary} WHERE term = ?"
                rows = fetch(self._connection, sql, (token,))
            least = min(least, int(rows[0][0] or 0) if rows else 0)
        return least


def _vocabulary(generation: int) -> str:
    return f"recallite_vocabulary_{generation:d}"


def _hit(
    id_: int,
    rank: float,
    held: Sequence[float],
    weights: Sequence[float],
    *,
    phrase: bool,
    likeness: int | None,
    query: KeywordQuery,
) -> KeywordHit:
    """`likeness` is None for a chunk that lacks a term."""
    whole = sum(weights)
    full = likeness is not None
    covered = sum(share * weight for share, weight in zip(held, weights, strict=True))
    coverage = 1.0 if full else (covered / whole if whole > 0 else 0.0)
    strength = abs(rank) / (1.0 + abs(rank)) if math.isfinite(rank) else 0.0
    score = coverage * (1.0 - _RANK_SHARE - _PHRASE_SHARE + _RANK_SHARE * strength)
    if full and (phrase or query.phrase is None):
        score += _PHRASE_SHARE
    if likeness == FOLDED:
        score *= _OTHER_SPELLING
    exact = full and (query.distinctive or phrase)
    return KeywordHit(id_, min(1.0, max(score, 1e-6)), rank, exact, likeness or FOLDED)


def _matched(api: apsw.FTS5ExtensionApi, *arguments: object) -> int:
    """Bit n is set when phrase n of the MATCH expression stands in the row."""
    mask = 0
    for n in range(api.phrase_count):
        if any(api.phrase_locations(n)):
            mask |= 1 << n
    return mask
