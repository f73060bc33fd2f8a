"""Watchdog's observer for this platform."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Literal

from watchdog.events import (
    DirCreatedEvent,
    DirDeletedEvent,
    DirMovedEvent,
    FileClosedEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileModifiedEvent,
    FileMovedEvent,
    FileSystemEvent,
)
from watchdog.observers.api import BaseObserver

Loss = Literal["overflow", "limit", "broken", "handler"]
"""The kernel dropped events; a directory could not be watched for want of watches; the observer met a bug of its
own; an event could not be handled."""
Report = Callable[[str, Loss], None]
"""Called with the real path of the folder that is concerned, from the observer's threads."""

EVENTS: list[type[FileSystemEvent]] = [
    FileClosedEvent,
    FileMovedEvent,
    FileDeletedEvent,
    FileCreatedEvent,
    DirCreatedEvent,
    DirMovedEvent,
    DirDeletedEvent,
]
"""What is asked of the kernel: no reads, and of a write its end only, so that neither the indexer nor a program
that writes a log wakes anything. Creation is always among them: without it new directories are not watched."""

GROWTH_EVENTS: list[type[FileSystemEvent]] = [*EVENTS, FileModifiedEvent]
"""For transcripts, which an agent may keep open for as long as it talks."""

if not sys.platform.startswith("linux"):
    EVENTS.append(FileModifiedEvent)  # elsewhere the end of a write is not reported


def open_observer(report: Report) -> BaseObserver:
    """A running observer without folders. Raises OSError when the system has none left."""
    if sys.platform.startswith("linux"):
        from recallite_producer.inotify import TreeObserver

        observer: BaseObserver = TreeObserver(report)
    else:
        from watchdog.observers import Observer

        observer = Observer()
    observer.start()
    return observer


def is_whole(observer: BaseObserver) -> bool:
    """Whether the threads that all folders share are alive."""
    return observer.is_alive() and getattr(observer, "reader_is_alive", lambda: True)()


def end(observer: BaseObserver, *, timeout_seconds: float) -> None:
    """Stop it; one that does not end is left behind, as its threads do not keep the program alive."""
    thread = threading.Thread(target=observer.stop, name="recallite-unwatch", daemon=True)
    thread.start()
    thread.join(timeout_seconds)
