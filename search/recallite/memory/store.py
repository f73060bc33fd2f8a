"""`sessions.json`: what the agent's runtime knows of its sessions. Two fields of it are ours to set."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from recallite.errors import MemoryWriteError
from recallite.memory.locking import locked

STORE_NAME = "sessions.json"
Entry = dict[str, Any]


def read_entry(sessions_dir: Path, session_key: str) -> Entry:
    """What is known of a session; empty when nothing is. Raises MemoryWriteError for a file that is no such store."""
    return dict(_entry(_read(sessions_dir / STORE_NAME), session_key, sessions_dir / STORE_NAME))


def update_entry(sessions_dir: Path, session_key: str, change: Callable[[Entry], Entry]) -> Entry:
    """Set the fields that `change` gives for the entry as it is now; all others stay. Returns the new entry.

    The file is replaced as a whole. A change that another program makes meanwhile is seen, and ours made on top.
    Raises MemoryWriteError.
    """
    path = sessions_dir / STORE_NAME
    try:
        sessions_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _exclusive(sessions_dir):
            while True:
                before = _stamp(path)
                store = _read(path)
                entry = _entry(store, session_key, path)
                store[session_key] = {**entry, **change(dict(entry))}
                if _replace(path, store, before):
                    return dict(store[session_key])
    except OSError as error:
        raise MemoryWriteError(f"{path} cannot be written: {error.strerror}") from error


@contextmanager
def _exclusive(sessions_dir: Path) -> Iterator[None]:
    # Not sessions.json itself: it is replaced, and with it the file that a lock would hang on.
    descriptor = os.open(sessions_dir / f".{STORE_NAME}.recallite-lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        with locked(descriptor, STORE_NAME):
            yield
    finally:
        os.close(descriptor)


def _read(path: Path) -> dict[str, Any]:
    try:
        store = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise MemoryWriteError(
            f"{path} cannot be read as JSON ({type(error).__name__}): it is left as it is"
        ) from error
    if not isinstance(store, dict):
        raise MemoryWriteError(f"{path} does not hold an object of sessions: it is left as it is")
    return store


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


def _replace(path: Path, store: dict[str, Any], before: tuple[int, int, int] | None) -> bool:
    """Put `store` in the file's place, unless the file is no longer as it was before it was read."""
    descriptor, name = tempfile.mkstemp(prefix=f".{STORE_NAME}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(json.dumps(store, ensure_ascii=False, indent=2).encode("utf-8", errors="surrogatepass"))
            file.flush()
            os.fsync(file.fileno())
        if _stamp(path) != before:
            return False
        Path(name).replace(path)
        return True
    finally:
        with suppress(FileNotFoundError):
            Path(name).unlink()
