"""What a session key says about the chat it belongs to, and whether sources are shown there."""

from __future__ import annotations

import re
from typing import Literal

from recallite.types import Hit

ChatType = Literal["direct", "group", "channel"]
CitationMode = Literal["auto", "on", "off"]
_AGENT = re.compile(r"agent:[^:]*:")


def chat_type(session_key: str | None) -> ChatType | None:
    """The kind of chat of a key such as `agent:main:discord:channel:123`; None without a key.

    The parts after the agent decide: `group` or `channel` among them, else it is a direct chat.
    """
    key = (session_key or "").strip().lower()
    rest = _AGENT.sub("", key, count=1) if key.startswith("agent:") else key
    parts = [part for part in rest.split(":") if part]
    if not parts:
        return None
    if "group" in parts:
        return "group"
    return "channel" if "channel" in parts else "direct"


def shows_citations(mode: CitationMode, chat: ChatType | None) -> bool:
    """`auto` shows sources in direct chats and where nothing is known about the chat."""
    return mode == "on" or (mode == "auto" and chat not in ("group", "channel"))


def citation(hit: Hit) -> str:
    """`path#L3-L8`, or `path#L3` for one line."""
    lines = f"#L{hit.start_line}" + (f"-L{hit.end_line}" if hit.end_line > hit.start_line else "")
    return f"{hit.path}{lines}"
