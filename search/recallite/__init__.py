"""Searchable memory for AI agents: read-only, synchronous, light.

with recallite.MemorySearch("main") as memory:
    for hit in memory.search("which VLAN is the printer on?").hits:
        print(hit.path, hit.start_line, hit.snippet)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from recallite.client import MemorySearch
    from recallite.config import AgentSettings, Settings, load_settings
    from recallite.errors import (
        ClosedError,
        ConfigError,
        FencedError,
        ForeignIndexError,
        IndexDamagedError,
        IndexMissingError,
        IndexUnusableError,
        IndexVersionError,
        InputRejectedError,
        LeaseError,
        LeaseHeldError,
        MemoryPathError,
        MemoryWriteError,
        ProviderAuthError,
        ProviderError,
        ProviderTransientError,
        ProviderUnavailableError,
        QuotaExceededError,
        RateLimitedError,
        RecalliteError,
        UnknownAgentError,
    )
    from recallite.memory.context import as_prompt, session_context
    from recallite.memory.flush import is_silent, mark_flushed, memory_flush
    from recallite.memory.notes import append_to_log, remember
    from recallite.tools import MemoryTools, tool_schemas
    from recallite.types import (
        ContextFile,
        Excerpt,
        Failure,
        Fallback,
        FlushTurn,
        Hit,
        IndexStatus,
        ScoreParts,
        SearchReply,
        SessionContext,
        SkippedLine,
        Source,
        WrittenNote,
    )
    from recallite.work.requests import request_sync

__all__ = [
    "AgentSettings",
    "ClosedError",
    "ConfigError",
    "ContextFile",
    "Excerpt",
    "Failure",
    "Fallback",
    "FencedError",
    "FlushTurn",
    "ForeignIndexError",
    "Hit",
    "IndexDamagedError",
    "IndexMissingError",
    "IndexStatus",
    "IndexUnusableError",
    "IndexVersionError",
    "InputRejectedError",
    "LeaseError",
    "LeaseHeldError",
    "MemoryPathError",
    "MemorySearch",
    "MemoryTools",
    "MemoryWriteError",
    "ProviderAuthError",
    "ProviderError",
    "ProviderTransientError",
    "ProviderUnavailableError",
    "QuotaExceededError",
    "RateLimitedError",
    "RecalliteError",
    "ScoreParts",
    "SearchReply",
    "SessionContext",
    "Settings",
    "SkippedLine",
    "Source",
    "UnknownAgentError",
    "WrittenNote",
    "append_to_log",
    "as_prompt",
    "is_silent",
    "load_settings",
    "mark_flushed",
    "memory_flush",
    "remember",
    "request_sync",
    "session_context",
    "tool_schemas",
]

__version__ = "0.1.0"

_HOMES = {
    "MemorySearch": "recallite.client",
    "AgentSettings": "recallite.config",
    "Settings": "recallite.config",
    "load_settings": "recallite.config",
    "request_sync": "recallite.work.requests",
    **dict.fromkeys(("MemoryTools", "tool_schemas"), "recallite.tools"),
    **dict.fromkeys(("as_prompt", "session_context"), "recallite.memory.context"),
    **dict.fromkeys(("is_silent", "mark_flushed", "memory_flush"), "recallite.memory.flush"),
    **dict.fromkeys(("append_to_log", "remember"), "recallite.memory.notes"),
    **dict.fromkeys(
        (
            "ContextFile",
            "Excerpt",
            "Failure",
            "Fallback",
            "FlushTurn",
            "Hit",
            "IndexStatus",
            "ScoreParts",
            "SearchReply",
            "SessionContext",
            "SkippedLine",
            "Source",
            "WrittenNote",
        ),
        "recallite.types",
    ),
}


def __getattr__(name: str) -> object:
    """Import what is used when it is used: a program that only wants an error class pays for nothing else."""
    if name not in __all__:
        raise AttributeError(f"module 'recallite' has no attribute {name!r}")
    value = getattr(import_module(_HOMES.get(name, "recallite.errors")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
