"""A long-running process and its settings file: read again on change, kept when the change is faulty."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from recallite.errors import ConfigError
from recallite_worker.settings import SettingsSource


def _write(path: Path, *agents: str) -> None:
    listed = [{"id": agent, "workspace": str(path.parent / agent)} for agent in agents]
    path.write_text(json.dumps({"agents": {"list": listed}}))


def test_a_change_is_read(tmp_path: Path) -> None:
    config = tmp_path / "openclaw.json"
    _write(config, "one")
    source = SettingsSource(config)
    assert list(source.current().agent_ids) == ["one"]

    _write(config, "one", "two")

    assert list(source.current().agent_ids) == ["one", "two"]


def test_a_faulty_change_keeps_the_last_good_settings_and_says_so_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config = tmp_path / "openclaw.json"
    _write(config, "one")
    source = SettingsSource(config)
    source.current()
    config.write_text('{"agents": {"li')

    with caplog.at_level(logging.ERROR):
        assert [list(source.current().agent_ids) for _ in range(3)] == [["one"]] * 3
    assert len(caplog.records) == 1
    assert "openclaw.json" in caplog.text

    _write(config, "one", "two")
    assert list(source.current().agent_ids) == ["one", "two"]


def test_a_file_that_is_faulty_from_the_start_is_refused(tmp_path: Path) -> None:
    config = tmp_path / "openclaw.json"
    config.write_text("{")
    with pytest.raises(ConfigError):
        SettingsSource(config).current()
