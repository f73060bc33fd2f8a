"""The keys of `memory` (search engine, citations) and of `agents.defaults.compaction` (memory flush)."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Literal

from recallite.config.groups import Group, SharedGroup
from recallite.config.values import ByteSize, Count, Duration, Flag, PathText, Positive, Prompt, Text

Backend = Literal["builtin", "qmd"]
Citations = Literal["auto", "on", "off"]


class QmdPathConfig(Group, frozen=True, kw_only=True):
    """A folder that qmd indexes besides the notes."""

    path: Annotated[PathText, "The folder."]
    name: Annotated[Text | None, "Name of the collection."] = None
    pattern: Annotated[Text, "Which files are taken."] = "**/*.md"


class QmdSessionsConfig(Group, frozen=True, kw_only=True):
    """Transcripts exported for qmd."""

    enabled: Annotated[Flag, "Export transcripts."] = False
    export_dir: Annotated[PathText | None, "Where to."] = None
    retention_days: Annotated[Count, "Delete older exports; 0 keeps all."] = 0


class QmdUpdateConfig(Group, frozen=True, kw_only=True):
    """When qmd reads the files."""

    interval: Annotated[Duration, "Time between updates."] = timedelta(minutes=5)
    embed_interval: Annotated[Duration, "Time between embeddings."] = timedelta(minutes=60)
    debounce_ms: Annotated[Count, "Least time between two updates."] = 15_000
    on_boot: Annotated[Flag, "Update at start."] = True
    wait_for_boot_sync: Annotated[Flag, "Wait for that update."] = False
    command_timeout_ms: Annotated[Positive, "Time-out of short commands."] = 30_000
    update_timeout_ms: Annotated[Positive, "Time-out of an update."] = 120_000
    embed_timeout_ms: Annotated[Positive, "Time-out of an embedding run."] = 120_000


class QmdLimitsConfig(Group, frozen=True, kw_only=True):
    """How much qmd may answer."""

    max_results: Annotated[Positive, "Results of a search."] = 6
    max_snippet_chars: Annotated[Positive, "Characters of a snippet."] = 700
    max_injected_chars: Annotated[Positive, "Characters of all snippets together."] = 4_000
    timeout_ms: Annotated[Positive, "Time-out of a search."] = 4_000


class QmdMatchConfig(Group, frozen=True, kw_only=True):
    """Which sessions a rule is about; all that is given must hold."""

    channel: Annotated[Text | None, "The channel, such as discord."] = None
    chat_type: Annotated[Literal["direct", "group", "channel", "dm"] | None, "The kind of chat."] = None
    key_prefix: Annotated[Text | None, "Beginning of the session key after the agent."] = None
    raw_key_prefix: Annotated[Text | None, "Beginning of the whole session key."] = None


class QmdRuleConfig(Group, frozen=True, kw_only=True):
    """One rule of the scope; the first that matches decides."""

    action: Annotated[Literal["allow", "deny"], "What the rule says."]
    match: QmdMatchConfig = QmdMatchConfig()


_DIRECT_CHATS = QmdRuleConfig(action="allow", match=QmdMatchConfig(chat_type="direct"))


class QmdScopeConfig(Group, frozen=True, kw_only=True):
    """In which chats qmd may answer."""

    default: Annotated[Literal["allow", "deny"], "When no rule matches."] = "deny"
    rules: Annotated[tuple[QmdRuleConfig, ...], "The rules; without any of your own, direct chats are allowed."] = (
        _DIRECT_CHATS,
    )


class QmdMcporterConfig(Group, frozen=True, kw_only=True):
    """Reaching qmd through mcporter."""

    enabled: Annotated[Flag, "Use mcporter."] = False
    server_name: Annotated[Text, "The server's name there."] = "qmd"
    start_daemon: Annotated[Flag, "Start its daemon."] = True


class QmdConfig(Group, frozen=True, kw_only=True):
    """The qmd search engine."""

    command: Annotated[Text, "The program."] = "qmd"
    search_mode: Annotated[Literal["search", "vsearch", "query"], "Its search command."] = "search"
    include_default_memory: Annotated[Flag, "Index the notes of the workspace."] = True
    paths: Annotated[tuple[QmdPathConfig, ...], "More folders."] = ()
    sessions: QmdSessionsConfig = QmdSessionsConfig()
    update: QmdUpdateConfig = QmdUpdateConfig()
    limits: QmdLimitsConfig = QmdLimitsConfig()
    scope: QmdScopeConfig = QmdScopeConfig()
    mcporter: QmdMcporterConfig = QmdMcporterConfig()


class MemoryConfig(Group, frozen=True, kw_only=True):
    """Settings of the memory that hold for all agents."""

    backend: Annotated[Backend, "The search engine."] = "builtin"
    citations: Annotated[Citations, "Whether a snippet names its source."] = "auto"
    qmd: QmdConfig = QmdConfig()


_FLUSH_PROMPT = (
    "Append whatever should outlast this session to memory/YYYY-MM-DD.md. "
    "If there is nothing of that kind, answer NO_REPLY."
)
_FLUSH_SYSTEM_PROMPT = (
    "This session is about to be compacted. Durable facts belong into memory/YYYY-MM-DD.md now; "
    "answer NO_REPLY when done."
)


class MemoryFlushConfig(Group, frozen=True, kw_only=True):
    """The silent turn that saves notes before a session is compacted."""

    enabled: Annotated[Flag, "Whether that turn happens."] = True
    soft_threshold_tokens: Annotated[Count, "How early, counted from the reserve."] = 4_000
    force_flush_transcript_bytes: Annotated[ByteSize, "Or at this size; 0 is never."] = 2 * 1024**2
    prompt: Annotated[Prompt, "The user's side of the turn."] = _FLUSH_PROMPT
    system_prompt: Annotated[Prompt, "The system's side of the turn."] = _FLUSH_SYSTEM_PROMPT


class CompactionConfig(SharedGroup, frozen=True, kw_only=True):
    """What the memory needs to know of a session's compaction; the agent runtime has more keys here."""

    reserve_tokens_floor: Annotated[Count, "Tokens that compaction keeps free."] = 20_000
    memory_flush: MemoryFlushConfig = MemoryFlushConfig()
