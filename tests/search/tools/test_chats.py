"""Session keys and citations."""

from __future__ import annotations

import pytest

from recallite.tools.chats import chat_type, citation, shows_citations
from recallite.types import Hit


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        ("agent:main:main", "direct"),
        ("agent:main:discord:channel:123", "channel"),
        ("agent:main:telegram:direct:42", "direct"),
        ("agent:main:telegram:dm:42", "direct"),
        ("discord:channel:1", "channel"),
        ("agent:main:whatsapp:group:120363@g.us", "group"),
        ("AGENT:Main:WhatsApp:GROUP:1", "group"),
        ("main", "direct"),
        ("", None),
        (None, None),
        ("  ", None),
        ("agent:group:main", "direct"),
        ("agent:main:slack:channel:c1:thread:5", "channel"),
        ("agent:main:cron:job1", "direct"),
        ("agent:main:subgroup:channels", "direct"),
    ],
)
def test_the_kind_of_chat_of_a_session_key(key: str | None, kind: str | None) -> None:
    assert chat_type(key) == kind


@pytest.mark.parametrize(
    ("mode", "chat", "shown"),
    [
        ("on", "group", True), ("on", "channel", True), ("on", "direct", True), ("on", None, True),
        ("off", "group", False), ("off", "direct", False), ("off", None, False),
        ("auto", "group", False), ("auto", "channel", False), ("auto", "direct", True), ("auto", None, True),
    ],
)  # fmt: skip
def test_when_sources_are_shown(mode: str, chat: str | None, shown: bool) -> None:
    assert shows_citations(mode, chat) is shown  # type: ignore[arg-type]  # literals from a table


@pytest.mark.parametrize(("first", "last", "text"), [(3, 8, "a.md#L3-L8"), (3, 3, "a.md#L3")])
def test_a_citation_names_path_and_lines(first: int, last: int, text: str) -> None:
    assert citation(Hit("a.md", first, last, 1.0, "", "memory", 1)) == text
