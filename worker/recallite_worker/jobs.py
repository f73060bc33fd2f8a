"""What a task does: one slice of one agent, then the hint for what is left."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from functools import cached_property
from pathlib import Path

from recallite.errors import FencedError, LeaseHeldError, RecalliteError, UnknownAgentError
from recallite.wording import counted
from recallite.work import LANES, Lane
from recallite.work.connect import open_dispatch
from recallite.work.dispatch import Dispatch
from recallite.work.redis import RedisQueue
from recallite_worker.batch_poll import poll_if_free
from recallite_worker.compaction import compact_agent
from recallite_worker.payloads import parse
from recallite_worker.results import SyncProgress, SyncResult
from recallite_worker.settings import SettingsSource
from recallite_worker.sync import sync_agent

logger = logging.getLogger(__name__)

Report = Callable[[str], object]
_REPORT_SECONDS = 1.0


class Jobs:
    """The work of one worker process. Settings are read when the first task arrives, connections made then."""

    def __init__(self, broker: str, *, config: str | Path | None = None) -> None:
        self._broker = broker
        self._settings = SettingsSource(config)
        self._lock = threading.Lock()

    @cached_property
    def _dispatch(self) -> Dispatch:
        settings = self._settings.current()
        return open_dispatch(settings, self._broker, agents=settings.agent_ids)

    @property
    def queue(self) -> RedisQueue:
        with self._lock:
            queue = self._dispatch.queue
        assert isinstance(queue, RedisQueue)
        return queue

    def sync(self, lane: Lane, payload: dict[str, object], *, report: Report = lambda text: None) -> str:
        """One slice; what it did, in words for Flower that hold no path and no text.

        An agent that another worker has is left to it: it sends the hint for what is left.
        """
        request = parse(payload)
        if isinstance(request, str):
            logger.error("a message of %s was refused: %s", lane, request)
            return "refused"
        queue = self.queue
        queue.started(request.agent, lane)
        try:
            settings = self._settings.agent(request.agent)
            result = sync_agent(
                settings, queue, lane="live" if lane == "live" else None, observe=_Progress(report).update
            )
        except (LeaseHeldError, FencedError) as error:
            logger.info("%s", error)
            return "left to another worker"
        except UnknownAgentError:
            logger.error("a message names an agent that is not configured here")
            return "unknown agent"
        except (RecalliteError, OSError) as error:
            # Left for the sweep: a fault that lasts must not spin.
            logger.error("agent %s: %s", request.agent, error)
            return f"failed: {type(error).__name__}"
        self._send_rest(request.agent, result)
        return _summary(result)

    def _send_rest(self, agent: str, result: SyncResult) -> None:
        """To the end of the queue, so that agents take turns."""
        for lane in LANES:
            left = result.vectors_waiting - result.vectors_in_batch
            waiting = lane == "backfill" and left > 0 and result.provider_reason is None
            if waiting or self.queue.length(agent, lane=lane) > 0:
                self._dispatch.send(agent, lane)
        if result.retry_after_seconds is not None:
            # Only sooner than the sweep that would find them owed.
            self._dispatch.send(agent, "backfill", after_seconds=result.retry_after_seconds)
        if result.jobs_made:
            self._dispatch.send(agent, "batch")

    def poll(self, payload: dict[str, object]) -> str:
        """Move an agent's batch jobs on, and say how it went."""
        request = parse(payload)
        if isinstance(request, str):
            logger.error("a message of batch was refused: %s", request)
            return "refused"
        self.queue.started(request.agent, "batch")
        try:
            done = poll_if_free(self._settings.agent(request.agent), self.queue)
        except (RecalliteError, OSError) as error:
            logger.error("agent %s: batch jobs: %s", request.agent, error)
            return f"failed: {type(error).__name__}"
        if done is None:
            return "left to another worker"
        if done.delivered or done.freed:
            self._dispatch.send(request.agent, "backfill")
        if done.next_seconds is not None:
            self._dispatch.send(request.agent, "batch", after_seconds=done.next_seconds)
        return f"{counted(done.open_jobs, 'job')} open, {counted(done.delivered, 'vector')} came"

    def compact(self, payload: dict[str, object]) -> None:
        """Give back the space of deleted vectors."""
        request = parse(payload)
        if isinstance(request, str):
            logger.error("a message of maintenance was refused: %s", request)
            return
        try:
            compact_agent(self._settings.agent(request.agent), self.queue)
        except (RecalliteError, OSError) as error:
            logger.error("agent %s: %s", request.agent, error)


class _Progress:
    """Passes progress on at most once a second, in words that hold no path and no text."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._last = time.monotonic()

    def update(self, progress: SyncProgress) -> None:
        now = time.monotonic()
        if now - self._last >= _REPORT_SECONDS:
            self._last = now
            self._report(
                f"{counted(progress.files_done, 'file')} done, {progress.files_waiting} waiting; "
                f"{counted(progress.vectors_done, 'vector')} done, {progress.vectors_waiting} waiting"
            )


def _summary(result: SyncResult) -> str:
    left = f"{counted(result.vectors_waiting, 'vector')} waiting" if result.vectors_waiting else "nothing left"
    return (
        f"{counted(result.files_written, 'file')}, {counted(result.chunks_added, 'chunk')}, "
        f"{counted(result.texts_embedded, 'text')} embedded, "
        f"{result.vectors_cached} from the cache, {left}, {result.milliseconds} ms"
    )
