"""The embedded service: serves the queue of a state directory with threads, for as long as it runs."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Collection

from recallite.config import Settings
from recallite.errors import LeaseHeldError, RecalliteError
from recallite.work import Errand, Lane, WorkQueue
from recallite_worker.batch_poll import poll_if_free
from recallite_worker.sync import sync_agent
from recallite_worker.vector_stage import EmbedderFactory, open_embedder

logger = logging.getLogger(__name__)

POLL_SECONDS = 1.0
"""How soon marks of other processes are noticed; marks of this one wake the service at once."""
_BACK_OFF_SECONDS = 5.0


class EmbeddedService:
    """Also a Publisher: a hint wakes the threads. An agent is worked on by one thread at a time."""

    def __init__(self, settings: Settings, queue: WorkQueue, *, embedders: EmbedderFactory = open_embedder) -> None:
        self._settings = settings
        self._agents = frozenset(settings.agent_ids)
        self._queue = queue
        self._embedders = embedders
        self._wake = threading.Condition()
        self._busy: set[str] = set()
        self._rest: dict[str, float] = {}
        """Until when an agent that failed, or that another process works on, is left alone."""
        self._stopped = threading.Event()
        lanes: tuple[Lane | None, ...] = ("live", None)
        # One thread serves live marks only, so that an edit never waits behind a backfill; one serves all.
        self._threads = [
            threading.Thread(target=self._serve, args=(lane,), name=f"recallite-{lane or 'all'}", daemon=True)
            for lane in lanes
        ]
        # Looking at batch jobs is waiting for a network: in a thread of its own it holds up neither.
        self._threads.append(threading.Thread(target=self._poll_batches, name="recallite-batches", daemon=True))

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def publish(self, agent: str, errand: Errand, *, after_seconds: float = 0.0) -> None:
        """There is work: look now. For what comes later the queue itself is looked at every second."""
        with self._wake:
            self._wake.notify_all()

    def on_the_way(self, errand: Errand) -> Collection[str]:
        """No messages are kept; the marks themselves are looked at."""
        return ()

    def is_alive(self) -> bool:
        return all(thread.is_alive() for thread in self._threads)

    def stop(self, timeout_seconds: float) -> bool:
        """Let slices end at their next safe point; whether all ended in time. Marks that are left stay."""
        self._stopped.set()
        with self._wake:
            self._wake.notify_all()
        deadline = time.monotonic() + timeout_seconds
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)

    def _poll_batches(self) -> None:
        while not self._stopped.wait(POLL_SECONDS):
            try:
                due = [agent for agent in self._queue.owed("batch") if agent in self._agents]
            except (RecalliteError, OSError) as error:
                logger.error("the work queue cannot be read: %s", error)
                due = []
            failures = sum(not self._stopped.is_set() and not self._poll(agent) for agent in due)
            if failures:
                self._stopped.wait(_BACK_OFF_SECONDS)

    def _poll(self, agent: str) -> bool:
        """Whether the agent's jobs could be looked at; one that fails holds up no other."""
        try:
            poll_if_free(self._settings.agent(agent), self._queue)
        except Exception as error:
            expected = isinstance(error, RecalliteError | OSError)
            logger.error("agent %s: batch jobs: %s", agent, error, exc_info=None if expected else error)
            return False
        return True

    def _serve(self, lane: Lane | None) -> None:
        while not self._stopped.is_set():
            try:
                agent = self._take(lane)
            except (RecalliteError, OSError) as error:
                logger.error("the work queue cannot be read: %s", error)
                self._stopped.wait(_BACK_OFF_SECONDS)
                continue
            if agent is None:
                with self._wake:
                    self._wake.wait(POLL_SECONDS)
                continue
            try:
                self._work(agent, lane)
            finally:
                with self._wake:
                    self._busy.discard(agent)
                    self._wake.notify_all()

    def _take(self, lane: Lane | None) -> str | None:
        """The next agent with work for this thread that nobody works on: marks, then vectors that are due."""
        wanted = [entry.agent for entry in self._queue.backlog() if lane is None or entry.count(lane) > 0]
        if lane is None:
            wanted += self._queue.owed()
        now = time.monotonic()
        with self._wake:
            for agent in wanted:
                served = agent in self._agents and agent not in self._busy
                if served and self._rest.get(agent, 0.0) <= now:
                    self._busy.add(agent)
                    return agent
        return None

    def _work(self, agent: str, lane: Lane | None) -> None:
        try:
            settings = self._settings.agent(agent)
            result = sync_agent(settings, self._queue, lane=lane, embedders=self._embedders, stop=self._stopped.is_set)
        except LeaseHeldError as error:
            logger.info("%s", error)
            self._rest[agent] = time.monotonic() + POLL_SECONDS
        except Exception as error:  # the thread serves all agents: one that meets a fault of ours rests
            expected = isinstance(error, RecalliteError | OSError)
            logger.error("agent %s: %s", agent, error, exc_info=None if expected else error)
            self._rest[agent] = time.monotonic() + _BACK_OFF_SECONDS
        else:
            if result.retry_after_seconds is not None:
                logger.warning("agent %s: %s", agent, result.provider_reason)
