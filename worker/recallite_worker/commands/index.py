"""Make the index of one agent, or of all, equal to the files.

The exit code is 0 when everything is indexed, 3 when some input failed or vectors are missing, 1 when an agent
could not be indexed at all, 130 after Ctrl-C. What was done is kept in every case, and the next run goes on.
"""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import signal
import sys
import time
from types import FrameType
from typing import TYPE_CHECKING

from recallite.cli.output import visible
from recallite.wording import counted

if TYPE_CHECKING:
    from recallite.config import AgentSettings
    from recallite.work import WorkQueue
    from recallite_worker.executor import AgentOutcome

EXIT_OK, EXIT_FAILED, EXIT_DEGRADED, EXIT_INTERRUPTED = 0, 1, 3, 130


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--agent", metavar="ID", help="agent (default: all agents)")
    parser.add_argument("--force", action="store_true", help="build the index anew; vectors in the cache are kept")


def run(args: argparse.Namespace) -> int:
    from recallite.config import load_settings
    from recallite.transcripts.names import ALL_TRANSCRIPTS
    from recallite.work import SCAN
    from recallite.work.connect import broker_url, open_queue
    from recallite_worker.batch_wait import BatchWait
    from recallite_worker.executor import EmbeddedExecutor
    from recallite_worker.leases import PATIENCE_SECONDS
    from recallite_worker.pause_wait import PauseWait
    from recallite_worker.progress import progress_display

    settings = load_settings(args.config)
    named = [args.agent] if args.agent is not None else list(settings.agent_ids)
    agents = [settings.agent(name) for name in named]
    enabled = [agent for agent in agents if agent.search.enabled]
    for agent in agents:
        if agent not in enabled:
            print(f"{agent.agent}: memory search is switched off (memorySearch.enabled)")
    # What ends an agent's run is told below, once, and not in the log as well.
    logging.getLogger("recallite_worker.executor").addHandler(logging.NullHandler())
    for agent in enabled:
        _fetch_model(agent)
    queue = open_queue(settings, broker_url())  # with a broker the workers hold the same leases
    began = time.monotonic()
    try:
        with progress_display() as display:
            executor = EmbeddedExecutor(queue, patience=PATIENCE_SECONDS, observe=display.update)
            interrupted = _Interrupts(executor.stop)
            with interrupted:
                for agent in enabled:
                    queue.mark(agent.agent, [SCAN, ALL_TRANSCRIPTS])
                outcomes = executor.run(enabled, rebuild=args.force)
                PauseWait(enabled, executor, stopped=lambda: interrupted.happened).run(outcomes)
                BatchWait(enabled, queue, executor, stopped=lambda: interrupted.happened).run(outcomes)
        seconds = time.monotonic() - began
        codes = [_report(agent, outcomes.get(agent.agent), queue, seconds) for agent in enabled]
    finally:
        queue.close()
    if interrupted.happened:
        print("interrupted: what was done is kept; run `recallite index` to go on", file=sys.stderr)
        return EXIT_INTERRUPTED
    return max(codes, key=[EXIT_OK, EXIT_DEGRADED, EXIT_FAILED].index, default=EXIT_OK)


def _fetch_model(agent: AgentSettings) -> None:
    """Download a model of the provider local now, with its progress; what goes wrong is told by the run."""
    from recallite.embeddings.choice import choose_provider
    from recallite.embeddings.local import LocalEmbedder
    from recallite.errors import ProviderError
    from recallite_worker.progress import DownloadBar
    from recallite_worker.vector_stage import open_embedder

    if choose_provider(agent).provider != "local":
        return
    embedder, _ = open_embedder(agent)
    if isinstance(embedder, LocalEmbedder):
        with contextlib.suppress(ProviderError), DownloadBar() as bar:
            embedder.fetch_model(bar.update)


class _Interrupts:
    """The first Ctrl-C or SIGTERM asks for an orderly end, the second one ends at once."""

    def __init__(self, stop: object) -> None:
        self.happened = False
        self._stop = stop
        self._before: dict[int, object] = {}

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.happened:
            os._exit(EXIT_INTERRUPTED)  # to unwind would wait for the slices that run; what is committed is kept
        self.happened = True
        self._stop()  # type: ignore[operator]  # given as a bound method

    def __enter__(self) -> _Interrupts:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]  # what signal() returned before


def _report(agent: AgentSettings, outcome: AgentOutcome | None, queue: WorkQueue, seconds: float) -> int:
    from recallite.client import MemorySearch
    from recallite.errors import LeaseHeldError
    from recallite_worker.leases import held_by

    if outcome is None:
        return EXIT_FAILED
    if isinstance(outcome.error, LeaseHeldError):
        print(f"{agent.agent}: {held_by(queue.holder(agent.agent))}", file=sys.stderr)
        return EXIT_FAILED
    if outcome.error is not None:
        print(f"{agent.agent}: failed: {outcome.error}", file=sys.stderr)
        return EXIT_FAILED
    with MemorySearch(settings=agent) as memory:
        status = memory.status(look_at_queue=False)  # this run has just emptied it
    vectors = status.vectors
    model = f" ({status.provider}/{status.model})" if status.provider else ""
    print(
        f"{agent.agent}: {counted(status.files_indexed, 'file')}, {counted(status.chunks, 'chunk')}, "
        f"{counted(vectors.indexed, 'vector')}{model}; this run: "
        f"{counted(outcome.files_written, 'file')} written, {outcome.files_removed} removed, "
        f"{counted(outcome.texts_embedded, 'text')} embedded, "
        f"{counted(outcome.vectors_cached, 'vector')} from the cache, {seconds:.1f} s"
    )
    for failure in status.failures:
        line = f":{failure.start_line}" if failure.start_line is not None else ""
        print(visible(f"  failed: {failure.path}{line}: {failure.reason}"))
    for skipped in status.skipped:
        print(visible(f"  left out: {skipped.path}: {skipped.reason}"))
    for problem in status.problems:
        if outcome.provider_reason is None or outcome.provider_reason not in problem:  # that is told below
            print(visible(f"  ! {problem}"))
    return _verdict(agent, outcome, degraded=status.health != "ok")


def _verdict(agent: AgentSettings, outcome: AgentOutcome, *, degraded: bool) -> int:
    reason = outcome.provider_reason
    if reason is not None and agent.search.provider is None and outcome.vectors_waiting == 0:
        print(f"  notice: keyword search only, {reason}")
    elif reason is not None:
        print(f"  provider: {reason}; keyword search works on all of it", file=sys.stderr)
        if outcome.pause_seconds is not None:
            again = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(time.time() + outcome.pause_seconds))
            print(f"  run `recallite index` again after {again} for the missing vectors", file=sys.stderr)
        degraded = True
    return EXIT_DEGRADED if degraded else EXIT_OK
