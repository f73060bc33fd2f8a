"""A marked transcript → chunks in the index. An append costs its new text; a file written anew is read anew."""

from __future__ import annotations

import logging
import os
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from recallite.config import AgentSettings
from recallite.errors import MemoryPathError
from recallite.sources import find_session
from recallite.transcripts import (
    BadLine,
    TranscriptProgress,
    TranscriptReader,
    find_archive,
    fingerprint,
    transcript_path,
)
from recallite.transcripts.progress import MOST_BAD_LINES_KEPT, PrefixDigest
from recallite.types import Failure
from recallite.workspace import FoundFile
from recallite.workspace.figures import figures
from recallite.workspace.paths import opened_beneath
from recallite_worker.dialogue import Piece, Place, cut
from recallite_worker.forgetting import must_forget
from recallite_worker.keeping import keep, keep_unread
from recallite_worker.writer import FileRow, FileState, TextWriter

logger = logging.getLogger(__name__)

BULK_BYTES = 4 * 1024 * 1024
"""A transcript with more new text than this is a backfill, which fresh edits overtake."""


@dataclass(slots=True)
class TranscriptOutcome:
    """What an update of one transcript did, in all generations together."""

    complete: bool = True
    """False when it was stopped half-way: what was done is kept, and the next update goes on there."""
    written: bool = False
    removed: bool = False
    chunks_added: int = 0
    failure: Failure | None = None


class TranscriptUpdate:
    """Brings one transcript up to date. Runs inside `store.transaction()`, which it lets pause."""

    def __init__(self, path: str, settings: AgentSettings, stop: Callable[[], bool]) -> None:
        self.path = path
        self.outcome = TranscriptOutcome()
        self._folder = settings.sessions_dir
        self._found: FoundFile | None = None
        self._is_out_of_sight = False
        try:
            self._found = find_session(path, settings)
        except OSError:
            self._is_out_of_sight = True
        self._is_source = "sessions" in settings.search.sources
        self._reads_compacted_anew = settings.search.sync.sessions.post_compaction_force
        self._stop = stop

    def is_bulk(self, writers: Sequence[TextWriter]) -> bool:
        """Whether it would take long."""
        if self._found is None:
            return False
        read = [progress.end if (progress := self._progress(writer)) is not None else 0 for writer in writers]
        return self._found.size - min(read, default=0) > BULK_BYTES

    def _progress(self, writer: TextWriter) -> TranscriptProgress | None:
        row = writer.file(self.path)
        return writer.transcript(row.id) if row is not None else None

    def run(self, writers: Sequence[TextWriter]) -> TranscriptOutcome:
        """Update all generations; of a transcript that is gone, or is no source any more, nothing is left.

        What is indexed of one that cannot be read now stays.
        """
        if self._is_out_of_sight:
            keep(writers, self.path)  # the scan names it
            return self.outcome
        try:
            for writer in writers:
                if self.outcome.complete:
                    self._update(writer, self._found)
        except OSError as error:
            reason = f"cannot be read: {error.strerror or type(error).__name__}"
            keep_unread(writers, self._unread(), reason)
            self.outcome.failure = Failure(self.path, reason, permanent=False)
        return self.outcome

    def _unread(self) -> FileState:
        assert self._found is not None  # else nothing was read
        found = self._found
        return FileState("sessions", self.path, None, found.size, found.mtime_ns, found.ctime_ns)

    def _update(self, writer: TextWriter, found: FoundFile | None) -> None:
        if found is None:
            self._remove(writer)
            return
        try:
            with opened_beneath(found.root, found.parts) as (file, info):
                writing = _Writing(writer, self.path, file, info, self._folder, self._stop)
                self.outcome.complete = writing.run(self._reads_compacted_anew)
                self.outcome.written |= writing.wrote
                self.outcome.chunks_added += writing.added
        except (FileNotFoundError, MemoryPathError):
            self._remove(writer)

    def _remove(self, writer: TextWriter) -> None:
        row = writer.file(self.path)
        if row is None or (self._is_source and _follow_archive(writer, row, self._folder)):
            return
        writer.remove(self.path)
        must_forget(writer.store, writer.generation.id)
        self.outcome.removed = True


