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
        ProviderAuthError,
        ProviderError,
        ProviderTransientError,
        ProviderUnavailableError,
        QuotaExceededError,
        RateLimitedError,
        RecalliteError,
        UnknownAgentError,
    )
    from recallite.types import (
        Excerpt,
        Failure,
        Fallback,
        Hit,
        IndexStatus,
        ScoreParts,
        SearchReply,
        SkippedLine,
        Source,
    )
    from recallite.work.requests import request_sync

__all__ = [
    "AgentSettings",
    "ConfigError",
    "Excerpt",
    "Failure",
    "Fallback",
    "FencedError",
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
    "ProviderAuthError",
    "ProviderError",
    "ProviderTransientError",
    "ProviderUnavailableError",
    "QuotaExceededError",
    "RateLimitedError",
    "RecalliteError",
    "ScoreParts",
    "SearchReply",
    "Settings",
    "SkippedLine",
    "Source",
    "UnknownAgentError",
    "load_settings",
    "request_sync",
]

__version__ = "0.1.0"

_HOMES = {
    "MemorySearch": "recallite.client",
    "AgentSettings": "recallite.config",
    "Settings": "recallite.config",
    "load_settings": "recallite.config",
    "request_sync": "recallite.work.requests",
    **dict.fromkeys(
        ("Excerpt", "Failure", "Fallback", "Hit", "IndexStatus", "ScoreParts", "SearchReply", "SkippedLine", "Source"),
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
