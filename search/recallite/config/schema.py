"""The parts of openclaw.json that recallite reads, from the root of the file down."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from recallite.config.access import ApiKey, Headers, Url
from recallite.config.groups import SharedGroup
from recallite.config.schema_memory import CompactionConfig, MemoryConfig
from recallite.config.schema_search import MemorySearchConfig
from recallite.config.values import Flag, PathText, Text, TimeZone


class AgentDefaults(SharedGroup, frozen=True, kw_only=True):
    """`agents.defaults`: what holds for every agent that does not say otherwise."""

    workspace: Annotated[PathText | None, "Folder of notes."] = None
    memory_search: MemorySearchConfig = MemorySearchConfig()
    user_timezone: Annotated[TimeZone | None, "Where the user's day begins; the machine's zone without it."] = None
    compaction: CompactionConfig = CompactionConfig()


class AgentEntry(SharedGroup, frozen=True, kw_only=True):
    """One agent of `agents.list`."""

    id: Annotated[Text, "The agent's name."]
    default: Annotated[Flag, "Whether this agent is meant when none is named."] = False
    workspace: Annotated[PathText | None, "Folder of notes."] = None
    memory_search: MemorySearchConfig = MemorySearchConfig()


class AgentsConfig(SharedGroup, frozen=True, kw_only=True):
    """`agents`: who has a memory."""

    defaults: AgentDefaults = AgentDefaults()
    entries: Annotated[tuple[AgentEntry, ...], "The agents; empty: one, main."] = msgspec.field(default=(), name="list")


class PluginSlots(SharedGroup, frozen=True, kw_only=True):
    """`plugins.slots`: which plugin serves which purpose."""

    memory: Annotated[Literal["memory-core", "none"], "none removes the memory tools."] = "memory-core"


class PluginsConfig(SharedGroup, frozen=True, kw_only=True):
    """`plugins`."""

    slots: PluginSlots = PluginSlots()


class ProviderConfig(SharedGroup, frozen=True, kw_only=True):
    """`models.providers.<provider>`: access to a provider, shared with chat models."""

    base_url: Annotated[Url | None, "Address of the provider or a compatible server."] = None
    api_key: Annotated[ApiKey | None, "Key, where memorySearch.remote.apiKey gives none."] = None
    headers: Annotated[Headers, "Headers added to each request."] = msgspec.field(default_factory=dict)


class ModelsConfig(SharedGroup, frozen=True, kw_only=True):
    """`models`."""

    providers: Annotated[dict[str, ProviderConfig], "By provider."] = msgspec.field(default_factory=dict)


class FileConfig(SharedGroup, frozen=True, kw_only=True):
    """The whole file, as far as it is ours."""

    agents: AgentsConfig = AgentsConfig()
    memory: MemoryConfig = MemoryConfig()
    plugins: PluginsConfig = PluginsConfig()
    models: ModelsConfig = ModelsConfig()
