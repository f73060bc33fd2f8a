"""Keys and headers appear in no text that recallite makes of its settings."""

from __future__ import annotations

import dataclasses
import json
import traceback
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from recallite.config import Settings, load_settings
from recallite.config.access import Secret
from recallite.config.report import as_data, as_text, report
from recallite.errors import ConfigError

Load = Callable[..., Settings]

SECRET = "hush-4711"
ACCESS = {"apiKey": SECRET, "headers": {"X-Token": SECRET}}
CONFIG = {
    "agents": {"defaults": {"memorySearch": {"remote": ACCESS}}},
    "models": {"providers": {"openai": ACCESS}},
}


def test_settings_do_not_show_secrets(load: Load) -> None:
    settings = load(CONFIG)
    agent = settings.agent(None)

    assert agent.search.remote.api_key is not None
    assert SECRET not in f"{settings!r} {settings} {agent!r} {agent} {agent.search!r} {agent.search}"


def test_dumped_groups_do_not_show_secrets(load: Load) -> None:
    agent = load(CONFIG).agent(None)

    assert (
        SECRET
        not in f"{msgspec.structs.asdict(agent.search.remote)} {msgspec.json.encode(agent.search, enc_hook=str)!r}"
    )
    assert SECRET not in f"{dataclasses.asdict(agent)}"


def test_a_dump_that_does_not_ask_for_secrets_is_refused_them(load: Load) -> None:
    with pytest.raises(TypeError, match="Secret"):
        msgspec.to_builtins(load(CONFIG).agent(None).search)


def test_secrets_are_compared_by_what_they_hide() -> None:
    assert Secret("a") == Secret("a") != Secret("b")
    assert {Secret("a"), Secret("a")} == {Secret("a")}
    assert Secret("a") != "a"


def test_the_report_does_not_show_secrets(load: Load) -> None:
    found = report(load(CONFIG).agent(None), env={"OPENAI_API_KEY": SECRET})

    assert SECRET not in as_text(found) + json.dumps(as_data(found)) + repr(found)


@pytest.mark.parametrize(
    "remote",
    [
        {"apiKey": f"{SECRET} with blanks"},
        {"apiKey": f"{SECRET}\u00e9"},
        {"apiKey": [SECRET]},
        {"apiKey": {"source": "env", "id": SECRET}},
        {"apikey": SECRET},
        {"apiKey": SECRET, "headers": [SECRET]},
        {"headers": {"X-Token": [SECRET]}},
        {"headers": {"X-Token": f"{SECRET}\n"}},
        {"headers": {f"Authorization: {SECRET}": "x"}},
        {"headers": {f"Authorization: {SECRET}": None}},
        {"headers": {f"Authorization: {SECRET}": 5}},
        {"headers": {f"Authorization: {SECRET}": "${ABSENT}"}},
        {"headers": SECRET},
        SECRET,
        [SECRET],
        {"baseUrl": f"https://me:{SECRET}@host/v1"},
        {"baseUrl": f"https://host/v1?api-key={SECRET}"},
    ],
)
@pytest.mark.parametrize("place", ["remote", "provider"])
def test_errors_do_not_show_secrets(load: Load, remote: object, place: str) -> None:
    config = {
        "remote": {"agents": {"defaults": {"memorySearch": {"remote": remote}}}},
        "provider": {"models": {"providers": {"openai": remote}}},
    }[place]

    with pytest.raises(ConfigError) as caught:
        load(config)

    assert SECRET not in str(caught.value) + "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("text", [f'{{"apiKey": "{SECRET}", x y}}', f"apiKey: {SECRET}", f'{{"a": "{SECRET}'])
def test_syntax_errors_do_not_show_secrets(load: Load, text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(text)

    assert SECRET not in str(caught.value) + "".join(traceback.format_exception(caught.value))


def test_an_error_about_the_encoding_does_not_hold_the_file(home: Path) -> None:
    file = home / "latin.json"
    file.write_bytes(b'{"apiKey": "hush-4711\xfc"}')

    with pytest.raises(ConfigError) as caught:
        load_settings(file, env={}, home=home)

    assert caught.value.__cause__ is None
    assert SECRET not in "".join(traceback.format_exception(caught.value))
