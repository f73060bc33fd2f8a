"""Telling workers that an agent has work: mark first, then at most one message."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Protocol

from recallite.work.queue import LANES, SCAN, Lane, WorkQueue

logger = logging.getLogger(__name__)


class Publisher(Protocol):
    """Carries the hint that an agent has work: a broker message, or a knock at the embedded service."""

    def publish(self, agent: str, lane: Lane, *, after_seconds: float = 0.0) -> None:
        """`after_seconds` is at most a minute: brokers deliver what waits longer several times."""
        ...

    def waiting(self, lane: Lane) -> int:
        """Messages that no worker has taken yet."""
        ...


class Dispatch:
    """Marks paths and sends the hint. The marks are what counts; a hint that is lost is sent again by `sweep`."""

    def __init__(self, queue: WorkQueue, publisher: Publisher, *, agents: Sequence[str] = ()) -> None:
        """`agents` are all agents, to be scanned when the queue turns out to have lost its memory."""
        self.queue = queue
        self._publisher = publisher
        self._agents = tuple(agents)

    def dirty(self, agent: str, paths: Iterable[str], *, lane: Lane = "live") -> None:
        """Note changed paths of an agent. Raises QueueUnreachableError; then nothing is noted."""
        self.queue.mark(agent, paths, lane=lane)
        self.send(agent, lane)

    def send(self, agent: str, lane: Lane, *, after_seconds: float = 0.0) -> None:
        """Send the hint unless one is on its way already. It may be told to arrive later, by at most a minute."""
        if self.queue.schedule(agent, lane):
            self._publisher.publish(agent, lane, after_seconds=after_seconds)

    def sweep(self) -> None:
        """Send hints for all that is left: what repairs every lost message, worker and queue."""
        if self.queue.is_new():
            logger.info("the work queue is new: all %d agents are scanned", len(self._agents))
            for agent in self._agents:
                self.queue.mark(agent, [SCAN])
        idle = [lane for lane in LANES if self._publisher.waiting(lane) == 0]
        for entry in self.queue.backlog():
            for lane in LANES:
                if entry.count(lane) == 0:
                    continue
                if lane in idle:
                    self.queue.started(entry.agent, lane)  # no message is waiting: one that was sent is lost
                self.send(entry.agent, lane)

    def close(self) -> None:
        self.queue.close()
