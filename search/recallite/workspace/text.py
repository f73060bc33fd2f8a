"""Bytes of a note → text: encodings, byte order marks, line ends."""

from __future__ import annotations

import codecs
import os
import re
from bisect import bisect_right
from typing import BinaryIO

_LINE_END = re.compile(r"\r\n|\r|\n")
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16 LE, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SNIFF_BYTES = 8192
_BINARY_SHARE = 0.10
"""Above this share of control bytes a file without a byte order mark is not text."""
_CONTROL = bytes(set(range(32)) - {0x08, 0x09, 0x0A, 0x0C, 0x0D, 0x1B})


MAX_NOTE_BYTES = 32 * 1024 * 1024
"""Of a file; a book has 1 MB. To cut a text takes 4 times its size in memory, and up to 50 times for tiny lines."""


class ContentError(ValueError):
    """A file that cannot be a note by what is in it; the message says why."""


class BinaryContentError(ContentError):
    """The bytes are not text."""


class TooLargeError(ContentError):
    """There is more of it than a note may have."""


def read_content(file: BinaryIO) -> bytes:
    """All of a note, from its beginning, for `decode`.

    Raises BinaryContentError and TooLargeError, neither of them after having read more than it takes to know.
    """
    beginning = file.read(_SNIFF_BYTES)
    _refuse_binary(beginning)
    size = os.fstat(file.fileno()).st_size
    if size <= MAX_NOTE_BYTES:
        rest = file.read(MAX_NOTE_BYTES + 1 - len(beginning))
        if len(beginning) + len(rest) <= MAX_NOTE_BYTES:
            return beginning + rest
    most = f"a note may have {MAX_NOTE_BYTES // 2**20} MiB"
    raise TooLargeError(f"has {size / 2**20:.1f} MiB, {most}: split it, or take it out of the memory")


def decode(data: bytes) -> str:
    """The text of a note.

    UTF-8 (its byte order mark is dropped), UTF-16 and UTF-32 by byte order mark. Invalid bytes and lone
    surrogates become U+FFFD. Raises BinaryContentError for data that is not text.
    """
    _refuse_binary(data[:_SNIFF_BYTES])
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            return without_surrogates(data[len(bom) :].decode(encoding, errors="replace"))
    return data.decode("utf-8", errors="replace")


def _refuse_binary(sample: bytes) -> None:
    if sample.startswith(tuple(bom for bom, _ in _BOMS)):
        return
    if b"\0" in sample:
        raise BinaryContentError("looks binary (NUL bytes); UTF-16 text needs a byte order mark")
    controls = len(sample) - len(sample.translate(None, _CONTROL))
    if sample and controls / len(sample) > _BINARY_SHARE:
        raise BinaryContentError("looks binary (control characters)")


def without_surrogates(text: str) -> str:
    """The text with lone surrogates, which no encoding can carry, replaced by U+FFFD."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", errors="surrogatepass").decode("utf-16-le", errors="replace")
    return text


class LineMap:
    """Offsets of a text ↔ line numbers from 1. `\\n`, `\\r\\n` and `\\r` each end a line."""

    def __init__(self, text: str) -> None:
        self._starts = [0, *(m.end() for m in _LINE_END.finditer(text))]
        if len(self._starts) > 1 and self._starts[-1] == len(text):
            self._starts.pop()  # a final line end does not begin another line
        self._length = len(text)

    def __len__(self) -> int:
        return len(self._starts)

    def line_of(self, offset: int) -> int:
        """The line that holds the character at `offset`."""
        return bisect_right(self._starts, offset)

    def start_of(self, line: int) -> int:
        """Offset of the first character of `line`; the text's length for a line past the end."""
        return self._starts[line - 1] if line <= len(self._starts) else self._length
