"""The keys of `memory` (search engine, citations) and of `agents.defaults.compaction` (memory flush)."""

from __future__ import annotations

from datetime import timedelta
from typing import Literal

from pydantic import Field

from recallite.config.values import (
    ByteSize,
    Count,
    Duration,
    Flag,
    Group,
    PathText,
    Positive,
    Prompt,
    SharedGroup,
    Text,
)

Backend = Literal["builtin", "qmd"]
Citations = Literal["auto", "on", "off"]


class QmdPathConfig(Group):
    """A folder that qmd indexes besides the notes."""

    path: PathText = Field(description="The folder.")
    name: Text | None = Field(default=None, description="Name of the collection.")
    pattern: Text = Field(default="**/*.md", description="Which files are taken.")


class QmdSessionsConfig(Group):
    """Transcripts exported for qmd."""

    enabled: Flag = Field(default=False, description="Export transcripts.")
    export_dir: PathText | None = Field(default=None, description="Where to.")
    retention_days: Count = Field(default=0, description="Delete older exports; 0 keeps all.")


class QmdUpdateConfig(Group):
    """When qmd reads the files."""

    interval: Duration = Field(default=timedelta(minutes=5), description="Time between updates.")
    embed_interval: Duration = Field(default=timedelta(minutes=60), description="Time between embeddings.")
    debounce_ms: Count = Field(default=15_000, description="Least time between two updates.")
    on_boot: Flag = Field(default=True, description="Update at start.")
    wait_for_boot_sync: Flag = Field(default=False, description="Wait for that update.")
    command_timeout_ms: Positive = Field(default=30_000, description="Time-out of short commands.")
    update_timeout_ms: Positive = Field(default=120_000, description="Time-out of an update.")
    embed_timeout_ms: Positive = Field(default=120_000, description="Time-out of an embedding run.")


class QmdLimitsConfig(Group):
    """How much qmd may answer."""

    max_results: Positive = Field(default=6, description="Results of a search.")
    max_snippet_chars: Positive = Field(default=700, description="Characters of a snippet.")
    max_injected_chars: Positive = Field(default=4_000, description="Characters of all snippets together.")
    timeout_ms: Positive = Field(default=4_000, description="Time-out of a search.")


class QmdMatchConfig(Group):
    """Which sessions a rule is about; all that is given must hold."""

    channel: Text | None = Field(default=None, description="The channel, such as discord.")
    chat_type: Literal["direct", "group", "channel", "dm"] | None = Field(default=None, description="The kind of chat.")
    key_prefix: Text | None = Field(default=None, description="Beginning of the session key after the agent.")
    raw_key_prefix: Text | None = Field(default=None, description="Beginning of the whole session key.")


class QmdRuleConfig(Group):
    """One rule of the scope; the first that matches decides."""

    action: Literal["allow", "deny"] = Field(description="What the rule says.")
    match: QmdMatchConfig = QmdMatchConfig.unset()


_DIRECT_CHATS = QmdRuleConfig.model_construct(action="allow", match=QmdMatchConfig.model_construct(chat_type="direct"))


class QmdScopeConfig(Group):
    """In which chats qmd may answer."""

    default: Literal["allow", "deny"] = Field(default="deny", description="When no rule matches.")
    rules: tuple[QmdRuleConfig, ...] = Field(
        default=(_DIRECT_CHATS,), description="The rules; without any of your own, direct chats are allowed."
    )


class QmdMcporterConfig(Group):
    """Reaching qmd through mcporter."""

    enabled: Flag = Field(default=False, description="Use mcporter.")
    server_name: Text = Field(default="qmd", description="The server's name there.")
    start_daemon: Flag = Field(default=True, description="Start its daemon.")


class QmdConfig(Group):
    """The qmd search engine."""

    command: Text = Field(default="qmd", description="The program.")
    search_mode: Literal["search", "vsearch", "query"] = Field(default="search", description="Its search command.")
    include_default_memory: Flag = Field(default=True, description="Index the notes of the workspace.")
    paths: tuple[QmdPathConfig, ...] = Field(default=(), description="More folders.")
    sessions: QmdSessionsConfig = QmdSessionsConfig.unset()
    update: QmdUpdateConfig = QmdUpdateConfig.unset()
    limits: QmdLimitsConfig = QmdLimitsConfig.unset()
    scope: QmdScopeConfig = QmdScopeConfig.unset()
    mcporter: QmdMcporterConfig = QmdMcporterConfig.unset()


class MemoryConfig(Group):
    """Settings of the memory that hold for all agents."""

    backend: Backend = Field(default="builtin", description="The search engine.")
    citations: Citations = Field(default="auto", description="Whether a snippet names its source.")
    qmd: QmdConfig = QmdConfig.unset()


class MemoryFlushConfig(Group):
    """The silent turn that saves notes before a session is compacted."""

    enabled: Flag = Field(default=True, description="Whether that turn happens.")
    soft_threshold_tokens: Count = Field(default=4_000, description="How early, counted from the reserve.")
    force_flush_transcript_bytes: ByteSize = Field(default=2 * 1024**2, description="Or at this size; 0 is never.")
    prompt: Prompt = Field(
        default="Append whatever should outlast this session to memory/YYYY-MM-DD.md. "
        "If there is nothing of that kind, answer NO_REPLY.",
        description="The user's side of the turn.",
    )
    system_prompt: Prompt = Field(
        default="This session is about to be compacted. Durable facts belong into memory/YYYY-MM-DD.md now; "
        "answer NO_REPLY when done.",
        description="The system's side of the turn.",
    )


class CompactionConfig(SharedGroup):
    """What the memory needs to know of a session's compaction; the agent runtime has more keys here."""

    reserve_tokens_floor: Count = Field(default=20_000, description="Tokens that compaction keeps free.")
    memory_flush: MemoryFlushConfig = MemoryFlushConfig.unset()
