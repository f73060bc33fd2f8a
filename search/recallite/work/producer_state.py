"""What the producer of a state directory last said of itself, read by other processes."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path

from recallite.work.holder import Holder

FRESH_SECONDS = 30.0
"""The producer writes every few seconds; older than this it hangs or is gone."""


@dataclass(frozen=True, slots=True)
class ProducerState:
    """The producer as others see it."""

    alive: bool
    summary: str
    """For people: whether it watches by events or by polling, and what troubles it."""
    last_scan: dict[str, float]
    """By agent, in seconds since 1970."""
    waiting: int
    """Changes that it has not passed on yet."""


def producer_state(state_dir: Path) -> ProducerState | None:
    """None when no producer was ever started here, or what it wrote cannot be read."""
    try:
        said = json.loads((state_dir / "recallite" / "producer.json").read_text("utf-8"))
        age = time.time() - float(said["updated"])
        holder = Holder(str(said["host"]), int(said["pid"]))
        modes = sorted({str(folder.get("mode")) for folder in said["folders"]})
        scans = {str(agent): float(at) for agent, at in said["last_scan"].items()}
        waiting = int(said["waiting"]) + int(said["unsent"])
        state, trouble = str(said["state"]), said.get("queue_trouble") or said.get("last_error")
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    alive = state != "stopped" and age <= FRESH_SECONDS and holder.may_be_alive()
    if not alive:
        summary = "stopped" if state == "stopped" else f"not running: no sign of life for {age:.0f} s"
        return ProducerState(False, summary, scans, 0)
    summary = f"{state}, by {' and '.join(modes) or 'nothing'}, process {holder.pid}"
    return ProducerState(True, f"{summary}; {trouble}" if trouble else summary, scans, waiting)
