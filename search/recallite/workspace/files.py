"""The walk: which files are an agent's notes."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from recallite.filenames import as_spelled, as_text
from recallite.types import Source
from recallite.workspace.figures import figures
from recallite.workspace.ignore import IGNORE_FILES, IgnoreRules

ROOT_NAMES = ("MEMORY.md", "memory.md")
NOTES_DIR = "memory"
SKIPPED_DIRS = frozenset({".git", "node_modules", ".venv", "venv", "__pycache__", ".tox", ".pnpm-store"})


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A note on disk. `path` is its name in the index: workspace-relative with `/`, or absolute outside."""

    source: Source
    path: str
    root: Path
    """The allowed directory that it was found under; no component below it is a symlink."""
    parts: tuple[str, ...]
    """Names from `root` down to the file, as the file system spells them."""
    size: int
    mtime_ns: int
    ctime_ns: int

    @property
    def location(self) -> Path:
        return self.root.joinpath(*self.parts)


@dataclass(frozen=True, slots=True)
class SkippedFile:
    """Something that looks as if it should be indexed and is not."""

    path: str
    reason: str


@dataclass(slots=True)
class Scan:
    """What a walk found: notes by their index path, and what was left out."""

    files: dict[str, FoundFile] = field(default_factory=dict)
    skipped: list[SkippedFile] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    """Index paths of directories and files that could not be looked at now."""
    missing: list[str] = field(default_factory=list)
    """The same of what lies in a folder that the settings name and that is not there: a disk may be unmounted."""
    linked: list[str] = field(default_factory=list)
    """Index paths of folders that the settings name, `memory` included, in whose place there is a symlink."""

    def keeps(self, path: str) -> bool:
        """Whether what is indexed of this path stays although it was not found: it may be there."""
        return any(is_below(path, places) for places in (self.unreadable, self.missing, self.linked))


def is_markdown(name: str) -> bool:
    """Whether a file name ends in `.md`, in any case."""
    return name.lower().endswith(".md")


def is_skipped_dir(name: str) -> bool:
    """Whether the walk and the watcher pass over directories of this name."""
    return name.startswith(".") or name in SKIPPED_DIRS


def scan_memory(workspace: Path, extra_paths: Sequence[Path] = (), exclude: Sequence[str] = ()) -> Scan:
    """All notes of an agent: MEMORY.md, memory.md, memory/**/*.md, then the extra paths.

    Symlinks are never followed below the workspace or an extra path; the workspace itself may be one.
    A file reachable in two ways is listed once, under the first. Never raises for a single entry.
    """
    walk = _Walk(workspace)
    if walk.has_workspace():
        walk.add_roots()
        walk.add_directory(workspace, (NOTES_DIR,), rules=None)
    if extra_paths:
        walk.name_refused(IgnoreRules(exclude))
    for extra in extra_paths:
        walk.add_extra(extra, exclude)
    return walk.scan


def find_memory_file(
    path: str, workspace: Path, extra_paths: Sequence[Path] = (), exclude: Sequence[str] = ()
) -> FoundFile | None:
    """The note with this index path, by the same rules as the walk but without walking; None if there is none.

    Raises OSError when it cannot be looked at now, or lies in a folder of the settings that is not there.
    """
    location = workspace / as_spelled(path)
    inside = location.is_relative_to(workspace)
    parts = location.relative_to(workspace).parts if inside else ()
    if inside and (parts in [(name,) for name in ROOT_NAMES] or (parts[0] == NOTES_DIR and len(parts) > 1)):
        if path == ROOT_NAMES[1] and _same_file(workspace / ROOT_NAMES[0], location):
            return None
        if parts[0] == NOTES_DIR:
            refuse_link(workspace / NOTES_DIR)
        return _find_below(workspace, workspace, parts, None)
    trouble: OSError | None = None
    for extra in extra_paths:
        try:
            found = _find_in_extra(workspace, extra, location, exclude)
        except OSError as error:
            trouble = error
            continue
        if found is not None:
            return found
    if trouble is not None:
        raise trouble
    return None


