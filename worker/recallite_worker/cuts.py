"""Where a note may be cut: the places at which a reader would cut, best first, and what is not to be cut."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator
from itertools import pairwise

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})", re.MULTILINE)
_HEADING = re.compile(r"^ {0,3}#{1,6}(?=[ \t\r\n]|$)[^\r\n]*", re.MULTILINE)
_SETEXT = re.compile(
    r"^(?=([^\s>#\-*+|`~][^\r\n]*(?:\r\n|\r|\n) {0,3}(?:=+|-{2,})[ \t]*)(?:\r|\n|$))",
    re.MULTILINE,
)
_LIST_ITEM = re.compile(r"^[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+(?=\S)", re.MULTILINE)
_LINE = re.compile(r"\r\n|\r|\n")
_LONE_RETURN = re.compile(r"\r(?!\n)")
_SENTENCE = re.compile(r"(?<=[.!?…])[ \t]+|(?<=[.!?…][\"'”’)\]])[ \t]+|[。！？．｡]+[」』”’）)]*")
_SPACE = re.compile(r"\s+|[、，；：]+")
_PUNCTUATION = re.compile(r"[^\w\s]+|_+")
SOLID = re.compile(r"\S")
_UNSPACED = (
    "\u0e00-\u109f\u1780-\u17ff"  # Thai, Lao, Tibetan, Burmese, Khmer
    "\u2e80-\u312f\u3190-\u9fff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff"  # Chinese, Japanese
)
WORD = re.compile(rf"[^\s{_UNSPACED}]+")
"""What has spaces around it, or a script that writes none: names, numbers and addresses with all their signs."""
_FRONT_MATTER_LINES = 400

HEADING, PARAGRAPH, ITEM, LINE, SENTENCE, SPACE, SIGN = range(7)
"""Kinds of places, best first."""


class Cuts:
    """Offsets at which a new chunk may begin.

    Each kind is looked for when it is first asked for: most notes are cut without a look at their words.
    """

    def __init__(self, text: str, *, longest_run: Callable[[int, int], bool], is_markdown: bool) -> None:
        """`longest_run` tells whether headings from one offset to another may count as one place."""
        # A lone carriage return ends a line, too, but not for `^`: the copy has the same offsets.
        text = _LONE_RETURN.sub("\n", text) if "\r" in text else text
        self._text = text
        self._found: list[list[int]] = []
        self._is_markdown = is_markdown
        self._blocks = _whole_blocks(text) if is_markdown else []
        self._outside = _outside(self._blocks)
        self._openings = self._find_openings(longest_run) if is_markdown else []
        self._word_starts: list[int] | None = None

    def of_kind(self, kind: int) -> list[int]:
        """All places of a kind, in order."""
        while kind >= len(self._found):
            self._found.append(self._find(len(self._found)))
        return self._found[kind]

    def _find(self, kind: int) -> list[int]:
        text = self._text
        if kind <= ITEM and not self._is_markdown:
            return []
        if kind == HEADING:
            return [start for start, _ in self._openings]
        if kind == PARAGRAPH:
            edges = {edge for span in self._blocks for edge in span}
            return sorted(edges.union(at for at in _paragraph_starts(text) if self._outside(at)))
        if kind == ITEM:
            return [m.start() for m in _LIST_ITEM.finditer(text) if self._outside(m.start())]
        return [m.end() for m in (_LINE, _SENTENCE, _SPACE, _PUNCTUATION)[kind - LINE].finditer(text)]

    def _find_openings(self, longest_run: Callable[[int, int], bool]) -> list[tuple[int, int]]:
        """From the first of several headings in a row to the text behind the last."""
        spans = [m.span() for m in _HEADING.finditer(self._text)]
        spans += [m.span(1) for m in _SETEXT.finditer(self._text)]
        found: list[tuple[int, int]] = []
        for start, end in sorted(span for span in spans if self._outside(span[0])):
            solid = SOLID.search(self._text, end)
            body = solid.start() if solid else len(self._text)
            if found and start <= found[-1][1] and longest_run(found[-1][0], end):
                found[-1] = (found[-1][0], body)
            else:
                found.append((start, body))
        return found

    def opening_around(self, at: int) -> tuple[int, int] | None:
        """The headings that a cut at `at` would part from what they stand over: where they and where that begin."""
        index = bisect_left(self._openings, (at,)) - 1
        return self._openings[index] if index >= 0 and at <= self._openings[index][1] else None

    def word_before(self, at: int) -> int:
        """Where the last word begins that begins before `at`; -1 without one."""
        if self._word_starts is None:
            self._word_starts = [m.start() for m in WORD.finditer(self._text)]
        index = bisect_left(self._word_starts, at) - 1
        return self._word_starts[index] if index >= 0 else -1


def _paragraph_starts(text: str) -> Iterator[int]:
    """Lines with text that follow a line without."""
    line_starts = [m.end() for m in _LINE.finditer(text)]
    blank_before = False
    for start, end in pairwise([0, *line_starts, len(text)]):
        blank = not text[start:end].strip()
        if blank_before and not blank:
            yield start
        blank_before = blank


def _whole_blocks(text: str) -> list[tuple[int, int]]:
    """Spans to keep whole: front matter and fenced code. An open fence runs to the end, as in CommonMark."""
    blocks = []
    front = _front_matter_end(text)
    if front:
        blocks.append((0, front))
    opened: tuple[int, str] | None = None
    for match in _FENCE.finditer(text, front):
        mark = match.group(1)
        if opened is None:
            opened = (match.start(), mark)
        elif mark[0] == opened[1][0] and len(mark) >= len(opened[1]):
            line_end = _LINE.search(text, match.end())
            rest = text[match.end() : line_end.start() if line_end else len(text)]
            if not rest.strip():
                blocks.append((opened[0], line_end.end() if line_end else len(text)))
                opened = None
    if opened is not None:
        blocks.append((opened[0], len(text)))
    return blocks


def _front_matter_end(text: str) -> int:
    """Where the front matter ends: from `---` on the first line to the next `---` or `...`; 0 without one."""
    start = 0
    for number, end in enumerate(_LINE.finditer(text)):
        line = text[start : end.start()].rstrip(" \t")
        if number == 0 and line != "---":
            return 0
        if number and line in ("---", "..."):
            return end.start()
        if number > _FRONT_MATTER_LINES:
            return 0
        start = end.end()
    return len(text) if start and text[start:].rstrip(" \t") in ("---", "...") else 0


def _outside(blocks: list[tuple[int, int]]) -> Callable[[int], bool]:
    """Whether an offset lies in none of the blocks (their edges are outside)."""
    starts = [start for start, _ in blocks]

    def outside(offset: int) -> bool:
        index = bisect_left(starts, offset) - 1
        return index < 0 or offset >= blocks[index][1]

    return outside
