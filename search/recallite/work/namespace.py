"""What sets the keys and queues of one state directory apart from those of others in the same Redis."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import uuid
from pathlib import Path

from recallite.errors import QueueUnreachableError

KEY_PREFIX = "recallite:"
"""Of all keys that recallite makes in Redis. What belongs to a provider's account, not to a state directory,
stands directly under it, since all hosts share an account."""


def key_prefix(namespace: str) -> str:
    """The beginning of all keys of one state directory."""
    return f"{KEY_PREFIX}{namespace}:" if namespace else KEY_PREFIX


def namespace_path(state_dir: Path) -> Path:
    """Where a state directory keeps the name that it got when it was first used with a broker."""
    return state_dir / "recallite" / "id"


def namespace_of(state_dir: Path) -> str:
    """The state directory's own name, the same for all that see the directory; made when it has none.

    A name that lies in the directory holds for a copy on another host and under another path only if that is the
    same directory. Raises QueueUnreachableError when there is none and the directory cannot be written.
    """
    path = namespace_path(state_dir)
    if (name := _read(path)) is not None:
        return name
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _make(path)
    except OSError as error:
        raise QueueUnreachableError(
            f"{state_dir} was not used with a broker yet, and {path} cannot be made ({error.strerror}): "
            "start `recallite watch` where it can be written"
        ) from error
    name = _read(path)
    if name is None:
        raise QueueUnreachableError(f"{path} does not hold a name of 12 characters of 0-9 and a-f: remove it")
    return name


def _read(path: Path) -> str | None:
    try:
        name = path.read_text("ascii").strip()
    except (OSError, UnicodeDecodeError):
        return None
    return name if re.fullmatch(r"[0-9a-f]{12}", name) else None


def _make(path: Path) -> None:
    """As a whole, and only by the first of several that try."""
    draft = path.with_name(f"{path.name}.{uuid.uuid4().hex}.tmp")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(f"{secrets.token_hex(6)}\n")
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)
    finally:
        draft.unlink()
