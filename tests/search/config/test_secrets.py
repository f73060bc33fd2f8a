"""Keys and headers appear in no text that recallite makes of its settings."""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest

from recallite.config import Settings, load_settings
from recallite.config.report import as_data, as_text, report
from recallite.config.schema import FileConfig
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


def test_dumped_models_do_not_show_secrets() -> None:
    config = FileConfig.model_validate(CONFIG)

    assert SECRET not in f"{config.model_dump()} {config.model_dump_json()}"


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
