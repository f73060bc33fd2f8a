"""`sessions.json`: what the agent's runtime knows of its sessions. Two fields of it are ours to set."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from recallite.errors import MemoryWriteError
from recallite.locking import locked
from recallite.memory.splice import DECODER, set_fields

STORE_NAME = "sessions.json"
Entry = dict[str, Any]
_KEEP = "surrogatepass"
"""A half surrogate that stands in the file as bytes is the runtime's own: it is neither refused nor changed."""


class _Text(NamedTuple):
    """What the file holds, and how it is encoded."""

    json: str
    encoding: str


def read_entry(sessions_dir: Path, session_key: str) -> Entry:
    """What is known of a session; empty when nothing is. Raises MemoryWriteError for a file that is no such store."""
    store, _ = _read(sessions_dir / STORE_NAME)
    return dict(_entry(store, session_key, sessions_dir / STORE_NAME))


def update_entry(sessions_dir: Path, session_key: str, change: Callable[[Entry], Entry]) -> Entry:
    """Set the fields that `change` gives for the entry as it is now; all else stays as it is written.

    Returns the new entry. The file is replaced as a whole; where it is a symlink, what it leads to. A change that
    another program makes meanwhile is seen, and ours made on top.
    Raises MemoryWriteError.
    """
    path = sessions_dir / STORE_NAME
    try:
        sessions_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _exclusive(sessions_dir):
            while True:
                before = _stamp(path)
                store, text = _read(path)
                entry = _entry(store, session_key, path)
                fields = change(dict(entry))
                if _replace(path, set_fields(text.json, session_key, fields).encode(text.encoding, _KEEP), before):
                    return {**entry, **fields}
    except OSError as error:
        raise MemoryWriteError(f"{path} cannot be written: {error.strerror}") from error


@contextmanager
def _exclusive(sessions_dir: Path) -> Iterator[None]:
    # Not sessions.json itself: it is replaced, and with it the file that a lock would hang on.
    descriptor = os.open(sessions_dir / f".{STORE_NAME}.recallite-lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        with locked(descriptor):
            yield
    finally:
        os.close(descriptor)


def _read(path: Path) -> tuple[dict[str, Any], _Text]:
    try:
        data = path.read_bytes()
        encoding = json.detect_encoding(data)
        text = _Text(data.decode(encoding, _KEEP), encoding)
        store = DECODER.decode(text.json)
    except FileNotFoundError:
        return {}, _Text("{}", "utf-8")
    except (OSError, ValueError, RecursionError) as error:
        raise MemoryWriteError(
            f"{path} cannot be read as JSON ({type(error).__name__}): it is left as it is"
        ) from error
    if not isinstance(store, dict):
        raise MemoryWriteError(f"{path} does not hold an object of sessions: it is left as it is")
    return store, text


def _entry(store: dict[str, Any], session_key: str, path: Path) -> Entry:
    entry = store.get(session_key, {})
    if not isinstance(entry, dict):
        raise MemoryWriteError(f"{path}: the entry {session_key!r} is no object: it is left as it is")
    return entry


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        info = path.stat()
    except FileNotFoundError:
        return None
    return info.st_ino, info.st_size, info.st_mtime_ns


def _replace(path: Path, content: bytes, before: tuple[int, int, int] | None) -> bool:
    """Put `content` in the file's place, unless the file is no longer as it was before it was read."""
    target = path.resolve()
    descriptor, name = tempfile.mkstemp(prefix=f".{STORE_NAME}.", dir=target.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if _stamp(path) != before:
            return False
        if before is not None:
            shutil.copymode(target, name)
        Path(name).replace(target)
        return True
    finally:
        with suppress(FileNotFoundError):
            Path(name).unlink()
