"""The part of a chunk that answers: the window that holds most of the query."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from recallite.index.keyword import KeywordQuery
from recallite.index.spelling import SIGN, bounded, has_capitals, is_shouted, is_told_apart, stripped
from recallite.index.tokens import fold

MAX_CHARACTERS = 700
_BOUNDARY = re.compile(r"[\r\n]+|(?<=[.!?。！？])\s*|\s+")
_REACH = 120
_MOST_ASKED = 32


class _Spot(NamedTuple):
    """A place in the text that speaks for a window: `kind` is one of the three below, `number` which of its kind."""

    start: int
    end: int
    kind: int
    number: int


_LITERAL, _SPELT, _TERM = range(3)
"""The whole query as it was asked, a word that another spelling would miss, a term of the query as it is folded."""


def snippet(text: str, query: KeywordQuery, *, limit: int = MAX_CHARACTERS) -> str:
    """At most `limit` characters of `text`, verbatim, around the best match; the beginning without one."""
    if len(text) <= limit:
        return text
    room = limit - min(_REACH, limit // 4)
    spots = sorted([*_terms(text, query), *_verbatim(text, query.literal[:room])])
    if not spots:
        return text[: _end(text, 0, limit)].rstrip()
    start = _best_window(spots, limit, room)
    start = max(0, min(start, len(text) - limit))
    start = _start(text, start)
    return text[start : _end(text, start, limit)].strip()


def _terms(text: str, query: KeywordQuery) -> Iterator[_Spot]:
    """Every place where a term stands."""
    folded, origin = _folded(text)
    for number, term in enumerate(query.terms):
        words = [re.escape(token.rstrip("*")) for token in term.tokens]
        # Between the tokens of a term stands punctuation, and between CJK pairs nothing: pairs overlap.
        pattern = r"[\W_]+".join(words)
        if term.tokens[0].isascii():
            pattern = rf"(?<![^\W_]){pattern}(?![^\W_])"
        for match in re.finditer(pattern, folded):
            yield _Spot(origin[match.start()], origin[match.end() - 1] + 1, _TERM, number)


def _verbatim(text: str, literal: str) -> Iterator[_Spot]:
    """Every place where the query, or a word of it that folding makes like others, stands as it was asked."""
    whole = literal.split()
    shouted = is_shouted(literal)
    words = (stripped(word) for word in whole)
    asked = [(_SPELT, word) for word in dict.fromkeys(words) if word and _is_spelt(word, shouted=shouted)]
    if len(whole) > 1 or SIGN.search(literal):  # a single word is a term, or spelt
        asked.append((_LITERAL, literal))
    for number, (kind, wanted) in enumerate(asked[-_MOST_ASKED:]):
        case = re.NOFLAG if has_capitals(wanted) and not shouted else re.IGNORECASE
        forms = {unicodedata.normalize(form, wanted): None for form in ("NFC", "NFD")}
        pattern = "|".join(bounded(form) for form in (wanted, *forms))
        for match in re.finditer(pattern, text, case):
            yield _Spot(match.start(), match.end(), kind, number)


def _is_spelt(word: str, *, shouted: bool) -> bool:
    """Whether the word's folded form is that of other words, too: `C++` and `C`, `café` and `cafe`, `IT` and `it`."""
    return is_told_apart(word) or (has_capitals(word) and not shouted)


def _folded(text: str) -> tuple[str, list[int]]:
    """The text as the keyword index sees it, with the place in `text` of each of its characters."""
    if text.isascii():
        return text.lower(), list(range(len(text)))
    pieces: list[str] = []
    origin: list[int] = []
    for at, character in enumerate(text):
        piece = _folded_character(character)
        pieces.append(piece)
        if len(piece) == 1:
            origin.append(at)
        else:
            origin.extend([at] * len(piece))
    return "".join(pieces), origin


@lru_cache(maxsize=8192)
def _folded_character(character: str) -> str:
    """Empty for what only changes the character before it. Remembered: a text has few different characters."""
    if character.isascii():
        return character.lower()
    return "" if unicodedata.combining(character) else fold(character)


def _best_window(spots: list[_Spot], limit: int, room: int) -> int:
    """Start of the window of the greatest value; the earliest of equals.

    The query as it was asked comes first, then its words as they are spelt, its different terms, their places.
    """
    best: tuple[int, ...] = (0, 0, 0, 0)
    best_start = last = 0
    counts: dict[tuple[int, int], int] = {}
    different = [0, 0, 0]
    for first, (start, _, kind, number) in enumerate(spots):
        while last < len(spots) and spots[last].end <= start + room:
            key = spots[last][2:]
            counts[key] = counts.get(key, 0) + 1
            different[key[0]] += counts[key] == 1
            last += 1
        value = (*different, last - first)
        if value > best:
            end = spots[max(first, last - 1)].end
            best, best_start = value, max(0, start - (limit - (end - start)) // 3)
        if last > first:
            counts[kind, number] -= 1
            different[kind] -= counts[kind, number] == 0
        else:
            last = first + 1
    return best_start


def _start(text: str, at: int) -> int:
    """Move to the beginning of a line, a sentence or a word shortly after `at`."""
    if at == 0:
        return 0
    edges = [m for m in _BOUNDARY.finditer(text, at, min(len(text), at + _REACH // 2)) if m.end() > at]
    for wanted in ("\n", ".!?。！？", ""):
        for edge in edges:
            before = text[edge.start() - 1] if edge.start() else ""
            if not wanted or (edge.group() and edge.group()[0] in "\r\n") or before in wanted:
                return edge.end()
    return _whole(text, at)


def _end(text: str, start: int, limit: int) -> int:
    """The last good place to stop within `limit`."""
    end = min(len(text), start + limit)
    if end == len(text):
        return end
    for cut in range(end, max(start + 1, end - _REACH), -1):
        if text[cut].isspace():
            return cut
    return _whole(text, end)


def _whole(text: str, at: int) -> int:
    """Step back from between a character and what combines with it."""
    while 0 < at < len(text) and (unicodedata.combining(text[at]) or "\u200d" in text[at - 1 : at + 1]):
        at -= 1
    return at
