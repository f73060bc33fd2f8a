"""How far a transcript is indexed: what lets an append cost its new text only, and tells a file written anew."""

from __future__ import annotations

import hashlib
import os
from typing import BinaryIO

import msgspec

from recallite.transcripts.reader import BadLine

MOST_BAD_LINES_KEPT = 100
"""Bad lines of a transcript that are listed; all are counted."""
_EDGE_BYTES = 4096
_SAMPLES, _SAMPLE_BYTES = 14, 512
WHOLE_BYTES = 32 * 1024 * 1024
"""So much of a transcript is compared byte by byte: 0.04 s for each update. Of a longer one samples are."""
_BLOCK_BYTES = 1024 * 1024


class TranscriptProgress(msgspec.Struct):
    """Kept with the row of the file, as JSON."""

    inode: int = 0
    end: int = 0
    """Bytes up to which the file was read: the end of a line."""
    lines: int = 0
    """Lines up to there."""
    fingerprint: str = ""
    """Of samples of the file up to `end`."""
    digest: str = ""
    """Of all of the file up to `end`; empty for a transcript that is too long for it."""
    offset: int = 0
    """First byte of the line in which the last chunk begins: from there on an append is cut anew."""
    line: int = 0
    """Lines before `offset`."""
    skip: int = 0
    """Characters of that line's message that lie before the chunk."""
    order: int = 0
    """Chunks before that chunk."""
    bad: list[BadLine] = msgspec.field(default_factory=list)
    """The first of the lines that could not be read."""
    bad_count: int = 0
    bad_before: int = 0
    """Those of them before `offset`."""
    unfinished: int | None = None
    """The last line, when it has no end yet."""
    whole: bool = True
    """Whether the file is being read from its beginning, so that nothing in it can make that necessary."""
    compacted: bool = False
    """Whether what was added and is being read says that the session was compacted."""
    rewritten: float | None = None
    """When the file was last found to be cut or written anew; seconds since 1970."""

    @classmethod
    def parse(cls, text: str | None) -> TranscriptProgress | None:
        """None for what no writer of ours has written: the transcript is then read from its beginning."""
        try:
            return msgspec.json.decode(text, type=cls) if text is not None else None
        except msgspec.DecodeError:
            return None

    def dump(self) -> str:
        return msgspec.json.encode(self).decode()

    def restarted(self, *, rewritten: float | None) -> TranscriptProgress:
        """Nothing read yet, of a file that was known before."""
        return TranscriptProgress(rewritten=rewritten if rewritten is not None else self.rewritten)


def fingerprint(file: BinaryIO, end: int) -> str:
    """A digest of samples of the first `end` bytes: both edges, and places in between. Keeps the file's position.

    Text that was added, removed or moved before `end` changes it; a word replaced by one as long may not.
    """
    before = file.tell()
    digest = hashlib.sha256(str(end).encode())
    places = [(0, _EDGE_BYTES), (max(0, end - _EDGE_BYTES), _EDGE_BYTES)]
    if end > 2 * _EDGE_BYTES:
        step = (end - _SAMPLE_BYTES) // (_SAMPLES + 1)
        places += [(step * number, _SAMPLE_BYTES) for number in range(1, _SAMPLES + 1)]
    for start, length in places:
        file.seek(start, os.SEEK_SET)
        digest.update(file.read(min(length, end - start)))
    file.seek(before, os.SEEK_SET)
    return digest.hexdigest()


class PrefixDigest:
    """A digest of all bytes of a file up to a place, which costs the bytes since the place before."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self._end = 0

    def up_to(self, file: BinaryIO, end: int) -> str:
        """Of the first `end` bytes; empty, and unread, for more than WHOLE_BYTES. Keeps the file's position."""
        if end > WHOLE_BYTES:
            return ""
        if end < self._end:
            self._hash, self._end = hashlib.sha256(), 0
        before = file.tell()
        file.seek(self._end, os.SEEK_SET)
        while self._end < end and (block := file.read(min(_BLOCK_BYTES, end - self._end))):
            self._hash.update(block)
            self._end += len(block)
        file.seek(before, os.SEEK_SET)
        return self._hash.hexdigest()
