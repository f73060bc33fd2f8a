"""The part of a chunk that answers: the window that holds most of the query."""

from __future__ import annotations

import re
import unicodedata

from recallite.index.keyword import KeywordQuery
from recallite.index.tokens import fold

MAX_CHARACTERS = 700
_BOUNDARY = re.compile(r"[\r\n]+|(?<=[.!?。！？])\s*|\s+")
_REACH = 120


def snippet(text: str, query: KeywordQuery, *, limit: int = MAX_CHARACTERS) -> str:
    """At most `limit` characters of `text`, verbatim, around the best match; the beginning without one."""
    if len(text) <= limit:
        return text
    spots = _matches(text, query)
    if not spots:
        return text[: _end(text, 0, limit)].rstrip()
    start = _best_window(spots, limit)
    start = max(0, min(start, len(text) - limit))
    start = _start(text, start)
    return text[start : _end(text, start, limit)].strip()


def _matches(text: str, query: KeywordQuery) -> list[tuple[int, int, int]]:
    """(start, end, number of the term) of every place where a term stands, by start."""
    folded, origin = _folded(text)
    spots = []
    for number, term in enumerate(query.terms):
        words = [re.escape(token.rstrip("*")) for token in term.tokens]
        # Between the tokens of a term stands punctuation, and between CJK pairs nothing: pairs overlap.
        pattern = r"[\W_]+".join(words)
        if term.tokens[0].isascii():
            pattern = rf"(?<![^\W_]){pattern}(?![^\W_])"
        for match in re.finditer(pattern, folded):
            spots.append((origin[match.start()], origin[match.end() - 1] + 1, number))
    if not spots and query.literal:
        at = text.find(query.literal)
        if at >= 0:
            spots.append((at, at + len(query.literal), 0))
    return sorted(spots)


def _folded(text: str) -> tuple[str, list[int]]:
    """The text as the keyword index sees it, with the place in `text` of each of its characters."""
    if text.isascii():
        return text.lower(), list(range(len(text)))
    pieces: list[str] = []
    origin: list[int] = []
    for at, character in enumerate(text):
        piece = character.lower() if character.isascii() else fold(character)
        if unicodedata.combining(character) or not piece:
            continue
        pieces.append(piece)
        origin.extend([at] * len(piece))
    return "".join(pieces), origin


def _best_window(spots: list[tuple[int, int, int]], limit: int) -> int:
    """Start of the window with the most different terms, then the most places; the earliest of equals."""
    best, best_start, first = (0, 0), 0, 0
    room = limit - min(_REACH, limit // 4)
    counts: dict[int, int] = {}
    last = 0
    for first, (start, _, number) in enumerate(spots):
        while last < len(spots) and spots[last][1] <= start + room:
            counts[spots[last][2]] = counts.get(spots[last][2], 0) + 1
            last += 1
        value = (len([n for n in counts.values() if n]), last - first)
        if value > best:
            end = spots[max(first, last - 1)][1]
            best, best_start = value, max(0, start - (limit - (end - start)) // 3)
        if last > first:
            counts[number] -= 1
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
