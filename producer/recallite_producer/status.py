"""What the producer tells about itself: to its own process, and through producer.json to others."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from recallite_producer.folder import FolderState


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerHealth:
    """A producer at one moment. Times are seconds since 1970."""

    state: Literal["starting", "running", "stopped"]
    pid: int
    host: str
    """As recallite.work.holder names it: pids of another container are not ours."""
    started: float
    updated: float
    folders: tuple[FolderState, ...]
    last_scan: Mapping[str, float]
    """By agent: when the queue last took a request to compare all its files with the index."""
    waiting: int
    """Changes of files that are not quiet yet."""
    unsent: int
    """Changes that the work queue has not taken yet."""
    restarts: int
    """How often something in the producer failed and was set up anew."""
    queue_trouble: str | None
    """Why the work queue is out of reach; None while it is not."""
    last_error: str | None
    """What went wrong within the last ten minutes, and was outlived."""


def status_path(state_dir: Path) -> Path:
    """Where the producer of a state directory writes its health."""
    return state_dir / "recallite" / "producer.json"


def write_status(path: Path, health: ProducerHealth) -> None:
    """Replace the file as a whole; only its owner may read it, since paths stand in it."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{health.pid}.tmp")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
        json.dump(asdict(health), file, ensure_ascii=False, separators=(",", ":"))
    draft.replace(path)
