"""`recallite config` and what it prints."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from recallite.cli import config as command
from recallite.config import Settings
from recallite.config.report import as_data, as_text, report
from recallite.config.unbuilt import is_unbuilt
from recallite.errors import UnknownAgentError

Load = Callable[..., Settings]

CONFIG = {
    "agents": {
        "defaults": {"memorySearch": {"query": {"maxResults": 9}, "remote": {"apiKey": "sk-1"}}},
        "list": [{"id": "a"}, {"id": "b", "memorySearch": {"query": {"minScore": 0.2}}}],
    }
}


def parsed(*arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--config")
    command.add_arguments(parser)
    return parser.parse_args(arguments)


@pytest.fixture
def file(home: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    for variable in ("OPENCLAW_CONFIG_PATH", "OPENCLAW_STATE_DIR", "OPENCLAW_HOME", "OPENAI_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(home))
    (home / "c.json").write_text(json.dumps(CONFIG))
    return str(home / "c.json")


def test_each_value_is_shown_with_its_origin(load: Load) -> None:
    lines = [" ".join(line.split()) for line in as_text(report(load(CONFIG).agent("b"), env={})).splitlines()]

    assert "memorySearch.query.maxResults 9 (from agents.defaults)" in lines
    assert "memorySearch.query.minScore 0.2 (from agents.list[1])" in lines
    assert "memorySearch.query.hybrid.fusion weighted (default)" in lines
    assert "memorySearch.remote.apiKey set (from agents.defaults)" in lines
    assert "openai set (from agents.defaults.memorySearch.remote.apiKey)" in lines


def test_a_value_kept_within_its_limits_is_shown_as_what_it_is(load: Load) -> None:
    search = {
        "chunking": {"tokens": 20, "overlap": 20},
        "query": {"hybrid": {"vectorWeight": 0, "textWeight": 0, "candidateMultiplier": 50}},
    }
    settings = load({"agents": {"defaults": {"memorySearch": search}, "list": [{"id": "a"}]}})
    found = {entry.key.removeprefix("memorySearch."): entry for entry in report(settings.agent("a"), env={}).settings}
    text = as_text(report(settings.agent("a"), env={}))

    assert (found["chunking.overlap"].value, found["chunking.overlap"].origin) == (19, "agents.defaults, instead of 20")
    assert found["chunking.tokens"].origin == "agents.defaults"
    assert found["query.hybrid.vectorWeight"].origin == "agents.defaults, instead of 0.0"
    assert found["query.hybrid.candidateMultiplier"].origin == "agents.defaults, instead of 50"
    assert "19 (from agents.defaults, instead of 20)" in text


def test_a_default_kept_within_its_limits_is_shown_as_a_default(load: Load) -> None:
    settings = load({"agents": {"defaults": {"memorySearch": {"chunking": {"tokens": 50}}}}})

    assert "49 (default, instead of 80)" in as_text(report(settings.agent(), env={}))


def test_the_files_are_named(load: Load, home: Path) -> None:
    places = as_data(report(load(CONFIG).agent("b"), env={}))["places"]

    assert isinstance(places, dict)
    assert {name: entry["value"] for name, entry in places.items()} == {
        "configFile": str(home / ".openclaw" / "openclaw.json"),
        "stateDir": str(home / ".openclaw"),
        "workspace": str(home / ".openclaw" / "workspace-b"),
        "extraPaths": [],
        "index": str(home / ".openclaw" / "memory" / "b.sqlite"),
        "cache": str(home / ".openclaw" / "memory" / "b.cache.sqlite"),
        "sessions": str(home / ".openclaw" / "agents" / "b" / "sessions"),
        "toolsEnabled": True,
        "userTimezone": None,
    }


def test_keys_without_effect_in_this_version_are_not_shown(load: Load) -> None:
    found = report(load({}).agent(None), env={})

    assert not [entry.key for entry in found.settings if is_unbuilt(entry.key)]


def test_with_the_table_empty_the_report_is_still_json(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recallite.config.unbuilt.UNBUILT", {})

    shown = json.loads(json.dumps(as_data(report(load({}).agent(None), env={}))))

    rules = shown["settings"]["memory.qmd.scope.rules"]["value"]
    assert rules == [{"action": "allow", "match.chatType": "direct"}]


def test_a_key_in_the_environment_is_shown_as_set(load: Load) -> None:
    found = report(load({}).agent(None), env={"OPENAI_API_KEY": "x"})

    shown = [(entry.key, entry.value, entry.origin) for entry in found.keys]
    assert shown[0] == ("openai", "set", "environment OPENAI_API_KEY")
    assert {value for _, value, _ in shown[1:]} == {"not set"}


def test_an_unusable_key_is_said_to_be_so(load: Load) -> None:
    found = report(load({}).agent(None), env={"OPENAI_API_KEY": "x y"})

    assert found.keys[0].value == "unusable"


def test_the_command_prints_the_default_agent(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.run(parsed("--config", file)) == 0
    assert capsys.readouterr().out.startswith("Agent a\n")


def test_the_command_prints_json_of_a_named_agent(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.run(parsed("--config", file, "--agent", "b", "--json")) == 0

    data = json.loads(capsys.readouterr().out)
    assert data["agent"] == "b"
    assert data["settings"]["memorySearch.query.minScore"] == {"value": 0.2, "origin": "agents.list[1]"}


def test_the_command_raises_for_an_unknown_agent(file: str) -> None:
    with pytest.raises(UnknownAgentError):
        command.run(parsed("--config", file, "--agent", "c"))


def test_declaring_the_options_loads_nothing_heavy() -> None:
    program = (
        "import sys, argparse; from recallite.cli import config;"
        "config.add_arguments(argparse.ArgumentParser()); sys.exit('msgspec' in sys.modules)"
    )

    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
