"""Status of an agent: disk, index, queue and provider compared. Reads only."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from recallite.config import AgentSettings
from recallite.embeddings.choice import ProviderChoice
from recallite.errors import IndexMissingError, IndexUnusableError, QueueUnreachableError
from recallite.index.cachefile import cache_entries
from recallite.index.connection import IndexReader
from recallite.index.counts import IndexCounts, count
from recallite.index.extension import VectorExtension
from recallite.types import Failure, Health, IndexStatus, SourceCount, VectorState
from recallite.work import WorkQueue
from recallite.work.connect import broker_url
from recallite.work.producer_state import producer_state
from recallite.workspace import Scan, scan_memory
from recallite.workspace.files import is_below


def agent_status(
    settings: AgentSettings, choice: ProviderChoice, extension: VectorExtension, queue: WorkQueue | None
) -> IndexStatus:
    """Compare everything now. An index that cannot be used is a status, not an error."""
    scan = scan_memory(settings.workspace, settings.extra_paths, settings.search.exclude)
    counts: IndexCounts | None = None
    trouble: str | None = None
    missing = False
    try:
        reader = IndexReader(settings.index_path, extension)
        try:
            counts = count(reader)
        finally:
            reader.close()
    except IndexMissingError as error:
        trouble, missing = str(error), True
    except IndexUnusableError as error:
        trouble = str(error)
    status = _status(settings, choice, scan, counts, queue)
    problems = [trouble] if trouble is not None and not missing else []
    problems += _problems(status, settings)
    health = _health(status, missing=missing, broken=trouble is not None and not missing)
    return replace(status, problems=tuple(problems), health=health)


def _status(
    settings: AgentSettings,
    choice: ProviderChoice,
    scan: Scan,
    counts: IndexCounts | None,
    queue: WorkQueue | None,
) -> IndexStatus:
    indexed = counts.files if counts is not None else {}
    unindexed = [
        path
        for path, found in scan.files.items()
        if path not in indexed
        or indexed[path].state == "writing"
        or (indexed[path].size, indexed[path].mtime_ns) != (found.size, found.mtime_ns)
    ]
    vanished = [p for p in indexed if p not in scan.files and not is_below(p, scan.unreadable)]
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
        sources=(SourceCount("memory", len(scan.files), len(good), counts.chunks if counts else 0),),
        files_on_disk=len(scan.files),
        files_indexed=len(good),
        chunks=counts.chunks if counts is not None else 0,
        unindexed=tuple(sorted(unindexed)),
        vanished=tuple(sorted(vanished)),
        skipped=tuple(Failure(skipped.path, skipped.reason) for skipped in scan.skipped),
        failures=(*failed, *(counts.chunk_failures if counts is not None else ())),
        vectors=_vector_state(settings, counts, choice),
        fts=_fts_state(counts),
        rebuild=counts.rebuild if counts is not None else None,
        cache_entries=cache_entries(settings.cache_path),
        cache_max_entries=settings.search.cache.max_entries if settings.search.cache.enabled else 0,
        last_success=counts.last_success if counts is not None else None,
        **_pipeline(settings, queue),
    )


def _pipeline(settings: AgentSettings, queue: WorkQueue | None) -> dict[str, Any]:
    """What waits, who writes, who watches, who works. A queue that does not answer is told as trouble."""
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
        return found
    try:
        found["queue_live"] = queue.length(settings.agent, lane="live")
        found["queue_backfill"] = queue.length(settings.agent, lane="backfill")
        found["writer"] = queue.holder(settings.agent)
        heartbeats = getattr(queue, "heartbeats", None)
        if heartbeats is not None:
            found["workers"] = tuple(f"{name} ({said.get('lanes', '')})" for name, said in heartbeats())
    except QueueUnreachableError as error:
        found["watcher"] = f"{found['watcher'] or 'unknown'}; {error}"
    return found


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
    reason = f"{counts.vec_reason}; vectors are compared in this process, which is slower"
    return VectorState(state, reason, engine="numpy", **numbers)  # type: ignore[arg-type]


def _fts_state(counts: IndexCounts | None) -> str:
    if counts is None:
        return "nothing indexed"
    if counts.keyword_rows != counts.chunks:
        return f"{counts.keyword_rows} rows for {counts.chunks} chunks"
    return "ready"


def _problems(status: IndexStatus, settings: AgentSettings) -> list[str]:
    """One line each, with the remedy; empty when all is well."""
    problems = []
    if not settings.search.enabled:
        problems.append("memorySearch.enabled is false for this agent")
    if not settings.workspace.is_dir():
        problems.append(f"the workspace {status.workspace} does not exist")
    if status.unindexed:
        problems.append(f"{len(status.unindexed)} files wait to be indexed: run `recallite index`")
    if status.vanished:
        problems.append(f"{len(status.vanished)} files are gone but still indexed: run `recallite index`")
    if status.failures:
        problems.append(f"{len(status.failures)} inputs could not be indexed")
    vectors = status.vectors
    if vectors.pending:
        problems.append(f"{vectors.pending} chunks have no vector yet: run `recallite index`")
    absent = status.chunks - vectors.indexed - vectors.pending - vectors.failed
    if vectors.state != "none" and absent > 0:
        problems.append(f"{absent} chunks lost their vectors: run `recallite index --force`")
    if status.requested_provider != "auto" and status.provider_reason is not None:
        problems.append(f"provider {status.requested_provider}: {status.provider_reason}")
    if status.fts not in ("ready", "nothing indexed"):
        problems.append(f"keyword index: {status.fts}: run `recallite index --force`")
    problems += _unserved(status)
    if status.rebuild is not None:
        problems.append(f"a rebuild is under way ({status.rebuild})")
    return problems


def _unserved(status: IndexStatus) -> list[str]:
    """Work that waits while nobody is there to do it."""
    waiting = {"live": status.queue_live, "backfill": status.queue_backfill}
    if not any(waiting.values()) or status.writer is not None:
        return []
    if broker_url() is None:
        served = status.watcher is not None and not status.watcher.startswith(("stopped", "not running"))
        return [] if served else ["changes wait and nothing serves them: run `recallite up` or `recallite index`"]
    lanes = {lane for worker in status.workers for lane in worker.partition("(")[2].rstrip(")").split(",")}
    return [
        f"{count} changes wait in the {lane} lane and no living worker serves it: run `recallite worker --lane {lane}`"
        for lane, count in waiting.items()
        if count and lane not in lanes
    ]


def _health(status: IndexStatus, *, missing: bool, broken: bool) -> Health:
    if broken:
        return "failed"
    if missing:
        return "empty"
    if status.unindexed or status.vanished:
        return "stale"
    return "degraded" if _degraded(status) else "ok"


def _degraded(status: IndexStatus) -> bool:
    vectors = status.vectors
    lost = vectors.state != "none" and status.chunks > vectors.indexed
    asked_in_vain = status.requested_provider != "auto" and status.provider_reason is not None
    broken = status.fts != "ready" or bool(_unserved(status))
    return bool(status.failures or vectors.pending or lost or asked_in_vain or broken)
