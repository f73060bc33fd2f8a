"""Status of an agent: disk, index, queue and provider compared. Reads only."""

from __future__ import annotations

import stat
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import apsw

from recallite.canary import self_search
from recallite.config import AgentSettings
from recallite.embeddings.choice import ProviderChoice
from recallite.embeddings.protocol import Space
from recallite.embeddings.registry import create_embedder
from recallite.errors import IndexMissingError, IndexUnusableError, ProviderError, QueueUnreachableError
from recallite.index.batchfile import batch_path, batch_state
from recallite.index.cachefile import cache_entries
from recallite.index.connection import IndexReader, SpaceRow, damaged
from recallite.index.counts import IndexCounts, IndexedFile, count
from recallite.index.extension import VectorExtension, extension_of
from recallite.index.readonly import ReaderClosedError
from recallite.index.vector import UnreadableVectorsError
from recallite.sources import scan_sources
from recallite.transcripts.report import report_sessions
from recallite.types import Failure, Fallback, Health, IndexStatus, Source, SourceCount, VectorState
from recallite.work import WorkQueue
from recallite.work.connect import broker_url
from recallite.work.producer_state import producer_state
from recallite.workspace import FoundFile, Scan
from recallite.workspace.files import NOTES_DIR, index_path

_Sourced = TypeVar("_Sourced", FoundFile, IndexedFile)
_WORSE: tuple[Health, ...] = ("ok", "degraded", "stale", "empty", "failed")


@dataclass(frozen=True, slots=True)
class _Problem:
    """One line for people, with the remedy, and how an index is that has it: the worst one is its health."""

    health: Health
    text: str


def agent_status(settings: AgentSettings, choice: ProviderChoice, queue: WorkQueue | None) -> IndexStatus:
    """Compare everything now. An index or a queue that cannot be used is a status, not an error.

    Without `queue` nothing is said of what waits in it.
    """
    scan = scan_sources(settings)
    counts, problems = _read_index(settings.index_path, extension_of(settings))
    pipeline, trouble = _pipeline(settings, queue)
    status = _status(settings, choice, scan, counts, pipeline)
    problems += trouble
    problems += _of_settings(settings, choice, counts)
    problems += _of_disk(settings, scan)
    problems += _of_files(status)
    problems += _of_sessions(settings, status)
    problems += _of_chunks(status)
    problems += _unserved(status)
    if status.rebuild is not None:
        problems.append(_Problem("ok", f"a rebuild is under way ({status.rebuild})"))
    health: Health = max((problem.health for problem in problems), key=_WORSE.index, default=_WORSE[0])
    return replace(status, problems=tuple(problem.text for problem in problems), health=health)


def _read_index(path: Path, extension: VectorExtension) -> tuple[IndexCounts | None, list[_Problem]]:
    while True:
        try:
            reader = IndexReader(path)
            try:
                return count(reader, extension), [_Problem("degraded", text) for text in _self_search(reader)]
            finally:
                reader.close()
        except ReaderClosedError:
            continue  # this process just became a writer; the next connection shares its view
        except IndexMissingError as error:
            return None, [_Problem("empty", str(error))]
        except IndexUnusableError as error:
            return None, [_Problem("failed", str(error))]
        except (apsw.CorruptError, apsw.NotADBError) as error:
            return None, [_Problem("failed", str(damaged(path, error)))]
        except (apsw.Error, OSError) as error:
            remedy = "look again; if it stays so, move the file away and run `recallite index`, which makes it anew"
            return None, [_Problem("failed", f"{path} cannot be read now ({error}): {remedy}")]


def _self_search(reader: IndexReader) -> list[str]:
    try:
        return self_search(reader)
    except (apsw.SQLError, UnreadableVectorsError) as error:  # how damage in the tables of vectors and words shows
        return [f"a search fails ({error}): run `recallite index --force`"]


