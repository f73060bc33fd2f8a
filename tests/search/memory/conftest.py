"""Settings of an agent in a temporary directory."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from recallite import AgentSettings, load_settings


@pytest.fixture
def make_settings(tmp_path: Path) -> Callable[..., AgentSettings]:
    """Settings with these `agents.defaults`; the workspace exists."""

    def make(**defaults: Any) -> AgentSettings:
        (tmp_path / "workspace").mkdir(exist_ok=True)
        file = tmp_path / "openclaw.json"
        defaults = {"workspace": str(tmp_path / "workspace"), **defaults}
        file.write_text(json.dumps({"agents": {"defaults": defaults}}))
        return load_settings(file, env={"OPENCLAW_STATE_DIR": str(tmp_path / "state")}).agent()

    return make


@pytest.fixture
def settings(make_settings: Callable[..., AgentSettings]) -> AgentSettings:
    return make_settings()
