"""Watchdog's observer for Linux, with what a recursive watch needs to be relied on.

It spends no watch on skipped directories, lets go of a directory that was moved out of the tree, and reports
what watchdog 7.1 keeps to itself: events lost by the kernel, directories that could not be watched, and its
own failures. One inotify instance serves all folders.
"""

from __future__ import annotations

import errno
import logging
import os
from pathlib import Path
from typing import Any

from watchdog.observers.api import BaseObserver, EventQueue, ObservedWatch
from watchdog.observers.inotify import InotifyEmitter, InotifyWatchGroup
from watchdog.observers.inotify_c import (
    CallbackId,
    InotifyEvent,
    InotifyFD,
    Mask,
    WatchCallback,
    WatchDescriptor,
)
from watchdog.observers.inotify_move_event_grouper import GroupedInotifyEvent, PathedInotifyEvent

from recallite.workspace.files import is_skipped_dir
from recallite_producer.observer import Report

logger = logging.getLogger(__name__)


class TreeObserver(BaseObserver):
    """Raises OSError (EMFILE) when no inotify instance is left."""

    def __init__(self, report: Report) -> None:
        self._descriptor = _Descriptor()
        self._descriptor.start()
        super().__init__(_TreeEmitter, inotify_fd=self._descriptor, report=report)

    def reader_is_alive(self) -> bool:
        """Whether the thread that reads the events of all folders is alive."""
        return self._descriptor.is_alive()

    def on_thread_stop(self) -> None:
        super().on_thread_stop()
        self._descriptor.stop()
        self._descriptor.join()


class _Descriptor(InotifyFD):
    def _add_callback(self, path: bytes, mask: Mask, callback: WatchCallback, id_: CallbackId) -> WatchDescriptor:
        watch = self._get_or_create_watch(path, mask)
        if watch.wd == -1:  # watchdog passes over EACCES as if the watch had been made
            self._watch_for_wd.pop(watch.wd, None)
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), os.fsdecode(path))
        # Twice for a directory that its parent's walk and its own event name: no cause for watchdog's warning.
        watch.callbacks[id_] = callback
        return watch.wd


class _TreeEmitter(InotifyEmitter):
    _inotify: _Tree | None

    def __init__(self, event_queue: EventQueue, watch: ObservedWatch, *, report: Report, **options: Any) -> None:
        super().__init__(event_queue, watch, **options)
        self._report = report

    def start(self) -> None:
        try:
            super().start()
        except RuntimeError:  # no thread is left to read what the watches report
            self.on_thread_stop()
            raise

    def on_thread_start(self) -> None:
        path, mask = os.fsencode(self.watch.path), self.get_event_mask_from_filter()
        self._inotify = _Tree(self._inotify_fd, path, mask, recursive=self.watch.is_recursive, report=self._report)

    def build_and_queue_event(self, event: GroupedInotifyEvent, *, full_events: bool = False) -> None:
        alone = event if isinstance(event, PathedInotifyEvent) else None
        if alone is not None and alone.ev.is_moved_from and alone.ev.is_directory and self._inotify is not None:
            self._inotify.let_go(alone.path)
        super().build_and_queue_event(event, full_events=full_events)


class _Tree(InotifyWatchGroup):
    def __init__(self, descriptor: InotifyFD, path: bytes, mask: Mask, *, recursive: bool, report: Report) -> None:
        self._report = report
        super().__init__(descriptor, path, mask, recursive)

    def on_event(self, event: InotifyEvent) -> None:
        try:
            super().on_event(event)
        except Exception:
            self._broken()

    def on_watch_deleted(self, wd: WatchDescriptor) -> None:
        try:
            super().on_watch_deleted(wd)
        except Exception:
            self._broken()

    def on_queue_overflow(self) -> None:
        try:
            super().on_queue_overflow()
        except Exception:
            self._broken()
        # Only now that the watches stand again: what is scanned for must not begin to change unseen.
        self._report(os.fsdecode(self.path), "overflow")

    def let_go(self, path: bytes) -> None:
        """Watch a directory that has left the tree no more: its events would come under the old name."""
        below = path + os.sep.encode()
        with self._lock:
            if not self.is_active:
                return
            # By watch, not by path: a new directory may have taken the path over meanwhile.
            gone = [wd for wd, p in self._active_callbacks_by_watch.items() if p == path or p.startswith(below)]
            self._remove_callbacks(gone)
            if Path(os.fsdecode(path)).is_dir():  # that new one, or the same one moved back
                self._add_all_callbacks(path)

    def _remove_watch_internally(self, wd: WatchDescriptor) -> None:
        """watchdog's own raises KeyError when two watches have gone by the same path."""
        path = self._active_callbacks_by_watch.pop(wd, None)
        if path is not None and self._active_callbacks_by_path.get(path) == wd:
            del self._active_callbacks_by_path[path]

    def _broken(self) -> None:
        # An exception here would end the one thread that reads the events of all folders.
        logger.exception("watching %s failed; it is set up anew", os.fsdecode(self.path))
        self._report(os.fsdecode(self.path), "broken")

    def _add_all_callbacks(self, path: bytes) -> None:
        if self._is_skipped(path):
            return
        self._add_callback(path)
        if not self.is_recursive:
            return
        for folder, names, _ in os.walk(os.fsdecode(path)):
            names[:] = [name for name in names if not is_skipped_dir(name)]
            for location in (Path(folder, name) for name in names):
                if not location.is_symlink():
                    self._add_callback(os.fsencode(location))

    def _add_callback(self, path: bytes) -> None:
        try:
            wd = self._inotify_fd.add_callback(path, self.event_mask, self, self._id)
        except OSError as error:
            if path == self.path:
                raise
            if error.errno in (errno.ENOSPC, errno.ENOMEM):
                self._report(os.fsdecode(self.path), "limit")
            return  # others have gone, or may not be read, which a scan finds
        self._active_callbacks_by_path[path] = wd
        self._active_callbacks_by_watch[wd] = path

    def _is_skipped(self, path: bytes) -> bool:
        below = Path(os.fsdecode(path)).relative_to(os.fsdecode(self.path))
        return any(map(is_skipped_dir, below.parts))
