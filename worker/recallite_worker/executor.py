"""The embedded executor: the same `sync_agent` in this process, agents taking turns."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field

from recallite.config import AgentSettings
from recallite.errors import RecalliteError, unforeseen
from recallite.types import Failure
from recallite.work import SCAN, WorkQueue
from recallite_worker.results import SyncProgress, SyncResult
from recallite_worker.sync import SLICE_SECONDS, sync_agent
from recallite_worker.vector_stage import EmbedderFactory, open_embedder

logger = logging.getLogger(__name__)

THREADS = 2
RESCAN_SECONDS, MOST_RESCANS = 1.0, 2
"""A run that took longer ends with one more look at the disk; under steady edits it still ends."""
Observer = Callable[[str, SyncProgress], None]


@dataclass(slots=True)
class AgentOutcome:
    """What a whole run did for one agent: the sum of its slices, or the error that ended it."""

    agent: str
    slices: int = 0
    files_written: int = 0
    files_removed: int = 0
    chunks_added: int = 0
    texts_embedded: int = 0
    vectors_cached: int = 0
    vectors_waiting: int = 0
    provider_reason: str | None = None
    pause_seconds: float | None = None
    """For how long the provider, which asked to slow down, is left alone."""
    failures: list[Failure] = field(default_factory=list)
    error: RecalliteError | OSError | None = None
    scanned: float = field(default_factory=time.monotonic)
    rescans: int = 0

    def add(self, later: SyncResult | AgentOutcome) -> None:
        """A further slice for the agent, or a further run, of which the error counts too."""
        self.slices += 1 if isinstance(later, SyncResult) else later.slices
        self.files_written += later.files_written
        self.files_removed += later.files_removed
        self.chunks_added += later.chunks_added
        self.texts_embedded += later.texts_embedded
        self.vectors_cached += later.vectors_cached
        self.vectors_waiting = later.vectors_waiting
        self.provider_reason = later.provider_reason
        self.pause_seconds = later.pause_seconds
        self.failures.extend(later.failures)
        if isinstance(later, AgentOutcome):
            self.error = later.error


class EmbeddedExecutor:
    """Runs slices of agents until none has work that can be done now."""

    def __init__(
        self,
        queue: WorkQueue,
        *,
        embedders: EmbedderFactory = open_embedder,
        threads: int = THREADS,
        slice_seconds: float = SLICE_SECONDS,
        patience: float = 0.0,
        observe: Observer = lambda agent, progress: None,
    ) -> None:
        self._queue = queue
        self._embedders = embedders
        self._threads = threads
        self._slice_seconds = slice_seconds
        self._patience = patience
        self._observe = observe
        self._stopped = threading.Event()

    def stop(self) -> None:
        """Let running slices end at their next safe point; everything done so far is kept."""
        self._stopped.set()

    def run(self, agents: Iterable[AgentSettings], *, rebuild: bool = False) -> dict[str, AgentOutcome]:
        """Serve the agents in turns until they have no more work, or `stop` is called.

        An agent that fails does not end the others; its error is in its outcome.
        """
        outcomes: dict[str, AgentOutcome] = {}
        waiting = list(agents)
        running: dict[Future[SyncResult], AgentSettings] = {}
        with ThreadPoolExecutor(self._threads, thread_name_prefix="recallite") as pool:
            try:
                while waiting or running:
                    while waiting and len(running) < self._threads and not self._stopped.is_set():
                        settings = waiting.pop(0)
                        first = settings.agent not in outcomes
                        outcomes.setdefault(settings.agent, AgentOutcome(settings.agent))
                        running[pool.submit(self._slice, settings, rebuild and first)] = settings
                    if not running:
                        break
                    finished, _ = wait(running, timeout=0.5, return_when=FIRST_COMPLETED)
                    for future in finished:
                        settings = running.pop(future)
                        if self._note(outcomes[settings.agent], future):
                            waiting.append(settings)
            except BaseException:
                self.stop()
                raise
        return outcomes

    def _slice(self, settings: AgentSettings, rebuild: bool) -> SyncResult:
        return sync_agent(
            settings,
            self._queue,
            embedders=self._embedders,
            seconds=self._slice_seconds,
            patience=self._patience,
            rebuild=rebuild,
            stop=self._stopped.is_set,
            observe=lambda progress: self._observe(settings.agent, progress),
        )

    def _note(self, outcome: AgentOutcome, future: Future[SyncResult]) -> bool:
        """Take in a slice; whether the agent should be served again."""
        try:
            result = future.result()
        except (RecalliteError, OSError) as error:
            logger.error("agent %s: %s", outcome.agent, error)
            outcome.error = error
            return False
        except Exception as error:
            logger.error("agent %s: %s", outcome.agent, unforeseen(error), exc_info=error)
            outcome.error = RecalliteError(unforeseen(error))
            return False
        outcome.add(result)
        if result.more:
            return True
        if result.provider_reason is not None:
            return False  # to look once more would be to ask the provider once more
        # Files may have changed, or gone, while their vectors were made: look once more, but not for ever.
        if time.monotonic() - outcome.scanned > RESCAN_SECONDS and outcome.rescans < MOST_RESCANS:
            outcome.rescans += 1
            outcome.scanned = time.monotonic()
            self._queue.mark(outcome.agent, [SCAN])
            return not self._stopped.is_set()
        return False
