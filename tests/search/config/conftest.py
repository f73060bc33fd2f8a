"""A home directory of its own for each test, and a way to load settings from it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from recallite.config import AgentSettings, Settings, load_settings
from recallite.errors import ConfigError

Load = Callable[..., Settings]
LoadAgent = Callable[..., AgentSettings]
Problems = Callable[..., list[str]]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    path = tmp_path / "home"
    (path / ".openclaw").mkdir(parents=True)
    return path


@pytest.fixture
def load(home: Path) -> Load:
    """Write `config` (a tree, or the text of the file) to the default place and load it."""

    def load(config: object, env: Mapping[str, str] | None = None) -> Settings:
        text = config if isinstance(config, str) else json.dumps(config)
        (home / ".openclaw" / "openclaw.json").write_text(text, encoding="utf-8")
        return load_settings(env=env or {}, home=home)

    return load


@pytest.fixture
def load_agent(load: Load) -> LoadAgent:
    """Load a file whose defaults have the given `memorySearch`, and take its only agent."""

    def load_agent(memory_search: object, env: Mapping[str, str] | None = None) -> AgentSettings:
        return load({"agents": {"defaults": {"memorySearch": memory_search}}}, env).agent(None)

    return load_agent


@pytest.fixture
def problems(load: Load) -> Problems:
    """The lines that a faulty file is answered with."""

    def problems(config: object, env: Mapping[str, str] | None = None) -> list[str]:
        with pytest.raises(ConfigError) as caught:
            load(config, env)
        return caught.value.problems

    return problems


@pytest.fixture
def search_problems(problems: Problems) -> Problems:
    """The same for a `memorySearch` among the defaults, without the place at the beginning."""

    def search_problems(memory_search: object, env: Mapping[str, str] | None = None) -> list[str]:
        lines = problems({"agents": {"defaults": {"memorySearch": memory_search}}}, env)
        return [line.removeprefix("agents.defaults.memorySearch.") for line in lines]

    return search_problems
