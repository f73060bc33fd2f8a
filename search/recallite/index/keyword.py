"""Candidates by keyword: FTS5 with a score that stays meaningful in tiny and in huge indexes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import apsw

from recallite.index.filters import Filter
from recallite.index.rows import fetch
from recallite.index.schema import fts_table
from recallite.index.tokens import plain

_COMMON_SHARE = 0.5
"""FTS5 gives terms of more than half the rows no weight; ranking by them costs time and says nothing."""
_OTHER_SPELLING = 0.95
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
    spelling: bool = False
    """Whether the signs in `literal` matter: chunks that hold it as it is come first (`C++`, `a->b`)."""
    words: tuple[str, ...] = ()
    """The words of the query as they are spelt (`tokens.plain`); empty when no other spelling is to be told apart."""
    distinctive: bool = True
    """Whether holding every term says much; false when only a common word was left of a sentence."""


@dataclass(frozen=True, slots=True)
class KeywordHit:
    """A chunk that holds at least one term. `score` is 0..1; `bm25` is FTS5's rank, lower is better."""

    chunk_id: int
    score: float
    bm25: float
    exact: bool


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
        rows: dict[int, tuple[float, tuple[float, ...]]] = {}
        phrase_rows: set[int] = set()
        everything = " AND ".join(t.fts for t in query.terms)
        if query.phrase is not None:
            found = self._match(f"{query.phrase.fts} AND ({everything})", generation, limit, where)
            phrase_rows = {id_ for id_, _, _ in found}
        spelt: list[tuple[int, float, int]] = []
        if query.spelling:
            spelt = self._match(everything, generation, limit, where, holding=query.literal)
            rows.update((id_, (rank, (1.0,) * len(query.terms))) for id_, rank, _ in spelt)
        full = (1.0,) * len(query.terms)
        if len(query.terms) > 1:
            rows.update((id_, (rank, full)) for id_, rank, _ in self._match(everything, generation, limit, where))
        for id_, rank, held in self._any_term(query, frequency, total, generation, limit, where):
            rows.setdefault(id_, (rank, held))
        # A short note with the phrase can have hundreds of chunks before it that name the words more often. The rank
        # that FTS5 gives a phrase is of another scale; that of the words is at best that of the last of those chunks.
        last = max((rank for rank, _ in rows.values()), default=0.0)
        rows.update((id_, (last, full)) for id_ in phrase_rows if id_ not in rows)
        hits = [
            _hit(id_, rank, held, weights, phrase=id_ in phrase_rows, query=query) for id_, (rank, held) in rows.items()
        ]
        verbatim = {id_ for id_, _, _ in spelt}
        hits = [replace(hit, score=0.5 + hit.score / 2) if hit.chunk_id in verbatim else hit for hit in hits]
        if query.words:
            hits = self._as_spelt(hits, query.words)
        if not hits and query.spelling:
            return self._literal(query.literal, generation, limit, where)
        return sorted(hits, key=lambda hit: (not hit.exact, -hit.score, hit.chunk_id))

    def _as_spelt(self, hits: list[KeywordHit], words: Sequence[str]) -> list[KeywordHit]:
        """Hits with every term score a little less where a word is spelt otherwise, such as without its accents."""
        ordered = []
        for hit in hits:
            if hit.exact:
                rows = fetch(self._connection, "SELECT text FROM chunks WHERE id = ?", (hit.chunk_id,))
                text = plain(rows[0][0]) if rows else ""
                if not all(word in text for word in words):
                    hit = replace(hit, score=hit.score * _OTHER_SPELLING)
            ordered.append(hit)
        return ordered

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
        self, expression: str, generation: int, limit: int, where: Filter, *, holding: str | None = None
    ) -> list[tuple[int, float, int]]:
        """Rows in the order of their rank; `holding` narrows them to those with this very text."""
        table = fts_table(generation)
        sql = f"SELECT {table}.rowid, rank, recallite_matched({table}) FROM {table}"
        parameters: list[Any] = [expression]
        if holding is not None:
            sql += f" JOIN chunks ON chunks.id = {table}.rowid"
        sql += f" WHERE {table} MATCH ?"
        if holding is not None:
            sql += " AND instr(chunks.text, ?) > 0"
            parameters.append(holding)
        if where:
            allowed, values = where.chunk_ids(generation)
            sql += f" AND +{table}.rowid IN ({allowed})"  # the + keeps SQLite from a look-up per allowed row
            parameters.extend(values)
        sql += " ORDER BY rank LIMIT ?"
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
    id_: int, rank: float, held: Sequence[float], weights: Sequence[float], *, phrase: bool, query: KeywordQuery
) -> KeywordHit:
    whole = sum(weights)
    full = all(share == 1.0 for share in held)
    covered = sum(share * weight for share, weight in zip(held, weights, strict=True))
    coverage = 1.0 if full else (covered / whole if whole > 0 else 0.0)
    strength = abs(rank) / (1.0 + abs(rank)) if math.isfinite(rank) else 0.0
    score = coverage * (1.0 - _RANK_SHARE - _PHRASE_SHARE + _RANK_SHARE * strength)
    if full and (phrase or query.phrase is None):
        score += _PHRASE_SHARE
    return KeywordHit(id_, min(1.0, max(score, 1e-6)), rank, full and (query.distinctive or phrase))


def _matched(api: apsw.FTS5ExtensionApi, *arguments: object) -> int:
    """Bit n is set when phrase n of the MATCH expression stands in the row."""
    mask = 0
    for n in range(api.phrase_count):
        if any(api.phrase_locations(n)):
            mask |= 1 << n
    return mask
