"""The parts of openclaw.json that recallite reads, from the root of the file down."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel, Field
from pydantic.fields import FieldInfo

from recallite.config.schema_memory import CompactionConfig, MemoryConfig
from recallite.config.schema_search import MemorySearchConfig
from recallite.config.values import ApiKey, Flag, Headers, PathText, SharedGroup, Text, Url


class AgentDefaults(SharedGroup):
    """`agents.defaults`: what holds for every agent that does not say otherwise."""

    workspace: PathText | None = Field(default=None, description="Folder of notes.")
    memory_search: MemorySearchConfig = MemorySearchConfig.unset()
    compaction: CompactionConfig = CompactionConfig.unset()


class AgentEntry(SharedGroup):
    """One agent of `agents.list`."""

    id: Text = Field(description="The agent's name.")
    default: Flag = Field(default=False, description="Whether this agent is meant when none is named.")
    workspace: PathText | None = Field(default=None, description="Folder of notes.")
    memory_search: MemorySearchConfig = MemorySearchConfig.unset()


class AgentsConfig(SharedGroup):
    """`agents`: who has a memory."""

    defaults: AgentDefaults = AgentDefaults.unset()
    entries: tuple[AgentEntry, ...] = Field(default=(), alias="list", description="The agents; empty: one, main.")


class PluginSlots(SharedGroup):
    """`plugins.slots`: which plugin serves which purpose."""

    memory: Literal["memory-core", "none"] = Field(default="memory-core", description="none removes the memory tools.")


class PluginsConfig(SharedGroup):
    """`plugins`."""

    slots: PluginSlots = PluginSlots.unset()


class ProviderConfig(SharedGroup):
    """`models.providers.<provider>`: access to a provider, shared with chat models."""

    base_url: Url | None = Field(default=None, description="Address of the provider or a compatible server.")
    api_key: ApiKey | None = Field(default=None, description="Key, where memorySearch.remote.apiKey gives none.")
    headers: Headers = Field(default_factory=dict, description="Headers added to each request.")


class ModelsConfig(SharedGroup):
    """`models`."""

    providers: dict[str, ProviderConfig] = Field(default_factory=dict, description="By provider.")


class FileConfig(SharedGroup):
    """The whole file, as far as it is ours."""

    agents: AgentsConfig = AgentsConfig.unset()
    memory: MemoryConfig = MemoryConfig.unset()
    plugins: PluginsConfig = PluginsConfig.unset()
    models: ModelsConfig = ModelsConfig.unset()


Nesting = Literal["one", "many", "named"]


def nested(field: FieldInfo) -> tuple[type[BaseModel], Nesting] | None:
    """The group that `field` holds, and whether it holds one, a list of them or some by name."""
    annotation: Any = field.annotation
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation, "one"
    for inner in get_args(annotation):
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            return inner, "named" if get_origin(annotation) is dict else "many"
    return None


@functools.cache
def keys_of(group: type[BaseModel]) -> Mapping[str, tuple[str, FieldInfo]]:
    """The keys of `group` as the file spells them, each with its attribute and field."""
    return {field.alias or name: (name, field) for name, field in group.model_fields.items()}


def leaves(group: BaseModel, prefix: str = "") -> Iterator[tuple[str, object]]:
    """Every key below `group` that holds a value, as (dotted key, value); lists count as values."""
    for key, (name, field) in keys_of(type(group)).items():
        value = getattr(group, name)
        if isinstance(value, BaseModel) and nested(field):
            yield from leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def set_leaves(group: BaseModel, prefix: str = "") -> Iterator[tuple[str, object]]:
    """Like `leaves`, but only the keys that were given, not those left to their defaults."""
    for key, (name, field) in keys_of(type(group)).items():
        value = getattr(group, name)
        if name not in group.model_fields_set:
            continue
        if isinstance(value, BaseModel) and nested(field):
            yield from set_leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value
