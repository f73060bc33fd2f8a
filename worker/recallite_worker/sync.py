"""The core: make one agent's index equal to its files. May run twice, late, or be killed at any moment."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import suppress

import apsw

from recallite.config import AgentSettings
from recallite.errors import IndexUnusableError, RecalliteError, unforeseen
from recallite.index.batchfile import batch_path
from recallite.index.connection import SpaceRow
from recallite.index.extension import extension_of
from recallite.index.rows import fetch
from recallite.sources import find_note, find_session, scan_sources
from recallite.transcripts import ALL_TRANSCRIPTS, transcript_name
from recallite.types import Failure
from recallite.wording import counted
from recallite.work import SCAN, Lane, Mark, WorkQueue
from recallite.workspace import FoundFile
from recallite_worker.cache import EmbeddingCache
from recallite_worker.chunking import chunk_markdown
from recallite_worker.compaction import compact_when_wasteful
from recallite_worker.forgetting import forget, must_forget
from recallite_worker.generations import ChunkSettings, Generations
from recallite_worker.keeping import keep, keep_unread
from recallite_worker.leases import LeaseKeeper, take_lease
from recallite_worker.reading import ReadFile, read_note
from recallite_worker.results import SyncProgress, SyncResult
from recallite_worker.scanning import changed_paths
from recallite_worker.store import IndexStore, open_store, quarantine, seen_epoch, set_meta
from recallite_worker.transcripts import TranscriptUpdate
from recallite_worker.vector_stage import EmbedderFactory, VectorStage, open_embedder
from recallite_worker.vectors import VectorWriter
from recallite_worker.writer import FileState, TextWriter

logger = logging.getLogger(__name__)

SLICE_SECONDS = 5.0
"""How long one agent is worked on before it goes to the queue's end."""
_MARKS_PER_ROUND = 256
BULK = 200
"""A scan that finds more changed files than this is a backfill, which fresh edits overtake."""


def sync_agent(
    settings: AgentSettings,
    queue: WorkQueue,
    *,
    lane: Lane | None = None,
    embedders: EmbedderFactory = open_embedder,
    seconds: float = SLICE_SECONDS,
    patience: float = 0.0,
    rebuild: bool = False,
    stop: Callable[[], bool] = lambda: False,
    observe: Callable[[SyncProgress], None] = lambda progress: None,
) -> SyncResult:
    """Work on one agent for about `seconds`: dirty files first, text before vectors.

    `lane` "live" does fresh marks only, and embeds only what it wrote itself; None does everything.
    `rebuild` begins a new generation. `patience` is how long another writer is waited for. Raises LeaseHeldError,
    FencedError, IndexUnusableError; a file, a chunk or a provider that fails is noted in the result and costs only
    itself, also when nobody foresaw how.
    """
    epoch = seen_epoch(settings.index_path)
    lease = take_lease(queue, settings.agent, at_least=epoch, patience=patience, stop=stop)
    began = time.monotonic()
    with LeaseKeeper(queue, lease):
        try:
            store = open_store(settings.index_path, epoch=lease.epoch, extension=extension_of(settings))
            try:
                if store.is_replaced:
                    queue.mark(settings.agent, [SCAN, ALL_TRANSCRIPTS])
                run = _Slice(settings, queue, store, embedders, observe)
                run.lane = lane
                run.stop = lambda: stop() or time.monotonic() - began > seconds
                run.work(rebuild)
            finally:
                store.close()
            result = run.result
        except (apsw.CorruptError, apsw.NotADBError) as error:
            # The slice also uses other files. A healthy index must not go because one of those is damaged.
            beside = (settings.cache_path, batch_path(settings.cache_path))
            damaged = next((path for path in beside if EmbeddingCache.is_damaged(path)), settings.index_path)
            quarantine(damaged, error)
            queue.mark(settings.agent, [SCAN, ALL_TRANSCRIPTS])
            result = SyncResult(settings.agent, more=True)
        except apsw.Error as error:
            raise IndexUnusableError(
                f"{settings.index_path} cannot be written ({type(error).__name__}: {error})"
            ) from error
    result.milliseconds = int((time.monotonic() - began) * 1000)
    logger.info(
        "agent %s: %s, %s, %s embedded, %d from the cache, %d ms",
        settings.agent,
        counted(result.files_written, "file"),
        counted(result.chunks_added, "chunk"),
        counted(result.texts_embedded, "text"),
        result.vectors_cached,
        result.milliseconds,
    )
    return result


