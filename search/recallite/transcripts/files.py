"""Which files are an agent's transcripts: those in its sessions folder itself, by their names."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path

from recallite.filenames import as_spelled, as_text
from recallite.transcripts.names import FOLDER, is_transcript, transcript_name, transcript_path
from recallite.workspace.figures import figures
from recallite.workspace.files import FoundFile, Scan, SkippedFile, refuse_link


def scan_transcripts(folder: Path) -> Scan:
    """The transcripts of an agent. The folder is listed, no registry is asked: what it has forgotten is found too.

    Symlinks, the folder itself included, are not followed. Never raises for a single entry.
    """
    scan = Scan()
    try:
        if folder.is_symlink():
            scan.skipped.append(SkippedFile(FOLDER, "symlink: directories are not followed"))
            scan.linked.append(FOLDER)
            return scan
        with os.scandir(folder) as listing:
            names = sorted(entry.name for entry in listing if is_transcript(entry.name))
    except (FileNotFoundError, NotADirectoryError):
        return scan
    except OSError as error:
        scan.skipped.append(SkippedFile(FOLDER, f"cannot be read: {error.strerror or type(error).__name__}"))
        scan.unreadable.append(FOLDER)
        return scan
    for name in names:
        _take(scan, folder, name)
    return scan


def _take(scan: Scan, folder: Path, name: str) -> None:
    path = transcript_path(as_text(name))
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        readable = path.encode("utf-8", errors="surrogateescape").decode("utf-8", errors="replace")
        scan.skipped.append(SkippedFile(readable, "the file name is not valid UTF-8: rename the file"))
        return
    try:
        info = (folder / name).lstat()
    except FileNotFoundError:
        return
    except OSError as error:
        scan.skipped.append(SkippedFile(path, f"cannot be read: {error.strerror or type(error).__name__}"))
        scan.unreadable.append(path)
        return
    if stat.S_ISLNK(info.st_mode):
        scan.skipped.append(SkippedFile(path, "symlink: links are not followed"))
    elif not stat.S_ISREG(info.st_mode):
        scan.skipped.append(SkippedFile(path, "not a regular file"))
    else:
        scan.files[path] = _found(folder, name, info)


def find_transcript(path: str, folder: Path) -> FoundFile | None:
    """The transcript with this index path, by the same rules; None if there is none.

    Raises OSError when it cannot be looked at now: then nobody knows.
    """
    name = transcript_name(path)
    if name is None:
        return None
    name = as_spelled(name)
    try:
        refuse_link(folder)
        info = (folder / name).lstat()
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    return _found(folder, name, info) if stat.S_ISREG(info.st_mode) else None


def find_archive(folder: Path, name: str, inode: int) -> str | None:
    """The name that the transcript `name` was given by a reset: the archive of it that is the very same file."""
    prefix = as_spelled(f"{name}.reset.")
    try:
        with os.scandir(folder) as listing:
            found = _same_file((e for e in listing if e.name.startswith(prefix) and is_transcript(e.name)), inode)
    except OSError:
        return None
    return as_text(found) if found is not None else None


def _same_file(entries: Iterable[os.DirEntry[str]], inode: int) -> str | None:
    return next((entry.name for entry in entries if entry.stat(follow_symlinks=False).st_ino == inode), None)


def _found(folder: Path, name: str, info: os.stat_result) -> FoundFile:
    return FoundFile("sessions", transcript_path(as_text(name)), folder, (name,), *figures(info))