def _find_in_extra(workspace: Path, extra: Path, location: Path, exclude: Sequence[str]) -> FoundFile | None:
    if location.is_relative_to(extra):
        refuse_link(extra)
    if location == extra:
        return _find_below(workspace, extra.parent, (extra.name,), None)
    if location.is_relative_to(extra):
        return _find_below(workspace, extra, location.relative_to(extra).parts, IgnoreRules(exclude))
    return None


def _find_below(workspace: Path, root: Path, parts: tuple[str, ...], rules: IgnoreRules | None) -> FoundFile | None:
    if not is_markdown(parts[-1]):
        return None
    for length in range(1, len(parts) + 1):
        here = root.joinpath(*parts[:length])
        is_dir = length < len(parts)
        if rules is not None:
            rules = rules.enter(here.parent, parts[: length - 1], IGNORE_FILES)
            if rules.ignores(parts[:length], is_dir=is_dir):
                return None
        try:
            info = here.lstat()
        except (FileNotFoundError, NotADirectoryError):
            _expect_folder(root)
            return None
        except ValueError:
            return None
        if is_dir and (not stat.S_ISDIR(info.st_mode) or is_skipped_dir(parts[length - 1])):
            return None
    if not stat.S_ISREG(info.st_mode):
        return None
    name = index_path(workspace, root.joinpath(*parts))
    return _found(name, root, parts, info)


def _found(path: str, root: Path, parts: tuple[str, ...], info: os.stat_result) -> FoundFile:
    return FoundFile("memory", path, root, parts, *figures(info))


def _expect_folder(root: Path) -> None:
    """Raises OSError unless the folder is there: only then what is not in it is surely gone."""
    if not stat.S_ISDIR(root.stat().st_mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(root))


def refuse_link(folder: Path) -> None:
    """Raises OSError when a symlink has taken the place of the folder: what lies behind it is not looked at."""
    if folder.is_symlink():
        raise OSError(errno.ELOOP, f"{folder} is a symlink, which is not followed")


