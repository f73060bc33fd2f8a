"""What a session begins with, and that private memory stays private."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from recallite import AgentSettings, as_prompt, session_context

TODAY = date(2026, 3, 1)


@pytest.fixture
def noted(settings: AgentSettings) -> AgentSettings:
    (settings.workspace / "memory").mkdir()
    (settings.workspace / "MEMORY.md").write_text("the long term\n")
    for day in ("2026-02-27", "2026-02-28", "2026-03-01", "2026-03-02"):
        (settings.workspace / f"memory/{day}.md").write_text(f"log of {day}\n")
    (settings.workspace / "memory/2026-03-01-slug.md").write_text("a slug\n")
    return settings


def paths(settings: AgentSettings, **options: Any) -> list[str]:
    return [file.path for file in session_context(settings, today=TODAY, **options).files]


LOGS = ["memory/2026-02-28.md", "memory/2026-03-01.md"]


@pytest.mark.parametrize(
    ("options", "private"),
    [
        ({"private": True}, True),
        ({"private": False}, False),
        ({"session_key": "agent:main:main"}, True),
        ({"session_key": "main"}, True),
        ({"session_key": "AGENT:Main:MAIN"}, True),
        ({"session_key": "agent:bob:main"}, False),
        ({"session_key": "agent::main"}, False),
        ({"session_key": "agent:bob:main", "private": True}, True),
        ({"session_key": "agent:main:discord:channel:1"}, False),
        ({"session_key": "agent:main:whatsapp:group:1"}, False),
        ({"session_key": "agent:main:telegram:direct:42"}, False),
        ({"session_key": "agent:main:cron:job"}, False),
        ({"session_key": ""}, False),
        ({"session_key": "agent:main:telegram:direct:42", "private": True}, True),
        ({"session_key": "agent:main:whatsapp:group:1", "private": True}, False),
        ({"session_key": "agent:main:main", "private": False}, False),
    ],
)
def test_memory_md_is_for_the_main_private_session(
    noted: AgentSettings, options: dict[str, Any], private: bool
) -> None:
    assert paths(noted, **options) == (["MEMORY.md", *LOGS] if private else LOGS)


def test_one_must_say_whose_session_it_is(noted: AgentSettings) -> None:
    with pytest.raises(ValueError, match="session_key"):
        session_context(noted)


def test_what_is_missing_or_blank_is_left_out(settings: AgentSettings) -> None:
    assert session_context(settings, private=True).files == ()
    (settings.workspace / "MEMORY.md").write_text("  \n")
    assert session_context(settings, private=True).files == ()


def test_a_link_is_not_read_and_said(settings: AgentSettings) -> None:
    (settings.workspace / "MEMORY.md").symlink_to("/etc/hostname")

    context = session_context(settings, private=True)

    assert context.files == () and "symlink" in context.problems[0]


def test_as_one_text(noted: AgentSettings) -> None:
    assert as_prompt(session_context(noted, private=True, today=TODAY)) == (
        "## MEMORY.md\n\nthe long term\n\n## memory/2026-02-28.md\n\nlog of 2026-02-28\n\n"
        "## memory/2026-03-01.md\n\nlog of 2026-03-01"
    )
    assert as_prompt(session_context(noted, private=False, today=date(2020, 1, 1))) == ""
