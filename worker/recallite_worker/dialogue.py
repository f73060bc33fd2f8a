"""A transcript → chunks, piece by piece: from its beginning, or from where the last chunk began."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from recallite.transcripts import Message
from recallite_worker.chunking import UNITS_PER_TOKEN, ChunkText, chunk_lines
from recallite_worker.generations import ChunkSettings

PIECE_CHARACTERS = 128 * 1024
"""About how much text is cut at a time: what a transcript of any length takes of the memory."""


@dataclass(frozen=True, slots=True)
class Place:
    """A place in what was said, at which cutting can go on as if it had never stopped."""

    offset: int = 0
    """First byte of a line of the file."""
    line: int = 0
    """Lines before it."""
    skip: int = 0
    """Characters of the line's message that lie before the place."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Chunks in order; `start_line` and `end_line` are lines of the file. `start` and `end` mean nothing here."""

    chunks: list[ChunkText]
    following: Place | None
    """Where the chunk after these begins. In the last piece: where its last chunk does; None without any."""
    is_last: bool


def cut(messages: Iterable[Message], settings: ChunkSettings, *, start: Place) -> Iterator[Piece]:
    """The chunks of all messages, which begin with the line at `start`; at least one piece, the last.

    A chunk is a verbatim slice of the messages, one to a line, cut as notes are: between two messages if that
    can be, and beginning with the end of the chunk before. What is cut from a place on is the same whether it
    is reached or begun with.
    """
    size = max(PIECE_CHARACTERS, 4 * settings.tokens * UNITS_PER_TOKEN)
    window = _Window()
    skip = start.skip
    for message in messages:
        for begin in range(skip, len(message.text), size):  # a message may be as long as a book
            window.add(_Part(message.offset, message.line, begin, message.text[begin : begin + size], begin == skip))
            if window.length >= size:
                yield window.take(settings, is_last=False)
        skip = 0
    yield window.take(settings, is_last=True)


@dataclass(frozen=True, slots=True)
class _Part:
    """A message, or a stretch of one."""

    offset: int
    line: int
    skip: int
    """Characters of the message before it."""
    text: str
    begins_line: bool
    """False for what goes on with the message of the part before."""


class _Window:
    """What is not cut yet."""

    def __init__(self) -> None:
        self._parts: list[_Part] = []
        self.length = 0

    def add(self, part: _Part) -> None:
        self._parts.append(part)
        self.length += len(part.text) + 1

    def take(self, settings: ChunkSettings, *, is_last: bool) -> Piece:
        """Cut. The last chunk may become longer with what follows: it is held back unless nothing does."""
        texts, starts = self._texts()
        chunks = chunk_lines("".join(texts), tokens=settings.tokens, overlap=settings.overlap)
        if not chunks:
            return Piece([], None, is_last)
        lines = [part.line for index, part in enumerate(self._parts) if part.begins_line or index == 0]
        index = bisect_right(starts, chunks[-1].start) - 1
        part, inside = self._parts[index], chunks[-1].start - starts[index]
        if not is_last:
            del chunks[-1]
            self._parts[: index + 1] = [replace(part, skip=part.skip + inside, text=part.text[inside:])]
            self.length = sum(len(part.text) + 1 for part in self._parts)
        following = Place(part.offset, part.line - 1, part.skip + inside)
        return Piece([_in_file(chunk, lines) for chunk in chunks], following, is_last)

    def _texts(self) -> tuple[list[str], list[int]]:
        """The texts with the line ends between them, and where in all of it each part begins."""
        texts: list[str] = []
        starts: list[int] = []
        length = 0
        for part in self._parts:
            if texts and part.begins_line:
                texts.append("\n")
                length += 1
            starts.append(length)
            texts.append(part.text)
            length += len(part.text)
        return texts, starts


def _in_file(chunk: ChunkText, lines: list[int]) -> ChunkText:
    return ChunkText(chunk.text, 0, 0, lines[chunk.start_line - 1], lines[chunk.end_line - 1])
