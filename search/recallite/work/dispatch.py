"""Telling workers that an agent has work: mark first, then at most one message."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Collection, Iterable, Sequence
from typing import Protocol

from recallite.errors import QueueUnreachableError
from recallite.work.queue import ERRANDS, LANES, SCAN, Errand, Lane, WorkQueue

logger = logging.getLogger(__name__)


class Publisher(Protocol):
    """Carries the hint that an agent has work: a broker message, or a knock at the embedded service."""

    def publish(self, agent: str, errand: Errand, *, after_seconds: float = 0.0) -> None:
        """`after_seconds` is at most a minute: brokers deliver what waits longer several times."""
        ...

    def on_the_way(self, errand: Errand) -> Collection[str]:
        """Agents for which a message waits that no worker has taken yet."""
        ...


class Dispatch:
    """Marks paths and sends the hint. The marks are what counts; a hint that is lost is sent again by `sweep`."""

    def __init__(self, queue: WorkQueue, publisher: Publisher, *, agents: Sequence[str] = ()) -> None:
        """`agents` are all that are configured: scanned when the queue turns out to have lost its memory.

        Without them every agent that the queue knows is served.
        """
        self.queue = queue
        self._publisher = publisher
        self._agents = tuple(agents)
        self._drops_unknown = bool(self._agents)

    def dirty(self, agent: str, paths: Iterable[str], *, lane: Lane = "live") -> None:
        """Note changed paths of an agent. Raises QueueUnreachableError; then nothing is noted."""
        self.queue.mark(agent, paths, lane=lane)
        self.send(agent, lane)

    def send(self, agent: str, errand: Errand, *, after_seconds: float = 0.0) -> None:
        """Send the hint unless one is on its way already. It may be told to arrive later, by at most a minute."""
        if not self.queue.schedule(agent, errand):
            return
        try:
            self._publisher.publish(agent, errand, after_seconds=after_seconds)
        except BaseException:
            with contextlib.suppress(QueueUnreachableError):
                self.queue.started(agent, errand)  # or nobody would send it for minutes
            raise

    def sweep(self) -> None:
        """Send hints for all that is left: what repairs every lost message, worker and queue."""
        if self.queue.is_new():
            logger.info("the work queue is new: all %d agents are scanned", len(self._agents))
            for agent in self._agents:
                self.queue.mark(agent, [SCAN])
            self.queue.known()  # only now: who is killed before this does it again
        if self._drops_unknown:
            self._drop_unknown()
            self._drops_unknown = False
        waiting = {errand: frozenset(self._publisher.on_the_way(errand)) for errand in ERRANDS}
        left: set[tuple[str, Errand]] = {
            (entry.agent, lane) for entry in self.queue.backlog() for lane in LANES if entry.count(lane)
        }
        left |= {(agent, "backfill") for agent in self.queue.owed()}
        left |= {(agent, "batch") for agent in self.queue.owed("batch")}
        for agent, errand in sorted(left):
            if self._agents and agent not in self._agents:
                continue  # configured after this process was: the next one serves it
            if agent in waiting[errand]:
                self.queue.scheduled(agent, errand)
            else:
                self.queue.started(agent, errand)  # no message is waiting: one that was sent is lost
                self.send(agent, errand)

    def _drop_unknown(self) -> None:
        """Once, when the settings are fresh: nobody would ever serve agents that are no longer configured."""
        for agent in {entry.agent for entry in self.queue.backlog()}.union(self.queue.owed(), self.queue.owed("batch")):
            if agent not in self._agents:
                logger.info("agent %s is no longer configured: what waits for it is dropped", agent)
                self.queue.forget(agent)

    def close(self) -> None:
        self.queue.close()