class _Slice:
    stop: Callable[[], bool]

    def __init__(
        self,
        settings: AgentSettings,
        queue: WorkQueue,
        store: IndexStore,
        embedders: EmbedderFactory,
        observe: Callable[[SyncProgress], None],
    ) -> None:
        self.settings = settings
        self.queue = queue
        self.store = store
        self.embedders = embedders
        self.observe = observe
        self.result = SyncResult(settings.agent)
        self.progress = SyncProgress()
        self._seen: dict[str, FoundFile] = {}
        self._bulky: list[str] = []
        """Transcripts with so much new text that fresh edits must not wait for it."""
        self.lane: Lane | None = None
        self._first_new = 0
        """Chunks with greater ids were written in this slice."""
        self.generations = Generations(store)

    def work(self, rebuild: bool) -> None:
        chunking = self.settings.search.chunking
        self.generations.prepare(ChunkSettings(chunking.tokens, chunking.overlap), rebuild=rebuild)
        vectors = VectorStage(self.settings, self.queue, self.store, self.result, self.progress, self.observe)
        embedder = vectors.open(self.embedders)
        try:
            space = embedder.space if embedder is not None else None
            spaces = self.generations.prepare_spaces(space)
            if space is not None:
                vectors.note_address(space.provider)
            writers = [TextWriter(self.store, g) for g in self.generations.live()]
            for writer in writers:
                writer.refresh_spaces([s.id for s in spaces if s.generation == writer.generation.id])
            if embedder is not None:
                # Before any mark is taken away: who is killed between text and vectors leaves this behind.
                self.queue.owe(self.settings.agent)
            self._first_new = fetch(self.store.connection, "SELECT coalesce(max(id), 0) FROM chunks")[0][0]
            self._sync_text(writers)
            if embedder is not None and self._text_is_done():
                vectors.run(spaces, stop=self.stop, after=self._first_new if self.lane == "live" else None)
            self._finish(spaces, vectors)
        finally:
            vectors.close()

    def _text_is_done(self) -> bool:
        """Whether nothing is left to write in the lane of this slice."""
        return self.queue.length(self.settings.agent, lane=self.lane) == 0

    def _sync_text(self, writers: list[TextWriter]) -> None:
        while not self.stop():
            marks = self.queue.claim(self.settings.agent, _MARKS_PER_ROUND, lane=self.lane)
            if not marks:
                return
            self.progress.files_waiting = self.queue.length(self.settings.agent, lane=self.lane)
            scans = [mark for mark in marks if mark.path in (SCAN, ALL_TRANSCRIPTS)]
            if scans:
                self._scan(writers, scans[0].lane, all_sessions=any(mark.path != SCAN for mark in scans))
                self.queue.done(self.settings.agent, scans)
                continue
            self._write_files(writers, marks)

    def _scan(self, writers: list[TextWriter], lane: Lane, *, all_sessions: bool) -> None:
        """Compare disk and index by size and time; what differs is marked dirty, in bulk for backfill."""
        scan = scan_sources(self.settings)
        dirty = changed_paths(scan, writers, self.settings, all_sessions=all_sessions)
        self._seen = {path: scan.files[path] for path in dirty if path in scan.files}
        if dirty:
            self.queue.mark(self.settings.agent, sorted(dirty), lane="backfill" if len(dirty) > BULK else lane)
        self.result.scanned = True
        self.progress.files_waiting = len(dirty)
        self.observe(self.progress)

    def _write_files(self, writers: list[TextWriter], marks: list[Mark]) -> None:
        done: list[Mark] = []
        with self.store.transaction():
            for mark in marks:
                if not self._write_guarded(writers, mark):
                    break
                done.append(mark)
                self.progress.files_done += 1
                self.progress.files_waiting = max(0, self.progress.files_waiting - 1)
                self.store.pause()
                if self.stop():
                    break
        # Marks go only after their files are committed; what was not committed is done again.
        self.queue.done(self.settings.agent, done)
        if self._bulky:
            self.queue.mark(self.settings.agent, self._bulky, lane="backfill")
            self._bulky = []
        self.progress.chunks_added = self.result.chunks_added
        self.observe(self.progress)

    def _write_guarded(self, writers: list[TextWriter], mark: Mark) -> bool:
        """Like `_write_marked`; what goes wrong with one file costs that file, unless it is the index that is amiss."""
        try:
            return self._write_marked(writers, mark)
        except (RecalliteError, apsw.Error) as error:
            if not isinstance(error, apsw.TooBigError):
                raise
            reason = "more text than SQLite can hold"
        except MemoryError:
            reason = "there is not enough memory for it"
        except Exception as error:
            logger.debug("agent %s: %s", self.settings.agent, mark.path, exc_info=error)
            reason = unforeseen(error)
        failure = Failure(mark.path, f"cannot be indexed: {reason}", permanent=False)
        for writer in writers:
            writer.fail(self._unread(mark.path), failure.reason)
        self.result.failures.append(failure)
        return True

    def _unread(self, path: str) -> FileState:
        """A file of which only the look is known. It is tried again by the next scan."""
        is_session = transcript_name(path) is not None
        found = None
        with suppress(OSError):
            found = find_session(path, self.settings) if is_session else find_note(path, self.settings)
        if found is None:
            return FileState("sessions" if is_session else "memory", path, None, 0, 0, 0)
        return FileState(found.source, path, None, found.size, found.mtime_ns, found.ctime_ns)

    def _write_marked(self, writers: list[TextWriter], mark: Mark) -> bool:
        """Whether it is dealt with; False for a transcript that goes on in another slice."""
        if transcript_name(mark.path) is None:
            self._write_note(writers, mark.path)
            return True
        update = TranscriptUpdate(mark.path, self.settings, self.stop)
        if mark.lane == "live" and update.is_bulk(writers):
            self._bulky.append(mark.path)
            return True
        outcome = update.run(writers)
        self.result.chunks_added += outcome.chunks_added
        self.result.files_removed += outcome.removed
        if outcome.failure is not None:
            self.result.failures.append(outcome.failure)
        elif outcome.complete and not outcome.removed:
            self.result.files_written += outcome.written
            self.result.files_unchanged += not outcome.written
        return outcome.complete

    def _write_note(self, writers: list[TextWriter], path: str) -> None:
        try:
            read = self._read_note(path)
        except OSError:
            keep(writers, path)  # the scan names it, or the folder that it lies in
            return
        if read is not None and read.state.hash is None:
            reason = read.reason or "cannot be read"
            keep_unread(writers, read.state, reason)
            self.result.failures.append(Failure(path, reason, permanent=False))
            return
        for writer in writers:
            if read is not None:
                self._write_one(writer, read)
            elif writer.remove(path):
                self.result.files_removed += 1
                must_forget(writer.store, writer.generation.id)

    def _read_note(self, path: str) -> ReadFile | None:
        """A note as it is now; None when it is surely gone. Raises OSError when nothing can be said of it."""
        # What this slice's own scan saw need not be looked for again: reading checks the path anyway.
        seen = self._seen.pop(path, None)
        read = read_note(seen) if seen is not None else None
        if read is None and (found := find_note(path, self.settings)) is not None:
            read = read_note(found)
        return read

    def _write_one(self, writer: TextWriter, read: ReadFile) -> None:
        row = writer.file(read.state.path)
        state = read.state
        if row is not None and row.state != "writing" and row.hash is not None and row.hash == state.hash:
            writer.touch(row, state)
            self.result.files_unchanged += 1
        elif read.text is None:
            writer.fail(state, read.reason or "cannot be indexed")
            self.result.failures.append(Failure(state.path, read.reason or "cannot be indexed"))
        else:
            limits = writer.generation.settings
            chunks = chunk_markdown(read.text, tokens=limits.tokens, overlap=limits.overlap)
            self.result.chunks_added += writer.write(state, chunks)
            self.result.files_written += 1

    def _finish(self, spaces: list[SpaceRow], vectors: VectorStage) -> None:
        """Flip, clean up, and tell what is left."""
        text_complete = self.queue.length(self.settings.agent) == 0
        lane_complete = self._text_is_done()
        if self.generations.flip(spaces, text_complete=text_complete):
            logger.info("agent %s: the rebuilt index answers now", self.settings.agent)
        self.generations.drop_retired()
        forgotten = forget(self.store, self.stop)
        if text_complete:
            compact_when_wasteful(self.store, spaces)
        waiting = sum(VectorWriter(self.store, space).pending_count() for space in spaces)
        self.result.vectors_waiting = waiting
        if self.lane == "live":
            self.result.more = not lane_complete
        else:
            # A provider that fails is not asked again at once: `retry_after_seconds` says when.
            interrupted = self.stop() and self.result.provider_reason is None
            left = waiting - self.result.vectors_in_batch
            self.result.more = not text_complete or not forgotten or (interrupted and left > 0)
        self.result.more = self.result.more or vectors.switched
        if text_complete and waiting == 0:
            with self.store.transaction() as connection:
                set_meta(connection, "last_success", time.time())
        vectors.note_owed()
