"""A note → chunks: verbatim slices within a budget, cut where a reader would cut."""

from __future__ import annotations

import hashlib
import unicodedata
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from recallite.workspace import LineMap
from recallite_worker.cuts import HEADING, PARAGRAPH, SIGN, SOLID, WORD, Cuts

CHUNKER_VERSION = 2
"""Stored with each generation; a change of where cuts fall rebuilds the chunks."""

UNITS_PER_TOKEN = 4
"""Budgets are counted in quarter tokens: about what four ASCII characters cost."""

_LONGEST_INDENT = 16
"""Characters; white space before a line beyond this is not worth keeping at the beginning of a chunk."""
_LEAST_FILL = (40, 50, 50, 60, 60, 70, 70)
"""Per kind of cut: how full, in percent of the budget, a chunk must be for it. A heading may end one early."""


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
    fences and front matter are kept whole where they fit, a heading stays with what it stands over, and a
    word that fits into a chunk is whole in one. Takes linear time.
    """
    return _chunks(text, tokens, overlap, is_markdown=True)


def chunk_lines(text: str, *, tokens: int, overlap: int) -> list[ChunkText]:
    """The same for a text in which no line is a heading, an item or a fence.

    What is cut from the beginning of any chunk on is the same as what is cut from the beginning.
    """
    return _chunks(text, tokens, overlap, is_markdown=False)


def _chunks(text: str, tokens: int, overlap: int, *, is_markdown: bool) -> list[ChunkText]:
    if not text or text.isspace():
        return []
    budget, repeated = tokens * UNITS_PER_TOKEN, overlap * UNITS_PER_TOKEN
    cutter = _Cutter(text, budget=budget, overlap=repeated, is_markdown=is_markdown)
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
    def __init__(self, text: str, *, budget: int, overlap: int, is_markdown: bool) -> None:
        self.text = text
        self.budget = budget
        self.overlap = min(overlap, budget // 2)
        self._is_markdown = is_markdown
        self._totals = None if text.isascii() else np.concatenate(([0], np.cumsum(_weights(text))))

    @cached_property
    def _cuts(self) -> Cuts:
        # Headings in a row are kept together up to half a chunk, so that a long outline is still cut at its lines.
        half = self.budget // 2
        return Cuts(self.text, longest_run=lambda s, e: self._cost(s, e) <= half, is_markdown=self._is_markdown)

    def spans(self) -> list[tuple[int, int]]:
        """Start and end offsets, white space at both ends left out."""
        found: list[tuple[int, int]] = []
        covered = self._skip_blank(0)
        start = self._earliest_with_next_word(covered, covered)
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
            start = self._earliest_with_next_word(covered, covered)
            if not new_section:
                start = self._overlap_start(found[-1][0], end, start)
        return found

    def _cost(self, start: int, end: int) -> int:
        return end - start if self._totals is None else int(self._totals[end] - self._totals[start])

    def _reach(self, start: int, units: int) -> int:
        """The largest offset such that text[start:offset] costs at most `units`."""
        if self._totals is None:
            return min(len(self.text), start + units)
        reached = int(np.searchsorted(self._totals, self._totals[start] + units, side="right")) - 1
        return max(reached, start + 1)

    def _back(self, end: int, units: int) -> int:
        """The smallest offset such that text[offset:end] costs at most `units`."""
        if self._totals is None:
            return max(0, end - units)
        return int(np.searchsorted(self._totals, self._totals[end] - units, side="left"))

    def _best_cut(self, start: int, covered: int, limit: int) -> tuple[int, bool]:
        """Where to end the chunk (after `covered`), and whether a new section begins there."""
        for kind, least in enumerate(_LEAST_FILL):
            positions = self._cuts.of_kind(kind)
            floor = self._reach(start, self.budget * least // 100)
            index = bisect_right(positions, limit) - 1
            if index < 0 or positions[index] <= max(floor, covered):
                continue
            if kind == HEADING:
                return positions[index], True
            if self._opening_parted(positions[index]) is None:
                return self._outside_word(positions[index], start, covered, limit), False
        # Half a chunk reaches beyond what is covered, which must not decide: see `chunk_lines`.
        cut = self._whole_character(max(self._reach(start, self.budget // 2), limit - 32), limit)
        cut = self._outside_word(cut, start, covered, limit)
        opening = self._opening_parted(cut)
        return (opening, True) if opening is not None and opening > covered else (cut, False)

    def _opening_parted(self, cut: int) -> int | None:
        """Where headings begin that a cut would leave without what they stand over, and that fit with some of it."""
        opening = self._cuts.opening_around(cut)
        return opening[0] if opening is not None and self._cost(*opening) < self.budget else None

    def _outside_word(self, cut: int, start: int, covered: int, limit: int) -> int:
        """The cut, moved to the edge of the word that it would cut if that fits into a chunk.

        Of a word that began before the chunk only what is in it counts: cutting never depends on what went before.
        """
        if self.text[cut - 1].isspace() or self.text[cut].isspace():
            return cut
        begin = max(self._cuts.word_before(cut), start)
        end = self._end_of_word(begin)
        if end is None or end <= cut:
            return cut
        if end <= limit:
            return end
        return self._whole_character(covered, begin) if begin > covered else cut

    def _end_of_word(self, begin: int) -> int | None:
        """Where the word at `begin` ends; None if there is none or it does not fit into a chunk."""
        found = WORD.match(self.text, begin, begin + self.budget + 1)
        return found.end() if found is not None and self._cost(*found.span()) <= self.budget else None

    def _whole_character(self, least: int, limit: int) -> int:
        """Step back from the middle of a combined character, an emoji sequence or a line end."""
        for cut in range(limit, least, -1):
            if not _joins(self.text, cut):
                return cut
        return limit

    def _earliest_with_next_word(self, start: int, covered: int) -> int:
        """The first offset from `start` on at which a chunk can begin that shall hold the word behind `covered`."""
        end = self._end_of_word(self._first_solid(covered))
        return start if end is None else max(start, self._back(end, self.budget))

    def _overlap_start(self, start: int, end: int, following: int) -> int:
        """Where the next chunk begins, so that it repeats the last words of this one."""
        if self.overlap == 0:
            return following
        earliest = max(start + 1, self._back(following, self.overlap))
        earliest = self._earliest_with_next_word(earliest, following)
        for kind in range(PARAGRAPH, SIGN + 1):
            positions = self._cuts.of_kind(kind)
            index = bisect_left(positions, earliest)
            if index < len(positions) and positions[index] < end:
                return self._skip_blank(positions[index])
        while earliest < end and _joins(self.text, earliest):
            earliest += 1
        return self._skip_blank(earliest) if earliest < end else following

    def _first_solid(self, offset: int) -> int:
        """The first character from `offset` on that is not white space; the text's length without one."""
        found = SOLID.search(self.text, offset)
        return found.start() if found else len(self.text)

    def _skip_blank(self, offset: int) -> int:
        """Past blank lines; a common indentation of the line that follows is kept."""
        at = solid = self._first_solid(offset)
        while at > offset and self.text[at - 1] in " \t":
            at -= 1
        # A longer one would let the share of a chunk that only repeats reach where the next may be cut.
        is_indent = solid - at <= min(_LONGEST_INDENT, self.budget // 8) and (at == 0 or self.text[at - 1] in "\r\n")
        return at if is_indent else solid


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
