"""The path rules of `memory_get`, and the only way that notes are opened."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from recallite.errors import MemoryPathError
from recallite.filenames import as_spelled
from recallite.types import Excerpt
from recallite.workspace.files import NOTES_DIR, ROOT_NAMES, index_path, is_markdown
from recallite.workspace.text import ContentError, LineMap, decode, read_content

_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_NON_BLOCKING = getattr(os, "O_NONBLOCK", 0)
_BINARY = getattr(os, "O_BINARY", 0)
_CAN_OPEN_BENEATH = os.open in os.supports_dir_fd and bool(_NO_FOLLOW)


@dataclass(frozen=True, slots=True)
class AllowedPath:
    """A path that may be read: `parts` below `root`, where no component may be a symlink."""

    path: str
    root: Path
    parts: tuple[str, ...]


def resolve_memory_path(
    path: str, workspace: Path, extra_paths: Sequence[Path] = (), *, literal: bool = False
) -> AllowedPath:
    """Where a note asked for by an agent lies, if it may be read at all.

    A backslash stands for a slash, unless `literal`: then it is part of a name where the system allows that.
    Raises MemoryPathError with the reason: empty, `..` in it, outside the memory, not Markdown.
    Does not touch the disk.
    """
    asked = path.strip()
    if not asked:
        raise MemoryPathError("path is required, such as MEMORY.md or memory/2026-02-10.md")
    if "\0" in asked:
        raise MemoryPathError("path has a NUL character")
    if os.sep == "/" and not literal:
        asked = asked.replace("\\", "/")
    if ".." in Path(asked).parts:
        raise MemoryPathError(f"{path!r} has '..' in it: give the path as search results print it")
    location = Path(os.path.normpath(workspace / as_spelled(asked)))
    name = index_path(workspace, location)
    allowed = _allowed(name, location, workspace, extra_paths)
    if allowed is None and name.startswith("sessions/") and ".jsonl" in name:
        raise MemoryPathError(f"{path!r} is a transcript: transcripts are searched, and never read from here")
    if allowed is None:
        raise MemoryPathError(
            f"{path!r} is outside the memory: only MEMORY.md, memory.md, memory/ and extraPaths can be read"
        )
    if not is_markdown(location.name):
        raise MemoryPathError(f"{path!r} is not a Markdown file (.md)")
    return allowed


def _allowed(name: str, location: Path, workspace: Path, extra_paths: Sequence[Path]) -> AllowedPath | None:
    if location.is_relative_to(workspace):
        parts = location.relative_to(workspace).parts
        if name in ROOT_NAMES or (parts[:1] == (NOTES_DIR,) and len(parts) > 1):
            return AllowedPath(name, workspace, parts)
    for extra in extra_paths:
        if location == extra:
            return AllowedPath(name, extra.parent, (extra.name,))
        if location.is_relative_to(extra):
            return AllowedPath(name, extra, location.relative_to(extra).parts)
    return None


@contextmanager
def opened_beneath(root: Path, parts: Sequence[str]) -> Iterator[tuple[BinaryIO, os.stat_result]]:
    """The regular file at `parts` below `root`, open for reading, and its state when it was opened.

    No component below `root` is followed if it is a symlink, also when it becomes one meanwhile.
    Raises MemoryPathError for a symlink or a non-regular file, FileNotFoundError, other OSError.
    """
    descriptor = _open_beneath(root, parts)
    try:
        info = os.fstat(descriptor)
        if not stat.S_ISREG(info.st_mode):
            raise MemoryPathError(f"{'/'.join(parts)} is not a regular file")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            yield file, info
    finally:
        os.close(descriptor)


def _open_beneath(root: Path, parts: Sequence[str]) -> int:
    if not _CAN_OPEN_BENEATH:
        return _open_checked(root, parts)
    directory = os.open(root, os.O_RDONLY)
    try:
        for index, part in enumerate(parts):
            last = index == len(parts) - 1
            flags = os.O_RDONLY | _NO_FOLLOW | (_NON_BLOCKING if last else os.O_DIRECTORY)
            try:
                child = os.open(part, flags, dir_fd=directory)
            except OSError as error:
                raise _refusal(error, root, parts[: index + 1]) from error
            os.close(directory)
            directory = child
    except BaseException:
        os.close(directory)
        raise
    return directory


def _refusal(error: OSError, root: Path, parts: Sequence[str]) -> Exception:
    """ELOOP, or ENOTDIR on a link, is what O_NOFOLLOW answers for a symlink."""
    if error.errno in (errno.ELOOP, errno.EMLINK, errno.ENOTDIR) and root.joinpath(*parts).is_symlink():
        return MemoryPathError(f"{'/'.join(parts)} is a symlink: links are not followed")
    if error.errno == errno.ENOTDIR:
        return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(root.joinpath(*parts)))
    return error


def _open_checked(root: Path, parts: Sequence[str]) -> int:
    """For platforms without openat: looks at each component before it opens the file."""
    location = root
    for part in parts:
        location = location / part
        if location.is_symlink():
            raise MemoryPathError(f"{'/'.join(parts)} goes through a symlink: links are not followed")
    return os.open(location, os.O_RDONLY | _BINARY)


def _existing_literal(path: str, workspace: Path, extra_paths: Sequence[Path]) -> AllowedPath | None:
    """The note whose name has the very backslashes of `path`, if there is one."""
    if "\\" not in path or os.sep != "/":
        return None
    try:
        allowed = resolve_memory_path(path, workspace, extra_paths, literal=True)
    except MemoryPathError:
        return None
    return allowed if os.path.lexists(allowed.root.joinpath(*allowed.parts)) else None


def note_exists(path: str, workspace: Path, extra_paths: Sequence[Path] = ()) -> bool:
    """Whether there is a note that `read_excerpt` reads for this path. Raises MemoryPathError."""
    allowed = _existing_literal(path, workspace, extra_paths) or resolve_memory_path(path, workspace, extra_paths)
    return os.path.lexists(allowed.root.joinpath(*allowed.parts))


def read_excerpt(
    path: str,
    workspace: Path,
    extra_paths: Sequence[Path] = (),
    *,
    from_line: int | None = None,
    lines: int | None = None,
) -> Excerpt:
    """Lines of a note, counted from 1; the whole note without `from_line` and `lines`.

    A file that does not exist gives empty text. Raises MemoryPathError for what must not be read.
    """
    allowed = _existing_literal(path, workspace, extra_paths) or resolve_memory_path(path, workspace, extra_paths)
    try:
        with opened_beneath(allowed.root, allowed.parts) as (file, _):
            text = decode(read_content(file))
    except FileNotFoundError:
        return Excerpt("", allowed.path)
    except OSError as error:
        raise MemoryPathError(f"{path!r} cannot be read: {error.strerror}") from error
    except ContentError as error:
        raise MemoryPathError(f"{path!r} {error}") from error
    if from_line is None and lines is None:
        return Excerpt(text, allowed.path)
    first = max(1, from_line or 1)
    numbering = LineMap(text)
    start = numbering.start_of(first)
    end = len(text) if lines is None else numbering.start_of(first + max(1, lines))
    return Excerpt(text[start:end], allowed.path)