def _status(
    settings: AgentSettings,
    choice: ProviderChoice,
    scan: Scan,
    counts: IndexCounts | None,
    pipeline: dict[str, Any],
) -> IndexStatus:
    indexed = counts.files if counts is not None else {}
    sessions = report_sessions(settings, _of_source("sessions", scan.files), _of_source("sessions", indexed))
    unindexed = [
        path
        for path, found in _of_source("memory", scan.files).items()
        if path not in indexed
        or indexed[path].state == "writing"
        or not indexed[path].was(found.size, found.mtime_ns, found.ctime_ns)
    ]
    vanished = [p for p in indexed if p not in scan.files and not scan.keeps(p)]
    failed = [
        Failure(path, file.reason or "cannot be indexed") for path, file in indexed.items() if file.state == "failed"
    ]
    good = {path: file for path, file in indexed.items() if file.state == "indexed"}
    space = counts.space if counts is not None else None
    return IndexStatus(
        agent=settings.agent,
        health="ok",
        problems=(),
        workspace=str(settings.workspace),
        index_path=str(settings.index_path),
        requested_provider=choice.requested,
        provider=space.provider if space is not None else None,
        model=space.model if space is not None else None,
        provider_reason=choice.reason,
        fallback=counts.failover if counts is not None else None,
        sources=tuple(_source_count(source, scan, good) for source in settings.search.sources),
        files_on_disk=len(scan.files),
        files_indexed=len(good),
        chunks=counts.chunks if counts is not None else 0,
        unindexed=(*sorted(unindexed), *sessions.due),
        vanished=tuple(sorted(vanished)),
        skipped=tuple(Failure(skipped.path, skipped.reason) for skipped in scan.skipped),
        failures=(*failed, *(counts.chunk_failures if counts is not None else ())),
        vectors=_vector_state(settings, counts, choice),
        fts=_fts_state(counts),
        rebuild=counts.rebuild if counts is not None else None,
        batch=batch_state(batch_path(settings.cache_path), now=time.time()),
        cache_entries=cache_entries(settings.cache_path),
        cache_max_entries=settings.search.cache.max_entries if settings.search.cache.enabled else 0,
        last_success=counts.last_success if counts is not None else None,
        below_threshold=sessions.below_threshold,
        bad_line_count=sessions.bad_line_count,
        bad_lines=sessions.bad_lines,
        unfinished=sessions.unfinished,
        rewritten=sessions.rewritten,
        without_text=sessions.without_text,
        **pipeline,
    )


def _of_source(source: Source, files: Mapping[str, _Sourced]) -> dict[str, _Sourced]:
    return {path: file for path, file in files.items() if file.source == source}


def _source_count(source: Source, scan: Scan, good: Mapping[str, IndexedFile]) -> SourceCount:
    own = _of_source(source, good)
    chunks = sum(file.chunks for file in own.values())
    return SourceCount(source, len(_of_source(source, scan.files)), len(own), chunks)


def _pipeline(settings: AgentSettings, queue: WorkQueue | None) -> tuple[dict[str, Any], list[_Problem]]:
    """What waits, who writes, who watches, who works; and why the queue does not say."""
    state = producer_state(settings.state_dir)
    found: dict[str, Any] = {
        "queue_live": 0,
        "queue_backfill": 0,
        "writer": None,
        "watcher": state.summary if state is not None else None,
        "last_scan": state.last_scan.get(settings.agent) if state is not None else None,
        "workers": (),
    }
    if queue is None:
        return found, []
    try:
        found["queue_live"] = queue.length(settings.agent, lane="live")
        found["queue_backfill"] = queue.length(settings.agent, lane="backfill")
        found["writer"] = queue.holder(settings.agent)
        heartbeats = getattr(queue, "heartbeats", None)
        if heartbeats is not None:
            found["workers"] = tuple(f"{name} ({said.get('lanes', '')})" for name, said in heartbeats())
    except QueueUnreachableError as error:
        remedy = "" if broker_url() is not None else "; a damaged one is begun anew by `recallite index`"
        return found, [_Problem("degraded", f"{error}{remedy}")]
    except (IndexUnusableError, OSError) as error:  # files beside the queue that may not be read
        return found, [_Problem("degraded", f"the work queue cannot be read: {error}")]
    return found, []


def _vector_state(settings: AgentSettings, counts: IndexCounts | None, choice: ProviderChoice) -> VectorState:
    if counts is None or counts.space is None:
        return VectorState("none", choice.reason or "nothing is embedded yet")
    numbers = {
        "dims": counts.space.dims,
        "indexed": counts.vectors,
        "pending": counts.pending,
        "failed": counts.failed,
    }
    if counts.vec_reason is None:
        return VectorState("ready", None, engine="sqlite-vec", **numbers)  # type: ignore[arg-type]
    state = "missing" if settings.search.store.vector.enabled else "disabled"
    reason = f"{counts.vec_reason}; vectors are kept in a plain table, which searches read half as fast"
    return VectorState(state, reason, engine="numpy", **numbers)  # type: ignore[arg-type]


