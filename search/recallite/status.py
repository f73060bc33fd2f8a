"""Status of an agent: disk, index, queue and provider compared. Reads only."""

from __future__ import annotations

import time
from collections.abc import Container, Iterator, Mapping
from dataclasses import replace
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
from recallite.index.connection import IndexReader, SpaceRow, unusable
from recallite.index.counts import IndexCounts, IndexedFile, count
from recallite.index.damage import found_damage
from recallite.index.extension import VectorExtension, extension_of
from recallite.index.readonly import ReaderClosedError
from recallite.index.schema import damaged
from recallite.index.vector import UnreadableVectorsError
from recallite.problems import Problem, of_chunks, of_disk, of_files, of_sessions, unserved
from recallite.sources import scan_sources
from recallite.transcripts.report import report_sessions
from recallite.types import Failure, Fallback, Health, IndexStatus, Source, SourceCount, VectorState
from recallite.wording import counted
from recallite.work import WorkQueue
from recallite.work.connect import broker_url
from recallite.work.producer_state import producer_state
from recallite.workspace import FoundFile, Scan
from recallite.workspace.files import NOTES_DIR, ROOT_NAMES

_Sourced = TypeVar("_Sourced", FoundFile, IndexedFile)
_WORSE: tuple[Health, ...] = ("ok", "degraded", "stale", "empty", "failed")


def agent_status(settings: AgentSettings, choice: ProviderChoice, queue: WorkQueue | None) -> IndexStatus:
    """Compare everything now. An index or a queue that cannot be used is a status, not an error.

    Without `queue` nothing is said of what waits in it.
    """
    if not settings.search.enabled:
        return _switched_off(settings, choice, queue)
    scan = scan_sources(settings)
    counts, problems = _read_index(settings.index_path, extension_of(settings))
    _drop_guesses(scan, counts.files if counts is not None else ())
    pipeline, trouble = _pipeline(settings, queue)
    status = _status(settings, choice, scan, counts, pipeline)
    problems += trouble
    problems += _of_settings(settings, choice, counts)
    problems += of_disk(settings, scan)
    problems += of_files(status)
    problems += of_sessions(settings, status)
    problems += of_chunks(status)
    problems += unserved(status)
    if status.rebuild is not None:
        problems.append(Problem("ok", f"a rebuild is under way ({status.rebuild})"))
    health: Health = max((problem.health for problem in problems), key=_WORSE.index, default=_WORSE[0])
    return replace(status, problems=tuple(problem.text for problem in problems), health=health)


def _drop_guesses(scan: Scan, indexed: Container[str]) -> None:
    """In a workspace that may not be entered nobody knows which notes there are: only what is indexed is named."""
    if NOTES_DIR in scan.unreadable:
        guessed = {name for name in ROOT_NAMES if name not in indexed}
        scan.unreadable = [path for path in scan.unreadable if path not in guessed]
        scan.skipped = [skipped for skipped in scan.skipped if skipped.path not in guessed]


def _switched_off(settings: AgentSettings, choice: ProviderChoice, queue: WorkQueue | None) -> IndexStatus:
    """Nothing is looked at: what an index from before holds is neither searched nor kept up."""
    pipeline, _ = _pipeline(settings, queue)
    status = _status(settings, choice, Scan(), None, pipeline)
    text = "memory search is switched off for this agent (memorySearch.enabled): nothing is indexed or searched"
    return replace(status, problems=(text,))


def _read_index(path: Path, extension: VectorExtension) -> tuple[IndexCounts | None, list[Problem]]:
    while True:
        try:
            reader = IndexReader(path)
            try:
                with reader.reading() as connection:
                    damage = found_damage(connection)
                if damage is not None:
                    return None, [Problem("failed", str(damaged(path, damage)))]
                return count(reader, extension), [Problem("degraded", text) for text in _self_search(reader)]
            finally:
                reader.close()
        except ReaderClosedError:
            continue  # this process just became a writer; the next connection shares its view
        except IndexMissingError as error:
            return None, [Problem("empty", str(error))]
        except IndexUnusableError as error:
            return None, [Problem("failed", str(error))]
        except apsw.Error as error:
            return None, [Problem("failed", str(unusable(path, error)))]


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
    good = {path: file for path, file in indexed.items() if file.state == "indexed" or _is_kept(path, file, scan)}
    kept = {path: file for path, file in good.items() if _is_kept(path, file, scan)}
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
        sources=tuple(_source_count(source, scan, good, kept) for source in settings.search.sources),
        files_on_disk=len(scan.files),
        files_indexed=len(good),
        files_kept=len(kept),
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


def _is_kept(path: str, file: IndexedFile, scan: Scan) -> bool:
    """Whether a file that cannot be read now is found by what is indexed of it."""
    if file.state == "failed":
        return file.chunks > 0
    return file.state == "indexed" and path not in scan.files and scan.keeps(path)


def _source_count(
    source: Source, scan: Scan, good: Mapping[str, IndexedFile], kept: Mapping[str, IndexedFile]
) -> SourceCount:
    own = _of_source(source, good)
    chunks = sum(file.chunks for file in own.values())
    on_disk = len(_of_source(source, scan.files))
    return SourceCount(source, on_disk, len(own), chunks, len(_of_source(source, kept)))


def _pipeline(settings: AgentSettings, queue: WorkQueue | None) -> tuple[dict[str, Any], list[Problem]]:
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
        return found, [Problem("degraded", f"{error}{remedy}")]
    except (IndexUnusableError, OSError) as error:  # files beside the queue that may not be read
        return found, [Problem("degraded", f"the work queue cannot be read: {error}")]
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
        rows, chunks = counted(counts.keyword_rows, "row"), counted(counts.chunks, "chunk")
        return f"{rows} for {chunks}"
    return "ready"


def _of_settings(settings: AgentSettings, choice: ProviderChoice, counts: IndexCounts | None) -> Iterator[Problem]:
    """What is switched off, and what the settings ask for and the index does not have."""
    if not settings.tools_enabled:
        yield Problem("ok", 'plugins.slots.memory is "none": this agent cannot search')
    if counts is not None and counts.provider_trouble is not None:
        yield Problem("degraded", f"vectors wait for the provider: {counts.provider_trouble}")
    if counts is not None and counts.failover is None and counts.primary_reason is not None:
        name = settings.search.fallback
        yield Problem("degraded", f"{counts.primary_reason}; {name} embeds all anew, until then search is by keyword")
        return
    if counts is not None and counts.failover is not None:
        yield Problem("degraded", _instead(counts.failover, counts.space))
        return
    if choice.requested != "auto" and choice.reason is not None:
        yield Problem("degraded", f"provider {choice.requested}: {choice.reason}")
    if counts is None:
        return
    chunking = settings.search.chunking
    if (counts.chunk_tokens, counts.chunk_overlap) != (chunking.tokens, chunking.overlap):
        yield Problem(
            "stale",
            f"the index holds chunks of {counts.chunk_tokens} tokens with {counts.chunk_overlap} of overlap, "
            f"the settings ask for {chunking.tokens} with {chunking.overlap}: run `recallite index`",
        )
    if choice.options is None or counts.chunks == 0:
        return
    try:
        embedder = create_embedder(choice.options)
    except ProviderError as error:
        yield Problem("degraded", f"provider {choice.options.provider}: {error}")
        return
    wanted = embedder.space
    embedder.close()
    if not _holds(counts.space, wanted):
        held, asked = _names(counts.space, wanted)
        yield Problem("stale", f"the index holds {held}, the settings ask for {asked}: run `recallite index`")


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
