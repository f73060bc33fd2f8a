"""When the silent turn before compaction is due, what it says, and that it happens once a cycle."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from recallite import AgentSettings, MemoryWriteError, is_silent, mark_flushed, memory_flush

KEY = "agent:main:main"
NOW = datetime(2026, 2, 10, 23, 30)


def flush(settings: AgentSettings, **options: Any) -> Any:
    return memory_flush(settings, session_key=KEY, **{"context_window": 200_000, "now": NOW, **options})


def store(settings: AgentSettings, content: Any) -> None:
    settings.sessions_dir.mkdir(parents=True, exist_ok=True)
    text = content if isinstance(content, str) else json.dumps(content)
    (settings.sessions_dir / "sessions.json").write_text(text)


def stored(settings: AgentSettings) -> Any:
    return json.loads((settings.sessions_dir / "sessions.json").read_text())


@pytest.mark.parametrize(
    ("tokens", "window", "due"),
    [
        (175_999, 200_000, False),
        (176_000, 200_000, True),
        (199_000, 200_000, True),
        (0, 200_000, False),
        (23_000, 24_000, False),  # nothing is left above the reserve
        (23_000, 24_001, True),
        (5, 0, False),
    ],
)
def test_it_is_due_at_the_soft_threshold(settings: AgentSettings, tokens: int, window: int, due: bool) -> None:
    assert flush(settings, tokens=tokens, context_window=window).due is due


def test_the_thresholds_are_settings(make_settings: Callable[..., AgentSettings]) -> None:
    settings = make_settings(
        compaction={
            "reserveTokensFloor": 1000,
            "memoryFlush": {"softThresholdTokens": 500, "forceFlushTranscriptBytes": "1kb"},
        }
    )

    assert flush(settings, tokens=8_500, context_window=10_000).due
    assert not flush(settings, tokens=8_499, context_window=10_000).due
    assert flush(settings, tokens=1, transcript_bytes=1024).due
    assert not flush(settings, tokens=1, transcript_bytes=1023).due


def test_a_large_transcript_is_enough_and_zero_switches_that_off(make_settings: Callable[..., AgentSettings]) -> None:
    two_megabytes = 2 * 1024**2

    assert flush(make_settings(), tokens=1, transcript_bytes=two_megabytes).due
    assert not flush(make_settings(), tokens=1, transcript_bytes=two_megabytes - 1).due
    off = make_settings(compaction={"memoryFlush": {"forceFlushTranscriptBytes": 0}})
    assert not flush(off, tokens=1, transcript_bytes=10**9).due


@pytest.mark.parametrize("access", ["ro", "none"])
def test_not_without_the_right_to_write(settings: AgentSettings, access: str) -> None:
    found = flush(settings, tokens=190_000, workspace_access=access)

    assert not found.due and access in found.reason


def test_not_when_switched_off_or_without_a_workspace(make_settings: Callable[..., AgentSettings]) -> None:
    off = make_settings(compaction={"memoryFlush": {"enabled": False}})
    assert "enabled is false" in flush(off, tokens=190_000).reason
    settings = make_settings()
    settings.workspace.rmdir()
    assert "does not exist" in flush(settings, tokens=190_000).reason


def test_not_when_the_workspace_is_read_only(settings: AgentSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write everywhere

    assert "read-only" in flush(settings, tokens=190_000).reason


def test_once_in_a_compaction_cycle_and_other_fields_stay(settings: AgentSettings) -> None:
    other = {"sessionId": "x", "nested": {"ä": [1, 2.5, None, True]}}
    store(settings, {"agent:main:other": other, KEY: {"sessionId": "s", "compactionCount": 2, "label": "路由"}})

    assert flush(settings, tokens=190_000).due
    mark_flushed(settings, KEY)

    entry = stored(settings)[KEY]
    assert (entry["memoryFlushCompactionCount"], entry["compactionCount"], entry["label"]) == (2, 2, "路由")
    assert abs(entry["memoryFlushAt"] / 1000 - datetime.now().timestamp()) < 3600
    assert stored(settings)["agent:main:other"] == other
    assert "has been done" in flush(settings, tokens=190_000).reason
    store(settings, {KEY: {**entry, "compactionCount": 3}})
    assert flush(settings, tokens=190_000).due


def test_a_session_that_was_never_compacted_counts_as_cycle_zero(settings: AgentSettings) -> None:
    mark_flushed(settings, KEY)

    assert stored(settings)[KEY]["memoryFlushCompactionCount"] == 0
    assert not flush(settings, tokens=190_000).due


WRITTEN = (
    r'{"agent:main:other": {"a": "\ud83d\ude00", "n": 1e22, "x": 0.1000000000000000055}, "agent:main:main":'
    r'{"label":"half \ud83d","big":12345678901234567890123,"f":1.10,"e":1e400,"z":-0,"dup":1,"dup":2,"路":"由"}}'
)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_all_else_stays_as_it_is_written(settings: AgentSettings, encoding: str) -> None:
    store(settings, "")
    file = settings.sessions_dir / "sessions.json"
    file.write_bytes(WRITTEN.encode(encoding))

    mark_flushed(settings, KEY)
    mark_flushed(settings, KEY)

    after = file.read_bytes().decode(encoding)
    assert after.startswith(WRITTEN.removesuffix("}}"))
    assert re.fullmatch(
        r', ?"memoryFlushAt": \d+, ?"memoryFlushCompactionCount": 0}}', after.removeprefix(WRITTEN.removesuffix("}}"))
    )


def test_the_layout_stays(settings: AgentSettings) -> None:
    store(
        settings, '{\n  "x": {},\n  "agent:main:main": {\n    "memoryFlushAt" : 5,\n    "compactionCount": 2\n  }\n}\n'
    )

    mark_flushed(settings, KEY)

    assert re.fullmatch(
        r'{\n  "x": {},\n  "agent:main:main": {\n    "memoryFlushAt" : \d{13},\n    "compactionCount": 2,'
        r'\n    "memoryFlushCompactionCount": 2\n  }\n}\n',
        (settings.sessions_dir / "sessions.json").read_text(),
    )


@pytest.mark.parametrize(
    "content", ["{}", "{ }", '{"x": 1}', '{"agent:main:main": {}}', '{"agent:main:main":{},"y":[]}']
)
def test_an_entry_is_added_where_there_is_none(settings: AgentSettings, content: str) -> None:
    store(settings, content)

    mark_flushed(settings, KEY)

    assert stored(settings) == {**json.loads(content), KEY: stored(settings)[KEY]}
    assert set(stored(settings)[KEY]) == {"memoryFlushAt", "memoryFlushCompactionCount"}


def test_where_a_key_stands_twice_the_last_counts(settings: AgentSettings) -> None:
    store(settings, '{"agent:main:main": {"compactionCount": 1}, "agent:main:main": {"compactionCount": 2}}')

    mark_flushed(settings, KEY)

    assert stored(settings)[KEY]["memoryFlushCompactionCount"] == 2


@pytest.mark.parametrize("count", ["1e400", "-1e400", "NaN", "Infinity", "9" * 5000])
def test_a_count_that_is_none_is_not_copied(settings: AgentSettings, count: str) -> None:
    store(settings, f'{{"agent:main:main": {{"compactionCount": {count}}}}}')

    mark_flushed(settings, KEY)

    text = (settings.sessions_dir / "sessions.json").read_text()
    assert f'"compactionCount": {count}, "memoryFlushAt": ' in text
    assert text.endswith('"memoryFlushCompactionCount": 0}}')
    assert not flush(settings, tokens=190_000).due


@pytest.mark.skipif(sys.platform == "win32", reason="symlinks need a right there")
def test_a_symlink_stays_and_so_do_the_rights(settings: AgentSettings, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    real = tmp_path / "elsewhere/real.json"
    real.write_text('{"agent:main:main": {"compactionCount": 4}}')
    real.chmod(0o640)
    settings.sessions_dir.mkdir(parents=True)
    link = settings.sessions_dir / "sessions.json"
    link.symlink_to(real)

    mark_flushed(settings, KEY)

    assert link.is_symlink() and link.samefile(real)
    assert json.loads(real.read_text())[KEY]["memoryFlushCompactionCount"] == 4
    assert real.stat().st_mode & 0o777 == 0o640
    assert [file.name for file in real.parent.iterdir()] == ["real.json"]


@pytest.mark.parametrize(
    "content",
    [
        "{broken",
        "[1]",
        '{"agent:main:main": 7}',
        pytest.param("[" * 200_000, id="deep"),
        pytest.param('{"a":' * 200_000, id="deep objects"),
    ],
)
def test_a_store_that_cannot_be_read_is_left_as_it_is(settings: AgentSettings, content: str) -> None:
    store(settings, content)

    assert not flush(settings, tokens=190_000).due
    assert "left as it is" in flush(settings, tokens=190_000).reason
    with pytest.raises(MemoryWriteError, match="left as it is"):
        mark_flushed(settings, KEY)
    assert (settings.sessions_dir / "sessions.json").read_text() == content


def test_marks_of_many_processes_are_all_kept(settings: AgentSettings) -> None:
    keys = [f"agent:main:session-{number}" for number in range(12)]
    store(settings, {key: {"compactionCount": number} for number, key in enumerate(keys)})
    code = "import sys, recallite; recallite.mark_flushed(recallite.load_settings(sys.argv[1]).agent(), sys.argv[2])"
    env = {**os.environ, "OPENCLAW_STATE_DIR": str(settings.state_dir)}
    commands = [[sys.executable, "-c", code, str(settings.config_file), key] for key in keys]
    processes = [subprocess.Popen(command, env=env) for command in commands]

    assert [process.wait(120) for process in processes] == [0] * len(keys)
    assert {key: stored(settings)[key]["memoryFlushCompactionCount"] for key in keys} == {
        key: number for number, key in enumerate(keys)
    }
    assert [file.name for file in settings.sessions_dir.iterdir() if file.suffix != ".recallite-lock"] == [
        "sessions.json"
    ]


def test_the_default_prompts_name_todays_log_and_no_reply(settings: AgentSettings) -> None:
    found = flush(settings, tokens=1)

    assert found.note == "memory/2026-02-10.md"
    for prompt in (found.prompt, found.system_prompt):
        assert "memory/2026-02-10.md" in prompt and "NO_REPLY" in prompt and "YYYY" not in prompt


def test_custom_prompts_get_the_hint_and_the_date(make_settings: Callable[..., AgentSettings]) -> None:
    settings = make_settings(
        compaction={"memoryFlush": {"prompt": "Write to memory/YYYY-MM-DD.md", "systemPrompt": "Quiet! NO_REPLY."}}
    )

    found = flush(settings, tokens=1)

    assert found.prompt.startswith("Write to memory/2026-02-10.md\n") and "NO_REPLY" in found.prompt
    assert found.system_prompt == "Quiet! NO_REPLY."


def test_today_is_the_users(make_settings: Callable[..., AgentSettings]) -> None:
    days = {
        memory_flush(make_settings(userTimezone=zone), session_key=KEY, context_window=1).note
        for zone in ("Pacific/Kiritimati", "Pacific/Pago_Pago")
    }

    assert len(days) == 2


def usage_line(tokens: int, **more: int) -> str:
    return json.dumps({"type": "message", "message": {"role": "assistant", "usage": {"input": tokens, **more}}})


def test_tokens_and_size_are_found_in_the_sessions_files(settings: AgentSettings) -> None:
    store(settings, {KEY: {"sessionId": "abc", "totalTokens": 1000}})
    filler = json.dumps({"type": "message", "message": {"role": "user", "content": "x" * 5000}})
    lines = [
        usage_line(1),
        usage_line(150_000, cacheRead=20_000, output=6_000),
        usage_line(0),
        *[filler] * 40,
        '{"half',
    ]
    (settings.sessions_dir / "abc.jsonl").write_text("\n".join(lines))

    found = flush(settings)

    assert found.due and "176000 tokens" in found.reason


def test_a_line_that_cannot_be_read_costs_that_line(settings: AgentSettings) -> None:
    store(settings, {KEY: {"sessionId": "abc"}})
    bad = [
        '{"usage":' + "[" * 100_000,
        '{"usage":' + "[" * 100_000 + "]" * 100_000 + "}",
        '{"usage":',
        '{"usage":\udcff}',
        "9" * 5000 + '"usage"',
    ]
    data = "\n".join([usage_line(190_000), *bad]).encode("utf-8", errors="surrogateescape")
    (settings.sessions_dir / "abc.jsonl").write_bytes(data)

    assert flush(settings).due


def test_a_count_that_is_not_fresh_is_not_taken(settings: AgentSettings) -> None:
    store(settings, {KEY: {"sessionId": "abc", "totalTokens": 190_000, "totalTokensFresh": False}})
    assert "not known" in flush(settings).reason
    store(settings, {KEY: {"sessionId": "abc", "totalTokens": 190_000, "totalTokensFresh": True}})
    assert flush(settings).due


def test_a_transcript_elsewhere_is_not_read(settings: AgentSettings, tmp_path: Any) -> None:
    (tmp_path / "other.jsonl").write_text(usage_line(190_000))
    store(settings, {KEY: {"sessionFile": str(tmp_path / "other.jsonl")}})

    assert "not known" in flush(settings).reason


@pytest.mark.parametrize(
    ("answer", "silent"),
    [
        ("NO_REPLY", True),
        (" NO_REPLY.\n", True),
        ("**NO_REPLY**", True),
        ("NO_REPLY, but", False),
        ("", False),
        ("no", False),
    ],
)
def test_no_reply_is_recognised(answer: str, silent: bool) -> None:
    assert is_silent(answer) is silent
