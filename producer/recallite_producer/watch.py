"""Watches the folders of all agents: one observer that is looked after, and polling where events do not work."""

from __future__ import annotations

import contextlib
import errno
import logging
import queue
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from watchdog.observers.api import BaseObserver

from recallite.config import AgentSettings
from recallite.wording import counted
from recallite_producer import observer as observers
from recallite_producer.folder import Folder, FolderHandler, FolderState, folders_of
from recallite_producer.mounts import mount_points, without_events
from recallite_producer.observer import Loss
from recallite_producer.polling import Poller
from recallite_producer.roots import Change, roots_of

logger = logging.getLogger(__name__)

_LIMITS = {
    errno.EMFILE: "no inotify instance is left (fs.inotify.max_user_instances)",
    errno.ENFILE: "the system has no file descriptors left",
    errno.ENOSPC: "no inotify watch is left (fs.inotify.max_user_watches)",
    errno.ENOMEM: "the kernel has no memory left for watches",
}
_END_SECONDS = 2.0


class Watcher:
    """Turns what happens in the folders into changes. All but the constructor's callbacks is for one thread."""

    def __init__(
        self,
        agents: Iterable[AgentSettings],
        touch: Callable[[Change], None],
        *,
        wake: Callable[[], None] = lambda: None,
        poll_seconds: float = 30.0,
    ) -> None:
        """`touch` and `wake` are called from other threads; `wake` when `check` should be called soon."""
        self._agents = {settings.agent: settings for settings in agents}
        self._folders = folders_of(root for settings in self._agents.values() for root in roots_of(settings))
        self._names = frozenset(folder.path for folder in self._folders)
        self._notes = _Notes(touch, wake)
        self._observer: BaseObserver | None = None
        self._poller = Poller(touch, seconds=poll_seconds)
        self._poll_seconds = poll_seconds
        self._told: set[str] = set()
        self._missed: set[str] = set()
        self._tries_again = False
        self.restarts = 0
        """How often something had to be set up anew because it had failed."""

    @property
    def wants_check(self) -> bool:
        """Whether something happened that `check` should look at."""
        return not self._notes.is_empty

    def states(self) -> tuple[FolderState, ...]:
        """How each folder is watched; may be asked from any thread."""
        return tuple(folder.state() for folder in self._folders)

    def check(self) -> set[str]:
        """See that every folder that exists is watched; the agents of whose changes some may have been missed."""
        self._missed = set()
        if self._observer is not None and not observers.is_whole(self._observer):
            self._give_up_observer()
        self._read_notes()
        self._release_unsound()
        points = mount_points()
        for folder in self._folders:
            if folder.mode == "missing" or (folder.is_limited and self._tries_again):
                self._watch(folder, points)
        self._tries_again = False
        self._read_notes()  # a large tree may have met the limit half-way
        self._tell_of_polling()
        self._poller.watch({a: self._agents[a] for f in self._folders if f.mode == "polling" for a in f.agents})
        return self._missed

    def try_events_again(self) -> None:
        """Let the next `check` try the folders that are polled for want of watches."""
        self._tries_again = True

    def stop(self) -> None:
        """End all threads, without waiting for one that hangs."""
        self._poller.stop()
        if self._observer is not None:
            observers.end(self._observer, timeout_seconds=_END_SECONDS)
            self._observer = None

    def _watch(self, folder: Folder, points: Mapping[str, str]) -> None:
        if kind := without_events(folder.path, points):
            return folder.set("polling", f"{kind} does not report changes")
        try:
            folder.identity = folder.look()
            real_path = folder.real_path()
            if kind := without_events(Path(real_path), points):
                return folder.set("polling", f"{kind} does not report changes")
            self._schedule(folder, real_path)
        except OSError as error:
            if error.errno in _LIMITS:
                return folder.set("polling", _LIMITS[error.errno], is_limited=True)
            gone = isinstance(error, FileNotFoundError)
            folder.set("missing", "does not exist" if gone else error.strerror or type(error).__name__)
        except RuntimeError as error:  # "can't start new thread": each watched folder has one
            folder.set("polling", str(error), is_limited=True)
        else:
            folder.set("events")
            self._missed |= folder.agents  # whatever happened before the watch stood

    def _schedule(self, folder: Folder, real_path: str) -> None:
        if self._observer is None:
            self._observer = observers.open_observer(self._notes.lost)
        handler = FolderHandler(folder, real_path, self._names, self._notes)
        events = observers.GROWTH_EVENTS if folder.grows else observers.EVENTS
        folder.watch = self._observer.schedule(handler, real_path, recursive=folder.recursive, event_filter=events)
        folder.handler = handler

    def _release_unsound(self) -> None:
        """All of them first: two folders may share a watch, and both must let go of it."""
        if self._observer is None:
            return
        dead = {emitter.watch for emitter in self._observer.emitters if not emitter.is_alive()}
        for folder in [f for f in self._folders if f.watch is not None]:
            if folder.watch in dead or not folder.is_sound():
                self._release(folder)

    def _release(self, folder: Folder) -> None:
        watch, folder.watch = folder.watch, None
        folder.set("missing", "is set up anew")
        self._missed |= folder.agents
        if self._observer is None or watch is None or folder.handler is None:
            return
        # What watchdog makes of a watch that is gone already is of no interest: it is not used again.
        with contextlib.suppress(Exception):
            self._observer.remove_handler_for_watch(folder.handler, watch)
        if not any(other.watch == watch for other in self._folders):
            with contextlib.suppress(Exception):
                self._observer.unschedule(watch)

    def _give_up_observer(self) -> None:
        logger.error("the thread that watches all folders has ended; it is started again and all is scanned")
        self.restarts += 1
        broken, self._observer = self._observer, None
        for folder in self._folders:
            if folder.watch is not None:
                self._release(folder)
        if broken is not None:
            observers.end(broken, timeout_seconds=0.0)

    def _read_notes(self) -> None:
        notes = self._notes.read()
        if any(note.loss == "overflow" for note in notes):
            logger.warning("events were lost (inotify queue overflow): all agents are scanned")
            self._missed |= {agent for f in self._folders if f.mode == "events" for agent in f.agents}
        for note in notes:
            if note.error is not None:
                logger.error("an event below %s could not be handled; its agents are scanned", note.real_path,
                             exc_info=note.error)  # fmt: skip
            for folder in [f for f in self._folders if f.watch is not None and f.watch.path == note.real_path]:
                self._missed |= folder.agents
                if note.loss in ("broken", "limit"):
                    self._release(folder)
                if note.loss == "limit":
                    folder.set("polling", _LIMITS[errno.ENOSPC], is_limited=True)
            self.restarts += note.loss == "broken"

    def _tell_of_polling(self) -> None:
        """One line for each reason, however many folders it holds for; and one when it is over."""
        reasons = Counter(folder.reason for folder in self._folders if folder.mode == "polling")
        for reason, count in reasons.items():
            if reason not in self._told:
                logger.warning(
                    "%s polled every %g s: %s", counted(count, "folder is", "folders are"), self._poll_seconds, reason
                )
        for reason in self._told - reasons.keys():
            logger.info("no folder is polled any more because: %s", reason)
        self._told = {reason for reason in reasons if reason is not None}


@dataclass(frozen=True, slots=True)
class _Note:
    real_path: str | None
    loss: Loss | None = None
    error: Exception | None = None


class _Notes:
    """What the observer's threads leave for `check`: an EventSink and the observer's Report."""

    def __init__(self, touch: Callable[[Change], None], wake: Callable[[], None]) -> None:
        self.touched = touch
        self._wake = wake
        self._notes: queue.SimpleQueue[_Note] = queue.SimpleQueue()

    @property
    def is_empty(self) -> bool:
        return self._notes.empty()

    def folder_came_or_went(self) -> None:
        self._leave(_Note(None))

    def event_lost(self, real_path: str, error: Exception) -> None:
        self._leave(_Note(real_path, "handler", error))

    def lost(self, real_path: str, loss: Loss) -> None:
        self._leave(_Note(real_path, loss))

    def read(self) -> list[_Note]:
        notes = []
        with contextlib.suppress(queue.Empty):
            while True:
                notes.append(self._notes.get_nowait())
        return notes

    def _leave(self, note: _Note) -> None:
        self._notes.put(note)
        self._wake()
