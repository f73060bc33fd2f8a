"""The producer: watcher, debounce, timers and outbox on one thread."""

from __future__ import annotations

import functools
import logging
import math
import os
import threading
import time
from collections.abc import Callable, Iterable
from typing import Literal

from recallite.config import Settings
from recallite.transcripts.names import transcript_name
from recallite.wording import counted
from recallite.work import SCAN, Lane
from recallite.work.holder import Holder
from recallite_producer.debounce import Debouncer
from recallite_producer.outbox import Outbox, Sender
from recallite_producer.roots import Change
from recallite_producer.status import ProducerHealth, status_path, write_status
from recallite_producer.thresholds import SessionThresholds
from recallite_producer.timers import ProducerTimes, Timers
from recallite_producer.watch import Watcher

logger = logging.getLogger(__name__)

MOST_LIVE_PATHS = 500
"""More changes of an agent at once than this are no edit: they must not go before the edits of others."""
_BREATH_SECONDS = 0.05
"""Files of a burst become due one after the other; those of this time go to the queue together."""
_FAILURE_SECONDS = 60.0
"""A failure that comes again and again is told, and answered with scans, once in this time."""
_ERROR_SHOWN_SECONDS = 600.0


class ProducerService:
    """Notices changed notes of all agents and passes them on to `sender`, at once and by scans.

    It outlives what it meets: a sender that fails, folders that come and go, its own errors.
    """

    def __init__(
        self,
        settings: Settings,
        sender: Sender,
        *,
        times: ProducerTimes | None = None,
    ) -> None:
        self._times = times or ProducerTimes()
        self._agents = [a for a in map(settings.agent, settings.agent_ids) if a.search.enabled]
        self._status_path = status_path(settings.state_dir)
        self._wake = threading.Event()
        self._quiet = {a.agent: a.search.sync.watch_debounce_ms / 1000 for a in self._agents}
        self._debouncer = Debouncer(self._quiet, wake=self._wake.set)
        self._watcher = Watcher(
            self._agents, self._debouncer.touch, wake=self._wake.set, poll_seconds=self._times.poll_seconds
        )
        self._sessions = SessionThresholds(self._agents)
        self._outbox = Outbox(sender)
        self._timers = Timers()
        self._state: Literal["starting", "running", "stopped"] = "starting"
        self._started = time.time()
        self._scan_asked: dict[str, float] = {}
        self._failures = 0
        self._failed_at = -math.inf
        self._last_error: tuple[float, str] | None = None
        self._stop_by: float | None = None
        self._thread = threading.Thread(target=self._run, name="recallite-producer", daemon=True)
        self._news = threading.Event()
        # On its own: a queue that hangs must not keep the producer from saying so.
        self._reporter = threading.Thread(target=self._report, name="recallite-producer-status", daemon=True)

    def start(self) -> None:
        """Begin, without waiting for the folders to be watched."""
        self._set_timers()
        self._thread.start()
        self._reporter.start()

    def stop(self, timeout_seconds: float = 5.0) -> bool:
        """End; changes that are not quiet yet are passed on first. Whether all of them were taken in time."""
        self._stop_by = time.monotonic() + timeout_seconds * 0.8  # the rest is for its last words
        self._wake.set()
        self._thread.join(timeout_seconds)
        return self._state == "stopped" and len(self._outbox) == 0

    def is_alive(self) -> bool:
        """Whether it works; false before `start` and after `stop`."""
        return self._thread.is_alive()

    def health(self) -> ProducerHealth:
        """How it is doing now; may be asked from any thread."""
        return ProducerHealth(
            state=self._state,
            pid=os.getpid(),
            host=Holder.current().host,
            started=self._started,
            updated=time.time(),
            folders=self._watcher.states(),
            last_scan=dict(self._outbox.last_scan),
            waiting=len(self._debouncer),
            unsent=len(self._outbox),
            restarts=self._failures + self._watcher.restarts,
            queue_trouble=self._outbox.trouble,
            last_error=self._recent_error(),
        )

    def _set_timers(self) -> None:
        times = self._times
        self._timers.every(times.check_seconds, self._check)
        self._timers.every(times.sweep_seconds, self._outbox.sweep)
        self._timers.every(times.idle_seconds, self._pass_on_quiet_sessions)
        self._timers.every(times.scan_seconds, self._watcher.try_events_again)
        for agent in self._agents:
            if agent.search.sync.watch:
                self._timers.every(times.scan_seconds, functools.partial(self._scan, [agent.agent]))
            if minutes := agent.search.sync.interval_minutes:
                self._timers.every(minutes * 60, functools.partial(self._scan, [agent.agent]))

    def _run(self) -> None:
        self._try(self._begin)
        while self._stop_by is None:
            # Each on its own: what fails must not keep the others from their work.
            self._try(self._timers.run_due)
            self._try(self._hear_watcher)
            self._try(lambda: self._pass_on(self._debouncer.take()))
            self._outbox.flush()
            self._wait()
        stop_by = self._stop_by
        self._try(lambda: self._finish(stop_by))

    def _begin(self) -> None:
        try:
            self._watcher.check()
        finally:
            # After the watches stand, so that nothing falls between the scan and the first event.
            self._scan(agent.agent for agent in self._agents)
            self._try(self._sessions.begin)
            self._state = "running"
        self._news.set()
        logger.info(
            "watching %s of %s", counted(len(self._watcher.states()), "folder"), counted(len(self._agents), "agent")
        )

    def _hear_watcher(self) -> None:
        if self._watcher.wants_check:
            self._check()

    def _wait(self) -> None:
        due = [self._timers.next_due(), self._debouncer.next_due(), self._outbox.next_due()]
        soonest = min((moment for moment in due if moment is not None), default=0.0)
        self._wake.wait(max(_BREATH_SECONDS, soonest - time.monotonic()))
        self._wake.clear()

    def _check(self) -> None:
        self._scan(self._watcher.check(), lane="live")

    def _scan(self, agents: Iterable[str], *, lane: Lane = "backfill") -> None:
        for agent in agents:
            self._outbox.add(agent, [SCAN], lane)
            self._scan_asked[agent] = time.monotonic()

    def _pass_on(self, changes: Iterable[Change]) -> None:
        paths: dict[str, dict[str, None]] = {}
        for change in changes:
            if transcript_name(change.path) is not None:
                if self._sessions.changed(change.agent, change.path):
                    paths.setdefault(change.agent, {})[change.path] = None
                continue
            root = change.root
            if root is not None and root.ignores(change.parts, is_directory=change.is_directory):
                continue
            if change.path == SCAN:
                self._scan([change.agent], lane="live")
            elif not change.is_directory:
                paths.setdefault(change.agent, {})[change.path] = None
            elif time.monotonic() - self._scan_asked.get(change.agent, -math.inf) < self._quiet[change.agent]:
                self._debouncer.touch(Change.anywhere(change.agent))  # one scan for all folders of a burst
            else:
                # What lay in a folder that has gone or moved is known to the index only: a scan compares.
                self._scan([change.agent], lane="live")
        for agent, changed in paths.items():
            is_burst = len(changed) + self._debouncer.count(agent) > MOST_LIVE_PATHS
            self._outbox.add(agent, changed, "backfill" if is_burst else "live")

    def _pass_on_quiet_sessions(self) -> None:
        for agent, quiet in self._sessions.quiet().items():
            self._outbox.add(agent, quiet, "live")

    def _try(self, step: Callable[[], None]) -> None:
        """Whatever goes wrong: the thread lives, and what may have been lost is scanned for."""
        try:
            step()
        except Exception as error:
            self._failures += 1
            self._last_error = time.monotonic(), f"{type(error).__name__}: {error}"
            if time.monotonic() - self._failed_at > _FAILURE_SECONDS:
                self._failed_at = time.monotonic()
                logger.exception("the producer met an error and goes on; all agents are scanned")
                self._scan(agent.agent for agent in self._agents)

    def _report(self) -> None:
        while self._state != "stopped":
            self._write_status()
            self._news.wait(self._times.status_seconds)
            self._news.clear()

    def _write_status(self) -> None:
        try:
            write_status(self._status_path, self.health())
        except OSError as error:
            if self._recent_error() is None:
                logger.warning("%s cannot be written: %s", self._status_path, error)
            self._last_error = time.monotonic(), f"{type(error).__name__}: {error}"

    def _recent_error(self) -> str | None:
        if self._last_error is None or time.monotonic() - self._last_error[0] > _ERROR_SHOWN_SECONDS:
            return None
        return self._last_error[1]

    def _finish(self, stop_by: float) -> None:
        self._watcher.stop()
        while changes := self._debouncer.take_all():
            self._scan_asked.clear()
            self._pass_on(changes)
        self._outbox.retry_now()
        while not self._outbox.flush() and time.monotonic() < stop_by:
            time.sleep(0.1)
            self._outbox.retry_now()
        if unsent := len(self._outbox):
            logger.warning("%s could not be passed on; the scan of the next start finds it", counted(unsent, "change"))
        self._state = "stopped"
        self._news.set()
        self._reporter.join()
        self._write_status()
