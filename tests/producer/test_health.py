"""What the producer tells about itself, here and in producer.json."""

from __future__ import annotations

import json
import os
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from recallite_producer import service as service_module
from recallite_producer.status import status_path

if TYPE_CHECKING:
    from conftest import Rig


def read(rig: Rig) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(status_path(rig.state_dir).read_text("utf-8"))
    return found


def test_producer_json_tells_modes_scans_and_pending(make_rig: Callable[..., Rig]) -> None:
    rig = make_rig(agents=("one", "two"), memory_search={"extraPaths": ["../absent"]}, debounce_ms=60_000)
    service = rig.start()
    (rig.workspace("one") / "memory" / "a.md").write_text("text")
    rig.until(lambda: read(rig)["waiting"] == 1)

    found = read(rig)
    assert (found["state"], found["pid"], found["unsent"], found["restarts"]) == ("running", os.getpid(), 0, 0)
    assert found["queue_trouble"] is found["last_error"] is None
    assert set(found["last_scan"]) == {"one", "two"}
    assert 0 <= time.time() - found["updated"] < 5
    folders = {
        Path(folder["path"]): (folder["agents"], folder["mode"], folder["reason"]) for folder in found["folders"]
    }
    assert folders[rig.workspace("one") / "memory"] == (["one"], "events", None)
    assert folders[rig.root / "absent"] == (["one", "two"], "missing", "does not exist")

    service.stop(5.0)
    assert (read(rig)["state"], read(rig)["waiting"]) == ("stopped", 0)


def test_producer_json_is_for_its_owner_only_and_never_half(rig: Rig) -> None:
    rig.start()
    path = status_path(rig.state_dir)
    rig.until(path.exists)
    for _ in range(200):
        read(rig)

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert sorted(each.name for each in path.parent.iterdir()) == ["producer.json"]


def test_a_status_that_cannot_be_written_is_told_once(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*args: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(service_module, "write_status", refuse)
    service = rig.start()
    (rig.memory / "a.md").write_text("text")
    rig.expect("memory/a.md")
    rig.until(lambda: service.health().last_error is not None)

    assert sum("cannot be written" in record.getMessage() for record in caplog.records) == 1
