"""A note → chunks: verbatim slices within a budget, cut where a reader would cut."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, pairwise

import numpy as np
from numpy.typing import NDArray

from recallite.workspace import LineMap

CHUNKER_VERSION = 1
"""Stored with each generation; a change of where cuts fall rebuilds the chunks."""

UNITS_PER_TOKEN = 4
"""Budgets are counted in quarter tokens: about what four ASCII characters cost."""

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})", re.MULTILINE)
_HEADING = re.compile(r"^ {0,3}#{1,6}(?=[ \t\r\n]|$)", re.MULTILINE)
_SETEXT = re.compile(r"^(?=[^\s>#\-*+|`~][^\r\n]*(?:\r\n|\r|\n) {0,3}(?:=+|-{2,})[ \t]*(?:\r|\n|$))", re.MULTILINE)
_LIST_ITEM = re.compile(r"^[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+(?=\S)", re.MULTILINE)
_LINE = re.compile(r"\r\n|\r|\n")
_SENTENCE = re.compile(r"(?<=[.!?…])[ \t]+|(?<=[.!?…][\"'”’)\]])[ \t]+|[。！？．｡]+[」』”’）)]*")
_WORD = re.compile(r"\s+|[、，；：,;]+")
_PUNCTUATION = re.compile(r"[^\w\s]+|_+")
_SOLID = re.compile(r"\S")
_FRONT_MATTER_LINES = 400
_LONGEST_INDENT = 16
"""Characters; white space before a line beyond this is not worth keeping at the beginning of a chunk."""


@dataclass(frozen=True, slots=True)
class ChunkText:
    """A slice of a note: `text == note[start:end]`; lines count from 1 and include both ends."""

    text: str
    start: int
    end: int
    start_line: int
    end_line: int

    @property
    def hash(self) -> bytes:
        """SHA-256 of the text."""
        return hashlib.sha256(self.text.encode("utf-8")).digest()


def chunk_markdown(text: str, *, tokens: int, overlap: int) -> list[ChunkText]:
    """Cut a note into chunks of at most `tokens`, each repeating up to `overlap` tokens of the one before.

    The chunks are verbatim, in order, never blank and cover every character that is not white space. A cut
    falls before a heading if it can, else at a blank line, a list item, a line, a sentence, a word; code
    fences and front matter are kept whole where they fit. Takes linear time.
    """
    if not text or text.isspace():
        return []
    cutter = _Cutter(text, budget=tokens * UNITS_PER_TOKEN, overlap=overlap * UNITS_PER_TOKEN)
    lines = LineMap(text)
    return [
        ChunkText(text[start:end], start, end, lines.line_of(start), lines.line_of(end - 1))
        for start, end in cutter.spans()
    ]


def estimated_units(text: str) -> int:
    """The cost of a text in quarter tokens, by the kind of its characters."""
    return len(text) if text.isascii() else int(_weights(text).sum())


def _weights(text: str) -> NDArray[np.int64]:
    """Quarter tokens per character: ASCII 1, other alphabets 2, CJK and symbols 4, beyond the BMP 8."""
    points = np.frombuffer(text.encode("utf-32-le", errors="surrogatepass"), dtype="<u4")
    weights = np.ones(len(points), dtype=np.int64)
    weights[points >= 0x80] = 2
    weights[points >= 0x0E00] = 4
    weights[(points >= 0x1E00) & (points < 0x2000)] = 2
    weights[points >= 0x1F000] = 8
    weights[points >= 0x20000] = 4
    weights[points >= 0xE0000] = 4
    return weights


class _Cutter:
    def __init__(self, text: str, *, budget: int, overlap: int) -> None:
        self.text = text
        self.budget = budget
        self.overlap = min(overlap, budget // 2)
        self._totals = None if text.isascii() else np.concatenate(([0], np.cumsum(_weights(text))))

    @cached_property
    def _cuts(self) -> _Cuts:
        return _Cuts(self.text)

    def spans(self) -> list[tuple[int, int]]:
        """Start and end offsets, white space at both ends left out."""
        found: list[tuple[int, int]] = []
        start = covered = self._skip_blank(0)
        length = len(self.text.rstrip())
        while covered < length:
            limit = self._reach(start, self.budget)
            if limit >= length:
                found.append((start, length))
                break
            # The cut lies behind the first character that no chunk holds yet: each chunk adds something.
            cut, new_section = self._best_cut(start, self._first_solid(covered), limit)
            end = start + len(self.text[start:cut].rstrip())
            found.append((start, end))
            covered = self._skip_blank(cut)
            start = covered if new_section else self._overlap_start(start, end, covered)
        return found

    def _reach(self, start: int, units: int) -> int:
        """The largest offset such that text[start:offset] costs at most `units`."""
        if self._totals is None:
            return min(len(self.text), start + units)
        reached = int(np.searchsorted(self._totals, self._totals[start] + units, side="right")) - 1
        return max(reached, start + 1)

    def _best_cut(self, start: int, covered: int, limit: int) -> tuple[int, bool]:
        """Where to end the chunk (after `covered`), and whether a new section begins there."""
        for rank, positions in enumerate(self._cuts):
            floor = self._reach(start, self.budget * _LEAST_FILL[rank] // 100)
            index = bisect_right(positions, limit) - 1
            if index >= 0 and positions[index] > max(floor, covered):
                return positions[index], rank == 0
        return self._whole_character(max(covered, limit - 32), limit), False

    def _whole_character(self, least: int, limit: int) -> int:
        """Step back from the middle of a combined character, an emoji sequence or a line end."""
        for cut in range(limit, least, -1):
            if not _joins(self.text, cut):
                return cut
        return limit

    def _overlap_start(self, start: int, end: int, following: int) -> int:
        """Where the next chunk begins, so that it repeats the last words of this one."""
        if self.overlap == 0:
            return following
        earliest = max(start + 1, self._back(following, self.overlap))
        for positions in islice(self._cuts, 1, None):
            index = bisect_left(positions, earliest)
            if index < len(positions) and positions[index] < end:
                return self._skip_blank(positions[index])
        while earliest < end and _joins(self.text, earliest):
            earliest += 1
        return self._skip_blank(earliest) if earliest < end else following

    def _back(self, end: int, units: int) -> int:
        """The smallest offset such that text[offset:end] costs at most `units`."""
        if self._totals is None:
            return max(0, end - units)
        return int(np.searchsorted(self._totals, self._totals[end] - units, side="left"))

    def _first_solid(self, offset: int) -> int:
        """The first character from `offset` on that is not white space; the text's length without one."""
        found = _SOLID.search(self.text, offset)
        return found.start() if found else len(self.text)

    def _skip_blank(self, offset: int) -> int:
        """Past blank lines; a common indentation of the line that follows is kept."""
        at = solid = self._first_solid(offset)
        while at > offset and self.text[at - 1] in " \t":
            at -= 1
            if solid - at > _LONGEST_INDENT:
                return solid
        return at


