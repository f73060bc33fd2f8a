"""The silent turn before a session is compacted, in which the model writes down what should last."""

from __future__ import annotations

import math
import os
import re
import time
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal, get_args

from recallite.arguments import a_count, a_text, agent_settings
from recallite.config import AgentSettings
from recallite.errors import MemoryWriteError
from recallite.memory.store import read_entry, update_entry
from recallite.memory.usage import SessionUsage, session_usage
from recallite.types import FlushTurn

WorkspaceAccess = Literal["rw", "ro", "none"]
NO_REPLY = "NO_REPLY"
_HINT = f"If there is nothing to store, or when you are done, answer {NO_REPLY}."
_DAY = "YYYY-MM-DD"
_SILENT = re.compile(rf"\W*{NO_REPLY}\W*", re.ASCII)


def memory_flush(
    settings: AgentSettings,
    *,
    session_key: str,
    context_window: int,
    tokens: int | None = None,
    transcript_bytes: int | None = None,
    workspace_access: WorkspaceAccess = "rw",
    now: datetime | None = None,
) -> FlushTurn:
    """Whether the turn is due now, why, and its two prompts.

    It is due once in a compaction cycle, when `tokens` reach contextWindow − reserveTokensFloor −
    softThresholdTokens, or the transcript reaches forceFlushTranscriptBytes. Without `tokens` or
    `transcript_bytes` they are taken from sessions.json and the transcript. Call `mark_flushed` after the turn.
    Never raises for what it reads; the reason says what was wrong. Raises TypeError and ValueError for arguments
    that cannot be: a count below 0, or another `workspace_access` than "rw", "ro" and "none".
    """
    flush = agent_settings(settings).compaction.memory_flush
    a_text(session_key, "session_key")
    said = SessionUsage(_count(tokens, "tokens"), _count(transcript_bytes, "transcript_bytes"))
    window = a_count(context_window, "context_window")
    due, reason = False, _why_not(settings, workspace_access)
    if reason is None:
        due, reason = _judged(settings, session_key, window, said)
    day = (now if now is not None else datetime.now(settings.zone)).date().isoformat()
    defaults = type(flush)()
    return FlushTurn(
        due=due,
        reason=reason,
        prompt=_prompt(flush.prompt, defaults.prompt, day),
        system_prompt=_prompt(flush.system_prompt, defaults.system_prompt, day),
        note=f"memory/{day}.md",
    )


def mark_flushed(settings: AgentSettings, session_key: str) -> None:
    """Note in sessions.json that this cycle's turn is done; no other field is touched. Raises MemoryWriteError."""
    update_entry(
        agent_settings(settings).sessions_dir,
        a_text(session_key, "session_key"),
        lambda entry: {
            "memoryFlushAt": int(time.time() * 1000),
            "memoryFlushCompactionCount": _cycle(entry),
        },
    )


def _cycle(entry: Mapping[str, Any]) -> Any:
    """The compaction cycle as the runtime counts it; what is no count (`1e400`) is taken for the first."""
    count = entry.get("compactionCount") or 0
    return 0 if isinstance(count, float) and not math.isfinite(count) else count


def is_silent(answer: str) -> bool:
    """Whether a model's answer is NO_REPLY and nothing more, and so is not to be delivered."""
    return _SILENT.fullmatch(a_text(answer, "answer")) is not None


def _count(value: int | None, name: str) -> int | None:
    return None if value is None else a_count(value, name)


def _why_not(settings: AgentSettings, access: WorkspaceAccess) -> str | None:
    if access not in get_args(WorkspaceAccess):
        raise ValueError(f"workspace_access is {access!r}, it must be one of {', '.join(get_args(WorkspaceAccess))}")
    if not settings.compaction.memory_flush.enabled:
        return "compaction.memoryFlush.enabled is false"
    if access != "rw":
        return f"the session has no right to write notes (workspaceAccess {access})"
    if not settings.workspace.is_dir():
        return f"the workspace {settings.workspace} does not exist"
    if not os.access(settings.workspace, os.W_OK):
        return f"the workspace {settings.workspace} is read-only"
    return None


def _judged(settings: AgentSettings, session_key: str, context_window: int, said: SessionUsage) -> tuple[bool, str]:
    """Whether the session's cycle and size ask for the turn; what the caller did not say is looked up."""
    try:
        entry = read_entry(settings.sessions_dir, session_key)
    except MemoryWriteError as error:
        return False, str(error)
    if entry.get("memoryFlushCompactionCount") == _cycle(entry):
        return False, "it has been done in this compaction cycle"
    usage = said
    if said.tokens is None or said.transcript_bytes is None:
        found = session_usage(settings.sessions_dir, entry)
        tokens = said.tokens if said.tokens is not None else found.tokens
        size = said.transcript_bytes if said.transcript_bytes is not None else found.transcript_bytes
        usage = SessionUsage(tokens, size)
    return _reached(settings, context_window, usage)


def _reached(settings: AgentSettings, context_window: int, usage: SessionUsage) -> tuple[bool, str]:
    compaction = settings.compaction
    threshold = context_window - compaction.reserve_tokens_floor - compaction.memory_flush.soft_threshold_tokens
    if usage.tokens is not None and threshold > 0 and usage.tokens >= threshold:
        return True, f"{usage.tokens} tokens of {threshold} before which notes are saved"
    forced = compaction.memory_flush.force_flush_transcript_bytes
    if forced and usage.transcript_bytes is not None and usage.transcript_bytes >= forced:
        return True, f"the transcript has {usage.transcript_bytes} bytes, at {forced} notes are saved"
    if usage.tokens is None:
        return False, "the session's tokens are not known"
    return False, f"{usage.tokens} tokens; notes are saved at {max(0, threshold)}"


def _prompt(text: str, default: str, day: str) -> str:
    text = text if text.strip() else default
    if NO_REPLY not in text:
        text = f"{text.rstrip()}\n{_HINT}"
    return text.replace(_DAY, day)
