"""The resolved settings of an agent for people and programs: each value, and where it was set."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import timedelta

import msgspec

from recallite.config.access import Secret
from recallite.config.groups import Group, leaves
from recallite.config.keys import KEY_VARIABLES, provider_key
from recallite.config.problems import SECRET_KEYS
from recallite.config.resolve import AgentSettings
from recallite.config.unbuilt import built_providers, is_unbuilt
from recallite.errors import ProviderUnavailableError


class Entry(msgspec.Struct, frozen=True):
    """One line: a key, its value in JSON's types, where it was set. Secrets have the value "set"."""

    key: str
    value: object
    origin: str


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What `recallite config` prints."""

    agent: str
    places: tuple[Entry, ...]
    keys: tuple[Entry, ...]
    """The keys of the providers: "set" or "not set"."""
    settings: tuple[Entry, ...]


def report(settings: AgentSettings, *, env: Mapping[str, str] | None = None) -> Report:
    """The settings of one agent. Keys that have no effect in this version are left out."""
    return Report(
        agent=settings.agent,
        places=tuple(_places(settings)),
        keys=tuple(_provider_keys(settings, env)),
        settings=tuple(_settings(settings)),
    )


def _places(settings: AgentSettings) -> Iterator[Entry]:
    origins = settings.origins
    store_origin = origins["memorySearch.store.path"]
    file = str(settings.config_file) if settings.config_file else None
    yield Entry("configFile", file, origins["configFile"])
    yield Entry("stateDir", str(settings.state_dir), origins["stateDir"])
    yield Entry("workspace", str(settings.workspace), origins["workspace"])
    yield Entry("userTimezone", settings.user_timezone, origins["userTimezone"])
    yield Entry("extraPaths", [str(path) for path in settings.extra_paths], origins["memorySearch.extraPaths"])
    yield Entry("index", str(settings.index_path), store_origin)
    yield Entry("cache", str(settings.cache_path), store_origin)
    yield Entry("sessions", str(settings.sessions_dir), "default")
    slot_origin = origins.get("plugins.slots.memory", origins["memorySearch.enabled"])
    yield Entry("toolsEnabled", settings.tools_enabled, slot_origin)


def _provider_keys(settings: AgentSettings, env: Mapping[str, str] | None) -> Iterator[Entry]:
    for provider in KEY_VARIABLES:
        if provider not in built_providers():
            continue
        try:
            key = provider_key(settings, provider, env=env)
        except ProviderUnavailableError as error:
            yield Entry(provider, "unusable", str(error))
        else:
            yield Entry(provider, "set", key.origin) if key else Entry(provider, "not set", "default")


def _settings(settings: AgentSettings) -> Iterator[Entry]:
    groups = {
        "memorySearch.": settings.search,
        "memory.": settings.memory,
        "compaction.": settings.compaction,
    }
    for prefix, group in groups.items():
        for key, value in leaves(group, prefix):
            if not is_unbuilt(key):
                yield Entry(key, _shown(key, value), settings.origins.get(key, "default"))
    for provider, access in settings.providers.items():
        for key, value in leaves(access, f"models.providers.{provider}."):
            yield Entry(key, _shown(key, value), "config file" if value else "default")


def _shown(key: str, value: object) -> object:
    if key.rpartition(".")[2] in SECRET_KEYS:
        return "set" if _is_set(value) else None
    if isinstance(value, tuple):
        return [_shown(key, item) for item in value]
    if isinstance(value, Group):
        return {name: _shown(name, item) for name, item in leaves(value) if item is not None}
    if isinstance(value, timedelta):
        return f"{value.total_seconds():g}s"
    return value


def _is_set(value: object) -> bool:
    return bool(value.reveal().strip()) if isinstance(value, Secret) else bool(value)


def as_data(found: Report) -> dict[str, object]:
    """`found` as a tree that JSON can hold."""

    def by_key(entries: tuple[Entry, ...]) -> dict[str, object]:
        return {entry.key: {"value": entry.value, "origin": entry.origin} for entry in entries}

    return {
        "agent": found.agent,
        "places": by_key(found.places),
        "keys": by_key(found.keys),
        "settings": by_key(found.settings),
    }


def as_text(found: Report) -> str:
    """`found` as lines in aligned columns."""
    blocks = {f"Agent {found.agent}": found.places, "Keys": found.keys, "Settings": found.settings}
    width = max(len(entry.key) for entries in blocks.values() for entry in entries)
    lines = []
    for title, entries in blocks.items():
        lines += [title, *(f"  {entry.key:<{width}}  {_with_origin(entry)}" for entry in entries), ""]
    return "\n".join(lines).rstrip("\n")


def _with_origin(entry: Entry) -> str:
    if entry.value is None:
        text = "-"
    else:
        text = entry.value if isinstance(entry.value, str) else json.dumps(entry.value, ensure_ascii=False)
    return f"{text} ({entry.origin})" if entry.origin.startswith("default") else f"{text} (from {entry.origin})"
