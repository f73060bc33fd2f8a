"""Lines of a transcript → what was said: streaming, and a bad line costs that line."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterator
from typing import BinaryIO, NamedTuple

import msgspec

from recallite.transcripts.redaction import redact_texts
from recallite.workspace.text import without_surrogates

MAX_LINE_BYTES = 32 * 1024 * 1024
"""A longer line is passed over unread: a transcript must not take more memory than the machine has."""
MOST_BAD_LINES = 10_000
_LINES_PER_PULSE = 256
_BOM = b"\xef\xbb\xbf"
_SPEAKERS = {"user": "User", "assistant": "Assistant"}


class Message(NamedTuple):
    """What the user or the assistant said in one line of the file."""

    line: int
    """From 1."""
    offset: int
    """Of the line's first byte."""
    text: str
    """One line, `User: …` or `Assistant: …`, without secrets."""


class BadLine(NamedTuple):
    """A line that could not be read, and why; never anything of the line itself."""

    line: int
    reason: str


class _Block(msgspec.Struct, gc=False):
    type: str | None = None
    text: str | None = None


class _Spoken(msgspec.Struct, gc=False):
    role: str | None = None
    content: str | list[_Block] | None = None


class _Line(msgspec.Struct, gc=False):
    type: str | None = None
    message: _Spoken | None = None


class _Bad(Exception):
    """The message says what is wrong with a line."""


_decode: Callable[[bytes], _Line] = msgspec.json.Decoder(_Line).decode


class TranscriptReader:
    """Reads a transcript from a line's beginning on. Iterating gives the messages; the attributes tell the rest.

    Takes any bytes: nothing in a file can make it raise. A last line without its line end is given if it is
    whole, but does not count as read: it may still be being written.
    """

    def __init__(
        self,
        file: BinaryIO,
        *,
        offset: int = 0,
        line: int = 0,
        end: int,
        pulse: Callable[[], None] = lambda: None,
        max_line_bytes: int = MAX_LINE_BYTES,
    ) -> None:
        """`file` stands at `offset`, before which there are `line` lines; nothing from `end` on is read.

        `pulse` is called now and then, also while nothing is said.
        """
        self._file = file
        self._end = end
        self._max_line_bytes = max_line_bytes
        self._pulse = pulse
        self.offset = offset
        """Where the last whole line ends."""
        self.line = line
        """Lines up to there."""
        self.bad: deque[BadLine] = deque(maxlen=MOST_BAD_LINES)
        """The last of those that could not be read."""
        self.bad_count = 0
        self.unfinished: int | None = None
        """The last line, when it has no line end and is not a whole record either."""
        self.entries = 0
        """Records of type `message`, of any role."""
        self.compaction = 0
        """The last line that says that the session was compacted; 0 for none."""

    def __iter__(self) -> Iterator[Message]:
        while self.offset < self._end:
            raw = self._file.readline(min(self._max_line_bytes + 1, self._end - self.offset))
            if not raw:
                return  # shorter than it was said to be
            whole = raw.endswith(b"\n")
            number, start, length = self.line + 1, self.offset, len(raw)
            if not whole and length > self._max_line_bytes:
                raw = b""
                whole, rest = self._pass_over()
                length += rest
                self._note_bad(number, f"longer than {self._max_line_bytes} bytes")
            text = self._read(raw, number, whole) if raw else None
            if whole:
                self.offset, self.line = start + length, number
            if number % _LINES_PER_PULSE == 0:
                self._pulse()
            if text is not None:
                yield Message(number, start, text)
            if not whole:
                return

    def _pass_over(self) -> tuple[bool, int]:
        """Go to the end of a line that is too long; whether it has one, and how many bytes that took."""
        passed = 0
        left = self._end - self._file.tell()
        while left > 0 and (piece := self._file.readline(min(1024 * 1024, left))):
            passed += len(piece)
            left -= len(piece)
            if piece.endswith(b"\n"):
                return True, passed
        return False, passed

    def _read(self, raw: bytes, number: int, whole: bool) -> str | None:
        if number == 1:
            raw = raw.removeprefix(_BOM)
        try:
            record = _record(raw)
        except _Bad as error:
            if whole:
                self._note_bad(number, str(error))
            else:
                self.unfinished = number
            return None
        if record.message is not None and record.type == "message":
            self.entries += 1
            return _said(record.message)
        if record.type == "compaction":
            self.compaction = number
        return None

    def _note_bad(self, number: int, reason: str) -> None:
        self.bad.append(BadLine(number, reason))
        self.bad_count += 1


def _record(raw: bytes) -> _Line:
    """The record of a line; one without a type for a blank line. Raises _Bad for a line that is no record."""
    try:
        record = _decode(raw)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        record = _tolerant(raw) if raw.strip() else _Line()
    if record.type == "message" and record.message is None:
        raise _Bad("a message without its content")
    return record


def _said(message: _Spoken) -> str | None:
    if message.role not in _SPEAKERS:
        return None
    content = message.content
    if isinstance(content, list):
        texts = [block.text for block in content if block.type == "text" and block.text]
    else:
        texts = [content] if content else []
    text = redact_texts(texts)
    return f"{_SPEAKERS[message.role]}: {text}" if text else None


def _tolerant(raw: bytes) -> _Line:
    """For what the fast decoder refuses: bytes that are no UTF-8, half surrogates, values of other types."""
    if raw.count(b"\0") > len(raw) // 2:
        raise _Bad("NUL bytes, as an interrupted write leaves them")
    try:
        record = json.loads(raw.decode("utf-8", errors="replace"), strict=False)
    except json.JSONDecodeError as error:
        raise _Bad(f"not JSON: {error.msg} at character {error.pos + 1}") from error
    except (ValueError, RecursionError) as error:
        raise _Bad("not JSON that can be read (too deep, or a number that is too long)") from error
    if not isinstance(record, dict):
        raise _Bad("JSON, but no record: a transcript has an object in each line")
    kind, message = record.get("type"), record.get("message")
    if kind != "message":
        return _Line(kind if isinstance(kind, str) else None)
    if not isinstance(message, dict):
        return _Line("message")
    return _Line("message", _Spoken(_text(message.get("role")), _content(message.get("content"))))


def _content(content: object) -> str | list[_Block] | None:
    if not isinstance(content, list):
        return _text(content)
    blocks = (block for block in content if isinstance(block, dict))
    return [_Block(_text(block.get("type")), _text(block.get("text"))) for block in blocks]


def _text(value: object) -> str | None:
    return without_surrogates(value) if isinstance(value, str) else None