def _fts_state(counts: IndexCounts | None) -> str:
    if counts is None:
        return "nothing indexed"
    if counts.keyword_rows != counts.chunks:
        return f"{counts.keyword_rows} rows for {counts.chunks} chunks"
    return "ready"


def _of_settings(settings: AgentSettings, choice: ProviderChoice, counts: IndexCounts | None) -> Iterator[_Problem]:
    """What is switched off, and what the settings ask for and the index does not have."""
    if not settings.search.enabled:
        yield _Problem("ok", "memorySearch.enabled is false for this agent")
    elif not settings.tools_enabled:
        yield _Problem("ok", 'plugins.slots.memory is "none": this agent cannot search')
    if counts is not None and counts.provider_trouble is not None:
        yield _Problem("degraded", f"vectors wait for the provider: {counts.provider_trouble}")
    if counts is not None and counts.failover is None and counts.primary_reason is not None:
        name = settings.search.fallback
        yield _Problem("degraded", f"{counts.primary_reason}; {name} embeds all anew, until then search is by keyword")
        return
    if counts is not None and counts.failover is not None:
        yield _Problem("degraded", _instead(counts.failover, counts.space))
        return
    if choice.requested != "auto" and choice.reason is not None:
        yield _Problem("degraded", f"provider {choice.requested}: {choice.reason}")
    if counts is None:
        return
    chunking = settings.search.chunking
    if (counts.chunk_tokens, counts.chunk_overlap) != (chunking.tokens, chunking.overlap):
        yield _Problem(
            "stale",
            f"the index holds chunks of {counts.chunk_tokens} tokens with {counts.chunk_overlap} of overlap, "
            f"the settings ask for {chunking.tokens} with {chunking.overlap}: run `recallite index`",
        )
    if choice.options is None or counts.chunks == 0:
        return
    try:
        embedder = create_embedder(choice.options)
    except ProviderError as error:
        yield _Problem("degraded", f"provider {choice.options.provider}: {error}")
        return
    wanted = embedder.space
    embedder.close()
    if not _holds(counts.space, wanted):
        held, asked = _names(counts.space, wanted)
        yield _Problem("stale", f"the index holds {held}, the settings ask for {asked}: run `recallite index`")


def _instead(fallback: Fallback, space: SpaceRow | None) -> str:
    answers = f"{space.provider}/{space.model}" if space is not None else "keyword search"
    return f"{answers} answers instead of {fallback.from_provider}: {fallback.reason}; it is asked again by itself"


def _holds(space: SpaceRow | None, wanted: Space) -> bool:
    if space is None or (space.provider, space.model, space.variant) != (wanted.provider, wanted.model, wanted.variant):
        return False
    return space.dims is None or wanted.dims is None or space.dims == wanted.dims


def _names(space: SpaceRow | None, wanted: Space) -> tuple[str, str]:
    """What is there and what is asked for, told apart by more than the model only where that is the same."""
    asked = f"{wanted.provider}/{wanted.model}"
    if space is None:
        return "no vectors", asked
    held = f"{space.provider}/{space.model}"
    if held != asked:
        return f"vectors of {held}", asked
    if space.dims != wanted.dims and wanted.dims is not None:
        return f"vectors of {held} with {space.dims} dimensions", f"{wanted.dims} dimensions"
    return f"vectors of {held} made in another way", "those of this version"


def _of_disk(settings: AgentSettings, scan: Scan) -> Iterator[_Problem]:
    """What could not be looked at: no file of it is missed anywhere else."""
    notes = settings.workspace / NOTES_DIR
    if trouble := _trouble_with_folder(settings.workspace):
        yield _Problem("degraded", f"the workspace {settings.workspace} {trouble}: {_STAYS}")
    elif _trouble_with_folder(notes) == _NO_FOLDER:
        yield _Problem("degraded", f"{notes} {_NO_FOLDER}: no note can be in it")
    for extra in settings.extra_paths:
        if _is_missing(extra):
            stays = f": {_STAYS}" if index_path(settings.workspace, extra) in scan.missing else ""
            yield _Problem("degraded", f"the extra path {extra} does not exist{stays}")
    for path in scan.unreadable[:_MOST_NAMED]:
        yield _Problem("degraded", f"{path} cannot be read: {_STAYS}")
    if left := scan.unreadable[_MOST_NAMED:]:
        yield _Problem("degraded", f"{len(left)} more files and folders cannot be read: {_STAYS}")