class _Writing:
    """One transcript, open, on its way into one generation."""

    def __init__(
        self,
        writer: TextWriter,
        path: str,
        file: BinaryIO,
        info: os.stat_result,
        folder: Path,
        stop: Callable[[], bool],
    ) -> None:
        self.writer = writer
        self.file = file
        self.size = info.st_size
        self.inode = info.st_ino
        self.folder = folder
        self.stop = stop
        self.state = FileState("sessions", path, None, *figures(info))
        self.wrote = False
        self.added = 0
        self._file_id = 0
        self._progress = TranscriptProgress()
        self._digest = PrefixDigest()
        self._old: dict[bytes, deque[int]] = {}
        """Chunks of before that may be needed again, by the hash of their text."""

    def run(self, reads_compacted_anew: bool) -> bool:
        """Whether all was written."""
        row = self._begin()
        if row is not None and row.state == "indexed" and row.size == self.size and self._progress.end:
            self.writer.touch(row, self.state)
            return True
        self.wrote = True
        complete = self._append()
        if complete and reads_compacted_anew and self._progress.compacted and not self._progress.whole:
            logger.info("%s: the session was compacted, its transcript is read anew", self.state.path)
            self._restart(rewritten=None)
            complete = self._append()
        if complete:
            self._finish()
        return complete

    def _begin(self) -> FileRow | None:
        """Find out from where to read; the row of the file as it was."""
        row = self.writer.file(self.state.path)
        progress = self.writer.transcript(row.id) if row is not None else None
        is_other = progress is not None and progress.inode != self.inode
        if row is not None and is_other and _follow_archive(self.writer, row, self.folder):
            row = progress = None
        if row is None:
            self._file_id = self.writer.note(self.state, "writing", None, None)
            self._progress = TranscriptProgress(inode=self.inode)
            return None
        self._file_id = row.id
        if progress is None:  # it could not be read before
            self._restart(rewritten=None)
            return row
        self._progress = progress
        change = self._change(row)
        if change is not None:
            logger.warning("%s was %s since it was indexed: what is no longer in it is forgotten", row.path, change)
            self._restart(rewritten=time.time())
        elif is_other:
            self._restart(rewritten=None)  # a copy in its place, whose middle may be another
        return row

    def _change(self, row: FileRow) -> str | None:
        """What was done to the part that is indexed; None when it was left as it was, as far as can be seen."""
        if self.size < self._progress.end:
            return "cut"
        same_size = row.state == "indexed" and row.size == self.size
        if same_size and row.mtime_ns != self.state.mtime_ns:
            return "written to without growing"
        if fingerprint(self.file, self._progress.end) != self._progress.fingerprint:
            return "written anew"
        # A word that was masked in its place, while the session went on: no size and no sample tells of it.
        known = self._progress.digest
        return "changed inside" if known and self._digest.up_to(self.file, self._progress.end) != known else None

    def _restart(self, *, rewritten: float | None) -> None:
        """Read from the beginning. Chunks that come again keep their rows and vectors."""
        self._digest = PrefixDigest()
        self._progress = self._progress.restarted(rewritten=rewritten)
        self._progress.inode = self.inode
        self.writer.note(self.state, "writing", None, None)
        self.writer.keep_transcript(self._file_id, self._progress)

    def _append(self) -> bool:
        """Write all chunks from the place that was reached; False when it was stopped before the end."""
        progress = self._progress
        self._old = self.writer.set_aside(self._file_id, progress.order)
        self.file.seek(progress.offset)
        pause = self.writer.store.pause
        reader = TranscriptReader(self.file, offset=progress.offset, line=progress.line, end=self.size, pulse=pause)
        known, place = progress.lines, Place(progress.offset, progress.line, progress.skip)
        progress.bad = [bad for bad in progress.bad if bad.line <= progress.line]
        bad = _BadLines(list(progress.bad), progress.bad_before)
        for piece in cut(reader, self.writer.generation.settings, start=place):
            self._put(piece, progress.order)
            progress.compacted |= reader.compaction > known
            self._note_progress(reader, piece, bad)
            pause()
            if not piece.is_last and self.stop():
                return False
        return True

    def _put(self, piece: Piece, order: int) -> None:
        for number, chunk in enumerate(piece.chunks, order):
            hash_ = chunk.hash
            if known := self._old.get(hash_):
                self.writer.place(known.popleft(), number, chunk)
            else:
                self.writer.insert(self._file_id, number, chunk, hash_)
                self.added += 1
        self._progress.order = order + len(piece.chunks)

    def _note_progress(self, reader: TranscriptReader, piece: Piece, bad: _BadLines) -> None:
        progress = self._progress
        progress.end, progress.lines, progress.unfinished = reader.offset, reader.line, reader.unfinished
        progress.fingerprint = fingerprint(self.file, reader.offset)
        progress.digest = self._digest.up_to(self.file, reader.offset)
        if piece.following is None and piece.is_last:  # nothing was said up to here
            progress.offset, progress.line, progress.skip = reader.offset, reader.line, 0
        elif piece.following is not None:
            place = piece.following
            progress.offset, progress.line, progress.skip = place.offset, place.line, place.skip
            progress.order -= piece.is_last  # the last chunk is written, and will be cut again
        progress.bad = [*bad.earlier, *reader.bad][:MOST_BAD_LINES_KEPT]
        progress.bad_count = bad.earlier_count + reader.bad_count
        progress.bad_before = progress.bad_count - sum(one.line > progress.line for one in reader.bad)
        self.writer.keep_transcript(self._file_id, progress)

    def _finish(self) -> None:
        # An append replaces its first chunk by one that begins with it; whatever else goes is no longer in the file.
        kept = 0 if self._progress.whole else 1
        self._progress.whole = self._progress.compacted = False
        self.writer.keep_transcript(self._file_id, self._progress)
        left = [id_ for ids in self._old.values() for id_ in ids]
        self.writer.delete(left)
        if len(left) > kept:
            must_forget(self.writer.store, self.writer.generation.id)
        self.writer.note(self.state, "indexed", None, bytes.fromhex(self._progress.fingerprint))


@dataclass(frozen=True, slots=True)
class _BadLines:
    """Those before the place where reading began."""

    earlier: list[BadLine]
    earlier_count: int


def _follow_archive(writer: TextWriter, row: FileRow, folder: Path) -> bool:
    """Let what is indexed of a transcript go with its file when a reset has given that another name."""
    progress = writer.transcript(row.id)
    name = row.path.partition("/")[2]
    archive = find_archive(folder, name, progress.inode) if progress is not None and progress.inode else None
    if archive is None or writer.file(transcript_path(archive)) is not None:
        return False
    writer.rename(row, transcript_path(archive))
    return True
