"""The indexer inside `recallite up`: found by its entry point, kept running."""

from __future__ import annotations

import logging
from collections.abc import Collection
from importlib.metadata import entry_points
from typing import Protocol

from recallite.config import Settings
from recallite.errors import RecalliteError
from recallite.work import Errand, WorkQueue
from recallite.work.dispatch import Publisher

logger = logging.getLogger(__name__)

ENTRY_POINTS = "recallite.services"
NAME = "embedded"


class Service(Publisher, Protocol):
    """What the entry point's class makes: indexes what the queue holds, in threads of this process."""

    def start(self) -> None: ...

    def is_alive(self) -> bool: ...

    def stop(self, timeout_seconds: float) -> bool: ...


class ServiceFactory(Protocol):
    def __call__(self, settings: Settings, queue: WorkQueue) -> Service: ...


def load_service() -> ServiceFactory:
    """The class of the installed indexer. Raises RecalliteError if there is none."""
    for entry in entry_points(group=ENTRY_POINTS, name=NAME):
        factory: ServiceFactory = entry.load()
        return factory
    raise RecalliteError("no indexer is installed: pip install recallite-worker")


class Indexer(Publisher):
    """A Publisher for Dispatch that stays the same when the service behind it is replaced."""

    def __init__(self, factory: ServiceFactory, settings: Settings, queue: WorkQueue) -> None:
        self._factory = factory
        self._settings = settings
        self._queue = queue
        self._service = factory(settings, queue)

    def start(self) -> None:
        self._service.start()

    def publish(self, agent: str, errand: Errand, *, after_seconds: float = 0.0) -> None:
        self._service.publish(agent, errand, after_seconds=after_seconds)

    def on_the_way(self, errand: Errand) -> Collection[str]:
        return self._service.on_the_way(errand)

    def keep_alive(self) -> None:
        """Start a new service if the threads of the old one have ended."""
        if not self._service.is_alive():
            logger.error("the indexer has ended; it is started again")
            self._service.stop(0.0)
            self._service = self._factory(self._settings, self._queue)
            self._service.start()

    def stop(self, timeout_seconds: float) -> bool:
        """Whether it ended in time."""
        return self._service.stop(timeout_seconds)
