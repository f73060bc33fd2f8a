"""Compare an agent's index with its files and say what is amiss.

The exit code is 0 when all is well, 3 when the index is stale or degraded, 1 when it is missing or broken.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

from recallite.cli.output import add_json, fallback_json, print_json, visible
from recallite.wording import counted

if TYPE_CHECKING:
    from recallite.types import Failure, IndexStatus

_EXIT = {"ok": 0, "stale": 3, "degraded": 3, "empty": 1, "failed": 1}
_WORST_FIRST = (1, 3, 0)
_LISTED = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--agent", metavar="ID", help="agent (default: all agents)")
    parser.add_argument("--verbose", action="store_true", help="list every file that is concerned")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    from recallite.client import MemorySearch
    from recallite.config import load_settings

    settings = load_settings(args.config)
    agents = [settings.agent(args.agent)] if args.agent is not None else [settings.agent(a) for a in settings.agent_ids]
    found = []
    for agent in agents:
        with MemorySearch(settings=agent) as memory:
            found.append(memory.status())
    if args.json:
        print_json([{**asdict(status), "fallback": fallback_json(status.fallback)} for status in found])
    else:
        for status in found:
            for line in _lines(status, everything=args.verbose):
                print(visible(line))
    return min((_EXIT[status.health] for status in found), key=_WORST_FIRST.index)


def _lines(status: IndexStatus, *, everything: bool) -> Iterator[str]:
    yield f"Memory of {status.agent}: {status.health}"
    yield f"  Workspace:  {status.workspace}"
    yield f"  Index:      {status.index_path}"
    files = f"{status.files_indexed} indexed, {status.files_on_disk} on disk{_kept(status.files_kept)}"
    yield f"  Files:      {files}, {_chunks(status.chunks)}"
    yield from _sessions(status)
    yield f"  Provider:   {_provider(status)}"
    vectors = status.vectors
    counts = f"{vectors.indexed} of {_chunks(status.chunks)}"
    waiting = f", {vectors.pending} pending" if vectors.pending else ""
    failed = f", {vectors.failed} failed" if vectors.failed else ""
    reason = f" ({vectors.reason})" if vectors.reason else ""
    engine = f" by {vectors.engine}" if vectors.engine else ""
    yield f"  Vectors:    {vectors.state}{engine}, {counts}{waiting}{failed}{reason}"
    yield f"  Keywords:   {status.fts}"
    cap = f" of at most {status.cache_max_entries}" if status.cache_max_entries else ", switched off"
    yield f"  Cache:      {counted(status.cache_entries, 'vector')}{cap}"
    writer = f", written by {status.writer}" if status.writer else ""
    yield f"  Queue:      {status.queue_live} fresh, {status.queue_backfill} in backfill{writer}"
    scanned = f", last scan asked for {_when(status.last_scan)}" if status.last_scan is not None else ""
    yield f"  Watcher:    {status.watcher or 'none (run `recallite up`, or `recallite index` after changes)'}{scanned}"
    if status.batch.jobs:
        waiting = counted(status.batch.waiting, "text waits", "texts wait")
        yield f"  Batch:      {counted(status.batch.open_jobs, 'job')} open, {waiting}"
    if status.workers:
        yield f"  Workers:    {', '.join(status.workers)}"
    yield f"  Last run:   {_when(status.last_success)}"
    for problem in status.problems:
        yield f"  ! {problem}"
    limit = None if everything else _LISTED
    yield from _listed("not indexed yet", status.unindexed, limit)
    yield from _listed("below the threshold", status.below_threshold, limit)
    yield from _listed("gone from the disk", status.vanished, limit)
    yield from _listed("failed", [_failure(f) for f in status.failures], limit)
    yield from _listed("left out", [_failure(f) for f in status.skipped], limit)
    lines = [*status.bad_lines, *status.unfinished]
    yield from _listed("line", [f"{line.path}:{line.line}: {line.reason}" for line in lines], limit)
    yield from _listed("written anew", status.rewritten, limit)


def _sessions(status: IndexStatus) -> Iterator[str]:
    for count in status.sources:
        if count.source == "sessions":
            bad = f", {counted(status.bad_line_count, 'bad line')}" if status.bad_line_count else ""
            yield (
                f"  Sessions:   {count.files_indexed} indexed, {count.files_on_disk} found{_kept(count.files_kept)}, "
                f"{len(status.below_threshold)} below the threshold, {_chunks(count.chunks)}{bad}"
            )


def _kept(number: int) -> str:
    """What is indexed and may not be among what is on disk."""
    return f", {number} kept that cannot be read now" if number else ""


def _chunks(number: int) -> str:
    return counted(number, "chunk")


def _provider(status: IndexStatus) -> str:
    used = f"{status.provider}/{status.model}" if status.provider else "none"
    asked = f" (requested: {status.requested_provider})"
    reason = f": {status.provider_reason}" if status.provider_reason else ""
    return f"{used}{asked}{reason}"


def _failure(failure: Failure) -> str:
    line = f":{failure.start_line}" if failure.start_line is not None else ""
    return f"{failure.path}{line}: {failure.reason}"


def _listed(title: str, entries: list[str] | tuple[str, ...], limit: int | None) -> Iterator[str]:
    for entry in entries[:limit]:
        yield f"    {title}: {entry}"
    if limit is not None and len(entries) > limit:
        yield f"    {title}: … and {len(entries) - limit} more (--verbose lists them)"


def _when(seconds: float | None) -> str:
    if seconds is None:
        return "never completed"
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))
