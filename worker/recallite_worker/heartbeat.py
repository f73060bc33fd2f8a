"""A worker says that it lives: a key in Redis that is forgotten when it no longer does."""

from __future__ import annotations

import logging
import os
import time
from typing import Any

from celery import signals
from celery.worker import state

from recallite.errors import RecalliteError
from recallite.work.holder import Holder
from recallite_worker.jobs import Jobs

logger = logging.getLogger(__name__)

BEAT_SECONDS = 10.0
FORGOTTEN_SECONDS = 90
"""A health check that allows less than this asks for the time of the last beat itself."""
LANES_VARIABLE = "RECALLITE_WORKER_LANES"
"""Which queues this worker serves, set by `recallite worker` for its own processes."""


class Heartbeat:
    """Beats when Celery's own heart does: in the thread that takes messages, so that a stalled worker falls silent."""

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs
        self._last = 0.0

    def connect(self) -> None:
        signals.heartbeat_sent.connect(self._beat, weak=False)

    def _beat(self, sender: Any, **_: object) -> None:
        now = time.monotonic()
        if now - self._last < BEAT_SECONDS:
            return
        self._last = now
        name = str(getattr(getattr(sender, "eventer", None), "hostname", None) or f"pid-{os.getpid()}")
        said: dict[str, str | int] = {
            "at": int(time.time()),
            "pid": os.getpid(),
            "host": Holder.current().host,
            "lanes": os.environ.get(LANES_VARIABLE, ""),
            "finished": sum(state.total_count.values()),
        }
        try:
            self._jobs.queue.beat(name, said, seconds=FORGOTTEN_SECONDS)
        except RecalliteError as error:
            logger.warning("no heartbeat: %s", error)