_STAYS = "what is indexed of it stays as it is"
_NO_FOLDER = "is not a directory"
_MOST_NAMED = 10


def _trouble_with_folder(path: Path) -> str | None:
    """What stands in the way of looking into a folder."""
    try:
        return None if stat.S_ISDIR(path.stat().st_mode) else _NO_FOLDER
    except (FileNotFoundError, NotADirectoryError):
        return "does not exist"
    except OSError as error:
        return f"cannot be read ({error.strerror or type(error).__name__})"


def _is_missing(path: Path) -> bool:
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def _of_files(status: IndexStatus) -> Iterator[_Problem]:
    if status.unindexed:
        yield _Problem("stale", f"{len(status.unindexed)} files wait to be indexed: {_remedy(status)}")
    if status.vanished:
        yield _Problem("stale", f"{len(status.vanished)} files are gone but still indexed: {_remedy(status)}")
    if status.failures:
        yield _Problem("degraded", f"{len(status.failures)} inputs could not be indexed")


def _remedy(status: IndexStatus) -> str:
    """With a broker the workers do it when they are asked."""
    command = "recallite index" if broker_url() is None else f"recallite backfill --agent {status.agent}"
    return f"run `{command}`"


def _of_sessions(settings: AgentSettings, status: IndexStatus) -> Iterator[_Problem]:
    """What is worth knowing of transcripts: most of it is as it should be."""
    if "sessions" in settings.search.sources and _is_missing(settings.sessions_dir):
        yield _Problem("ok", f"there are no transcripts yet: {settings.sessions_dir} does not exist")
    if status.bad_line_count:
        yield _Problem("degraded", f"{status.bad_line_count} lines of transcripts could not be read")
    if status.below_threshold:
        count_ = len(status.below_threshold)
        yield _Problem("ok", f"{count_} transcripts have new text below the thresholds of sync.sessions")
    if status.without_text:
        yield _Problem("ok", f"{status.without_text} indexed transcripts hold nothing that was said")
    if status.rewritten:
        text = "were cut or written anew since they were first indexed: what is no longer in them is not found"
        yield _Problem("ok", f"{len(status.rewritten)} transcripts {text}")


def _of_chunks(status: IndexStatus) -> Iterator[_Problem]:
    vectors = status.vectors
    if status.batch.waiting and vectors.pending:
        jobs = f"{status.batch.open_jobs} batch jobs bring vectors for {status.batch.waiting} texts"
        yield _Problem("degraded", f"{jobs}; until then they are found by keyword")
    elif vectors.pending:
        yield _Problem("degraded", f"{vectors.pending} chunks have no vector yet: {_remedy(status)}")
    if status.batch.off_reason is not None:
        yield _Problem("ok", f"no batch jobs for some hours: {status.batch.off_reason}")
    if status.batch.open_jobs and not vectors.pending:
        yield _Problem("ok", f"{status.batch.open_jobs} batch jobs of another model or provider are open")
    absent = status.chunks - vectors.indexed - vectors.pending - vectors.failed
    if vectors.state != "none" and absent > 0 and status.rebuild is None:
        yield _Problem("degraded", f"{absent} chunks lost their vectors: run `recallite index --force`")
    if status.fts not in ("ready", "nothing indexed"):
        yield _Problem("degraded", f"keyword index: {status.fts}: run `recallite index --force`")


def _unserved(status: IndexStatus) -> Iterator[_Problem]:
    """Work that waits while nobody is there to do it."""
    waiting = {"live": status.queue_live, "backfill": status.queue_backfill}
    if not any(waiting.values()) or status.writer is not None:
        return
    if broker_url() is None:
        if status.watcher is None or status.watcher.startswith(("stopped", "not running")):
            text = "changes wait and nothing serves them: run `recallite up` or `recallite index`"
            yield _Problem("degraded", text)
        return
    lanes = {lane for worker in status.workers for lane in worker.partition("(")[2].rstrip(")").split(",")}
    for lane, count_ in waiting.items():
        if count_ and lane not in lanes:
            remedy = f"no living worker serves it: run `recallite worker --lane {lane}`"
            yield _Problem("degraded", f"{count_} changes wait in the {lane} lane and {remedy}")