def _same_file(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


class _Walk:
    def __init__(self, workspace: Path) -> None:
        self.workspace = workspace
        self.scan = Scan()
        self._seen: set[tuple[int, int]] = set()

    def has_workspace(self) -> bool:
        """Whether there is a folder to look into; status says what else there is."""
        try:
            _expect_folder(self.workspace)
        except OSError:
            self.scan.missing.extend([*ROOT_NAMES, NOTES_DIR])
            return False
        return True

    def add_roots(self) -> None:
        for name in ROOT_NAMES:
            try:
                info = (self.workspace / name).lstat()
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError as error:
                self._cannot_look(name, error)
                continue
            self._take(self.workspace, (name,), info)

    def add_extra(self, extra: Path, exclude: Sequence[str]) -> None:
        name = self.index_path(extra, ())
        try:
            info = extra.lstat()
        except (FileNotFoundError, NotADirectoryError):
            self._skip(name, "extra path is missing")
            if not (is_markdown(extra.name) and extra.parent.is_dir()):  # such a file is gone, not its disk
                self.scan.missing.append(name)
            return
        except OSError as error:
            self._cannot_look(name, error)
            return
        if stat.S_ISLNK(info.st_mode):
            self._skip(name, "symlink: name its target in extraPaths instead")
            self.scan.linked.append(name)
        elif stat.S_ISDIR(info.st_mode):
            self.add_directory(extra, (), IgnoreRules(exclude))
        elif not is_markdown(extra.name):
            self._skip(name, "extra path is not a Markdown file")
        else:
            self._take(extra.parent, (extra.name,), info)

    def add_directory(self, root: Path, parts: tuple[str, ...], rules: IgnoreRules | None) -> None:
        """Depth first, in name order, without recursion: a tree may be deeper than Python's stack."""
        waiting = [(parts, rules)]
        while waiting:
            here, here_rules = waiting.pop()
            entries = self._list(root, here)
            if here_rules is not None:
                above = here_rules
                here_rules = above.enter(root.joinpath(*here), here, [e.name for e in entries])
                if here_rules is not above:
                    self.name_refused(here_rules)
            below = []
            for entry in entries:
                child = (*here, entry.name)
                if self._visit(root, child, entry, here_rules):
                    below.append((child, here_rules))
            waiting.extend(reversed(below))

    def name_refused(self, rules: IgnoreRules) -> None:
        """List the lines of ignore files, or of the setting, that are passed over."""
        for line in rules.refused:
            self._skip("memorySearch.exclude" if line.file is None else self.index_path(line.file, ()), line.reason)

    def _list(self, root: Path, parts: tuple[str, ...]) -> list[os.DirEntry[str]]:
        directory = root.joinpath(*parts)
        try:
            if parts and directory.is_symlink():
                self._skip(self.index_path(root, parts), "symlink: directories are not followed")
                if parts == (NOTES_DIR,) and root == self.workspace:
                    self.scan.linked.append(NOTES_DIR)
                return []
            with os.scandir(directory) as listing:
                return sorted(listing, key=lambda entry: entry.name)
        except FileNotFoundError:
            return []
        except NotADirectoryError:
            self._skip(self.index_path(root, parts), "not a directory")
            return []
        except OSError as error:
            self._cannot_look(self.index_path(root, parts), error)
            return []

    def _visit(self, root: Path, parts: tuple[str, ...], entry: os.DirEntry[str], rules: IgnoreRules | None) -> bool:
        """Take a file; True when the entry is a directory to walk."""
        try:
            info = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            return False
        except OSError as error:
            if is_markdown(entry.name) or (_is_directory(entry) and not is_skipped_dir(entry.name)):
                self._cannot_look(self.index_path(root, parts), error)
            return False
        is_dir = stat.S_ISDIR(info.st_mode)
        if is_dir and is_skipped_dir(entry.name):
            return False
        if rules is not None and rules.ignores(parts, is_dir=is_dir):
            return False
        if is_dir:
            return True
        if stat.S_ISLNK(info.st_mode):
            if is_markdown(entry.name) or _points_to_directory(entry):
                self._skip(self.index_path(root, parts), "symlink: links are not followed")
        elif is_markdown(entry.name):
            self._take(root, parts, info)
        return False

    def _take(self, root: Path, parts: tuple[str, ...], info: os.stat_result) -> None:
        path = self.index_path(root, parts)
        if stat.S_ISLNK(info.st_mode):
            self._skip(path, "symlink: links are not followed")
            return
        if not stat.S_ISREG(info.st_mode):
            self._skip(path, "not a regular file")
            return
        try:
            path.encode("utf-8")
        except UnicodeEncodeError:
            self._skip(path, "the file name is not valid UTF-8: rename the file")
            return
        identity = (info.st_dev, info.st_ino)
        if identity in self._seen:
            return
        self._seen.add(identity)
        self.scan.files[path] = _found(path, root, parts, info)

    def index_path(self, root: Path, parts: Iterable[str]) -> str:
        return index_path(self.workspace, root.joinpath(*parts))

    def _cannot_look(self, path: str, error: OSError) -> None:
        self._skip(path, f"cannot be read: {error.strerror or type(error).__name__}")
        self.scan.unreadable.append(path)

    def _skip(self, path: str, reason: str) -> None:
        readable = path.encode("utf-8", errors="surrogateescape").decode("utf-8", errors="replace")
        self.scan.skipped.append(SkippedFile(readable, reason))


def index_path(workspace: Path, location: Path) -> str:
    """A file's name in the index: relative to the workspace with `/`, or absolute when outside."""
    try:
        return as_text(PurePosixPath(*location.relative_to(workspace).parts).as_posix())
    except ValueError:
        return as_text(location.as_posix())


def is_below(path: str, folders: Iterable[str]) -> bool:
    """Whether an index path is one of the folders or lies under one."""
    return any(path == folder or path.startswith(folder.rstrip("/") + "/") for folder in folders)


def _points_to_directory(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=True)
    except OSError:
        return False


def _is_directory(entry: os.DirEntry[str]) -> bool:
    """As the listing says it, without a look."""
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return True  # the listing does not say
