"""What no call can use is refused in words, with the name of the argument, and not by what breaks inside."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from recallite import (
    IndexMissingError,
    MemorySearch,
    MemoryTools,
    Settings,
    append_to_log,
    as_prompt,
    is_silent,
    load_settings,
    mark_flushed,
    memory_flush,
    remember,
    request_sync,
    session_context,
)


@pytest.fixture
def everything(tmp_path: Path) -> Settings:
    """The settings of all agents, where those of one are wanted."""
    (tmp_path / "workspace").mkdir()
    file = tmp_path / "openclaw.json"
    file.write_text(json.dumps({"agents": {"defaults": {"workspace": str(tmp_path / "workspace")}}}))
    return load_settings(file, env={"OPENCLAW_STATE_DIR": str(tmp_path / "state")})


@pytest.mark.parametrize(
    "call",
    [
        lambda settings: MemorySearch(settings=settings),
        lambda settings: remember(settings, "x"),
        lambda settings: append_to_log(settings, "x"),
        lambda settings: memory_flush(settings, session_key="main", context_window=5),
        lambda settings: mark_flushed(settings, "main"),
        lambda settings: session_context(settings, private=True),
    ],
)
def test_the_settings_of_one_agent_are_wanted(everything: Settings, call: Callable[[Any], object]) -> None:
    with pytest.raises(TypeError, match=r"of one agent, load_settings\(\).agent\('main'\), not those of all agents"):
        call(everything)
    with pytest.raises(TypeError, match=r"of one agent, .*, not str"):
        call("main")


def test_an_agent_is_named_by_its_id(everything: Settings) -> None:
    with pytest.raises(TypeError, match="named by its id, a text, not by Settings"):
        everything.agent(everything)  # type: ignore[arg-type]  # what is wrong with it is the point


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda settings: remember(settings, None), "text"),
        (lambda settings: append_to_log(settings, b"x"), "text"),
        (lambda settings: is_silent(None), "answer"),
        (lambda settings: mark_flushed(settings, None), "session_key"),
        (lambda settings: memory_flush(settings, session_key=None, context_window=5), "session_key"),
        (lambda settings: session_context(settings, session_key=7), "session_key"),
        (lambda settings: MemorySearch(settings=settings).search(None), "query"),
        (lambda settings: MemorySearch(settings=settings).get(None), "path"),
    ],
)
def test_a_text_is_wanted(everything: Settings, call: Callable[[Any], object], name: str) -> None:
    settings = everything.agent()

    with pytest.raises(TypeError, match=f"{name} must be a text"):
        call(settings)

    assert list(settings.workspace.iterdir()) == [] and not settings.sessions_dir.exists()


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"context_window": None}, TypeError, "context_window must be a whole number, not NoneType"),
        ({"context_window": -1}, ValueError, "context_window is -1, it must be at least 0"),
        ({"tokens": float("nan")}, ValueError, "tokens is nan, it must be a whole number"),
        ({"tokens": float("inf")}, ValueError, "tokens is inf, it must be a whole number"),
        ({"tokens": -1}, ValueError, "tokens is -1, it must be at least 0"),
        ({"tokens": "9"}, TypeError, "tokens must be a whole number, not str"),
        ({"tokens": True}, TypeError, "tokens must be a whole number, not bool"),
        ({"transcript_bytes": 0.5}, ValueError, "transcript_bytes is 0.5, it must be a whole number"),
        ({"workspace_access": "zzz"}, ValueError, "workspace_access is 'zzz', it must be one of rw, ro, none"),
        ({"workspace_access": []}, ValueError, "workspace_access is \\[\\], it must be one of rw, ro, none"),
    ],
)
def test_a_flush_is_not_judged_by_what_is_no_size(
    everything: Settings, options: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        memory_flush(everything.agent(), session_key="main", **{"context_window": 200_000, **options})


def test_a_whole_number_may_be_written_with_a_point(everything: Settings) -> None:
    tokens: Any = 190_000.0

    assert memory_flush(everything.agent(), session_key="main", context_window=200_000, tokens=tokens).due


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda memory: memory.search("x", sources="memory"), "sources must be a list of texts, not str"),
        (lambda memory: memory.search("x", sources=5), "sources must be a list of texts, not int"),
        (lambda memory: memory.search("x", sources=[5]), r"each of sources must be a text \(str\), not int"),
        (lambda memory: memory.search("x", folder=5), "folder must be a path, a text or a Path, not int"),
        (lambda memory: memory.search("x", min_score="a"), "min_score must be a number, not str"),
        (lambda memory: memory.search("x", min_score=True), "min_score must be a number, not bool"),
        (lambda memory: memory.search("x", explain="no"), "explain must be True or False, not str"),
        (lambda memory: memory.search("x", session=[]), "session must be a text"),
        (lambda memory: memory.get("MEMORY.md", from_line="a"), "from_line must be a whole number, not str"),
        (lambda memory: memory.get("MEMORY.md", lines=[]), "lines must be a whole number, not list"),
        (lambda memory: MemorySearch(config=5), "config must be a path, a text or a Path, not int"),
        (lambda memory: MemoryTools(5), "memory must be a MemorySearch, not int"),
        (lambda memory: MemoryTools(memory, session_key=5), "session_key must be a text"),
        (lambda memory: request_sync(5), "of one agent, .* not int"),
        (lambda memory: as_prompt(5), "context must be what session_context gives, not int"),
        (lambda memory: session_context(memory.settings, private="x"), "private must be True or False, not str"),
        (lambda memory: session_context(memory.settings, private=True, today="x"), "today must be a date, not str"),
        (lambda memory: append_to_log(memory.settings, "x", day=datetime(2026, 1, 1)), "day must be a date, not date"),
    ],
)
def test_every_call_refuses_the_wrong_kind_in_words(
    everything: Settings, call: Callable[[Any], object], words: str
) -> None:
    with MemorySearch(settings=everything.agent()) as memory, pytest.raises(TypeError, match=words):
        call(memory)


def test_a_request_has_one_of_the_reasons(everything: Settings) -> None:
    with pytest.raises(ValueError, match="reason is 'foo', it must be one of session-start, "):
        request_sync(everything.agent(), "foo")  # type: ignore[arg-type]  # what is wrong with it is the point


def test_a_folder_may_be_a_path_and_sources_any_collection(everything: Settings) -> None:
    folder: Any = Path("memory")

    with MemorySearch(settings=everything.agent()) as memory, pytest.raises(IndexMissingError):
        memory.search("x", folder=folder, sources={"memory"})  # type: ignore[arg-type]  # it is more than is asked for


@pytest.mark.parametrize(("value", "error"), [("3", TypeError), (float("nan"), ValueError), (0, ValueError)])
def test_a_number_of_results_is_a_whole_number(everything: Settings, value: Any, error: type[Exception]) -> None:
    with MemorySearch(settings=everything.agent()) as memory, pytest.raises(error, match="max_results"):
        memory.search("x", max_results=value)