_LEAST_FILL = (40, 50, 50, 60, 60, 70, 70)
"""Per kind of cut: how full, in percent of the budget, a chunk must be for it. A heading may end one early."""


class _Cuts:
    """Offsets where a new chunk may begin, best kind first: heading, paragraph, item, line, sentence, word, sign.

    Each kind is looked for when it is first asked for: most notes are cut without a look at their words.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._found: list[list[int]] = []
        self._outside = _outside(_whole_blocks(text))

    def __iter__(self) -> Iterator[list[int]]:
        for rank in range(len(_LEAST_FILL)):
            if rank == len(self._found):
                self._found.append(self._find(rank))
            yield self._found[rank]

    def _find(self, rank: int) -> list[int]:
        text, outside = self._text, self._outside
        if rank == 0:
            headings = {m.start() for pattern in (_HEADING, _SETEXT) for m in pattern.finditer(text)}
            return sorted(at for at in headings if outside(at))
        if rank == 1:
            edges = {edge for span in _whole_blocks(text) for edge in span}
            return sorted(edges.union(at for at in _paragraph_starts(text) if outside(at)))
        if rank == 2:
            return [m.start() for m in _LIST_ITEM.finditer(text) if outside(m.start())]
        return [m.end() for m in (_LINE, _SENTENCE, _WORD, _PUNCTUATION)[rank - 3].finditer(text)]


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


def _joins(text: str, at: int) -> bool:
    """Whether the characters on both sides of `at` make one visible character, or one line end."""
    if at <= 0 or at >= len(text):
        return False
    before, after = text[at - 1], text[at]
    if before == "\r" and after == "\n":
        return True
    if after.isascii() and before.isascii():
        return False
    return (
        before == "\u200d"
        or after == "\u200d"
        or unicodedata.category(after) in ("Mn", "Me", "Mc")
        or "\U0001f3fb" <= after <= "\U0001f3ff"
        or ("\U0001f1e6" <= before <= "\U0001f1ff" and "\U0001f1e6" <= after <= "\U0001f1ff")
    )
