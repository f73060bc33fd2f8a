"""One watched folder: where it really is, what is known of it, what its events mean."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from watchdog.events import FileSystemEvent, FileSystemEventHandler
from watchdog.observers.api import ObservedWatch

from recallite_producer.roots import Change, Root, parts_below

Mode = Literal["events", "polling", "missing"]
Identity = tuple[int, int]


@dataclass(frozen=True, slots=True)
class FolderState:
    """How a folder is watched now, for people and for producer.json."""

    path: str
    agents: tuple[str, ...]
    mode: Mode
    reason: str | None
    """Why it is polled, or cannot be watched at all."""


@dataclass(slots=True, eq=False)
class Folder:
    """A folder and the roots, of one agent or of several, that it is watched for."""

    path: Path
    recursive: bool
    roots: tuple[Root, ...]
    mode: Mode = "missing"
    reason: str | None = None
    is_limited: bool = False
    """Polled because the system had no more watches, which may pass."""
    watch: ObservedWatch | None = None
    handler: FileSystemEventHandler | None = None
    identity: Identity | None = None
    """Device and inode of what is watched: another folder under the same name has to be watched anew."""
    agents: frozenset[str] = field(init=False)
    grows: bool = field(init=False)
    """Whether its files are added to while they are open."""

    def __post_init__(self) -> None:
        self.agents = frozenset(root.agent for root in self.roots)
        self.grows = any(root.source == "sessions" for root in self.roots)

    def set(self, mode: Mode, reason: str | None = None, *, is_limited: bool = False) -> None:
        """How it is watched from now on."""
        self.mode, self.reason, self.is_limited = mode, reason, is_limited

    def look(self) -> Identity:
        """What stands under the name now. Raises OSError if it cannot be watched."""
        info = self.path.stat() if self.roots[0].may_be_link else self.path.lstat()
        if stat.S_ISLNK(info.st_mode):
            raise OSError(errno.ELOOP, "is a symlink, which is not followed")
        if not stat.S_ISDIR(info.st_mode):
            raise NotADirectoryError(errno.ENOTDIR, "is not a directory")
        return info.st_dev, info.st_ino

    def real_path(self) -> str:
        """The path without symlinks, as the observer needs it."""
        if self.roots[0].may_be_link:
            return str(self.path.resolve())
        return str(self.path.parent.resolve() / self.path.name)

    def is_sound(self) -> bool:
        """Whether what is watched is still what stands under the name."""
        try:
            return self.look() == self.identity
        except OSError:
            return False

    def state(self) -> FolderState:
        return FolderState(str(self.path), tuple(sorted(self.agents)), self.mode, self.reason)


def folders_of(roots: Iterable[Root]) -> list[Folder]:
    """One folder for all roots that can share a watch."""
    shared: dict[tuple[Path, bool, bool], list[Root]] = {}
    for root in roots:
        shared.setdefault((root.path, root.recursive, root.may_be_link), []).append(root)
    return [Folder(path, recursive, tuple(found)) for (path, recursive, _), found in shared.items()]


class EventSink(Protocol):
    """What a handler tells; each call only takes a note and returns."""

    def touched(self, change: Change) -> None: ...

    def folder_came_or_went(self) -> None: ...

    def event_lost(self, real_path: str, error: Exception) -> None: ...


class FolderHandler(FileSystemEventHandler):
    """Runs on the observer's one thread: takes notes, touches no disk, never raises."""

    def __init__(self, folder: Folder, real_path: str, names: frozenset[Path], sink: EventSink) -> None:
        """`names` are the paths of all folders: a folder may come and go inside another one."""
        self._folder = folder
        self._real_path = real_path
        self._names = names
        self._sink = sink

    def dispatch(self, event: FileSystemEvent) -> None:
        try:
            for path in (event.src_path, event.dest_path):  # of a move both ends have changed
                if path:
                    self._note(os.fsdecode(path), is_directory=event.is_directory)
        except Exception as error:  # it would end the delivery of events for all agents
            self._sink.event_lost(self._real_path, error)

    def _note(self, path: str, *, is_directory: bool) -> None:
        parts = parts_below(self._real_path, path)
        if parts is None:
            return
        if is_directory and self._folder.path.joinpath(*parts) in self._names:
            self._sink.folder_came_or_went()
        if not parts:
            return
        for root in self._folder.roots:
            change = root.change(parts, is_directory=is_directory)
            if change is not None:
                self._sink.touched(change)
