"""Every key of the schema does something, or is refused: `SAMPLES` must name each of them."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import recallite.config.schema
import recallite.config.schema_memory
import recallite.config.schema_search
from recallite.config import Settings
from recallite.config.groups import Group, keys_of
from recallite.config.report import Entry, report
from recallite.config.schema import FileConfig
from recallite.config.unbuilt import UNBUILT, is_unbuilt
from recallite.errors import ConfigError

Load = Callable[..., Settings]

SEARCH = "agents.defaults.memorySearch"
SAMPLES: Mapping[str, object] = {
    "agents.defaults.workspace": "/w",
    "agents.defaults.userTimezone": "Asia/Tokyo",
    "agents.list[].id": "work",
    "agents.list[].default": True,
    "agents.list[].workspace": "/w",
    "plugins.slots.memory": "none",
    "models.providers{}.baseUrl": "http://localhost:1/v1",
    "models.providers{}.apiKey": "sk-1",
    "models.providers{}.headers": {"X-A": "b"},
    f"{SEARCH}.enabled": False,
    f"{SEARCH}.sources": ["memory", "sessions"],
    f"{SEARCH}.extraPaths": ["/x"],
    f"{SEARCH}.exclude": ["drafts/**"],
    f"{SEARCH}.multimodal.enabled": True,
    f"{SEARCH}.multimodal.modalities": ["image"],
    f"{SEARCH}.multimodal.maxFileBytes": 5,
    f"{SEARCH}.experimental.sessionMemory": True,
    f"{SEARCH}.provider": "openai",
    f"{SEARCH}.remote.baseUrl": "http://localhost:1/v1",
    f"{SEARCH}.remote.apiKey": "sk-2",
    f"{SEARCH}.remote.headers": {"X-A": "b"},
    f"{SEARCH}.remote.sameModel": True,
    f"{SEARCH}.remote.pricePerMillionTokens": 0.02,
    f"{SEARCH}.remote.dailyTokenLimit": 1,
    f"{SEARCH}.remote.timeoutSeconds": 0.5,
    f"{SEARCH}.remote.maxItemsPerRequest": 10,
    f"{SEARCH}.remote.batch.enabled": True,
    f"{SEARCH}.remote.batch.wait": False,
    f"{SEARCH}.remote.batch.concurrency": 3,
    f"{SEARCH}.remote.batch.pollIntervalMs": 1,
    f"{SEARCH}.remote.batch.timeoutMinutes": 1,
    f"{SEARCH}.fallback": "openai",
    f"{SEARCH}.model": "text-embedding-3-large",
    f"{SEARCH}.outputDimensionality": 256,
    f"{SEARCH}.local.modelPath": "hf:a/b.gguf",
    f"{SEARCH}.local.modelCacheDir": "/m",
    f"{SEARCH}.store.path": "/index/{agentId}.sqlite",
    f"{SEARCH}.store.vector.enabled": False,
    f"{SEARCH}.store.vector.extensionPath": "/lib/vec0",
    f"{SEARCH}.chunking.tokens": 100,
    f"{SEARCH}.chunking.overlap": 10,
    f"{SEARCH}.sync.onSessionStart": False,
    f"{SEARCH}.sync.onSearch": False,
    f"{SEARCH}.sync.watch": False,
    f"{SEARCH}.sync.watchDebounceMs": 1,
    f"{SEARCH}.sync.intervalMinutes": 1,
    f"{SEARCH}.sync.sessions.deltaBytes": 1,
    f"{SEARCH}.sync.sessions.deltaMessages": 1,
    f"{SEARCH}.sync.sessions.postCompactionForce": False,
    f"{SEARCH}.sync.sessions.idleMinutes": 1,
    f"{SEARCH}.query.maxResults": 7,
    f"{SEARCH}.query.minScore": 0,
    f"{SEARCH}.query.hybrid.enabled": False,
    f"{SEARCH}.query.hybrid.vectorWeight": 0.5,
    f"{SEARCH}.query.hybrid.textWeight": 1,
    f"{SEARCH}.query.hybrid.candidateMultiplier": 5,
    f"{SEARCH}.query.hybrid.fusion": "rrf",
    f"{SEARCH}.query.hybrid.mmr.enabled": True,
    f"{SEARCH}.query.hybrid.mmr.lambda": 0.5,
    f"{SEARCH}.query.hybrid.temporalDecay.enabled": True,
    f"{SEARCH}.query.hybrid.temporalDecay.halfLifeDays": 1,
    f"{SEARCH}.query.hybrid.temporalDecay.evergreen": ["runbooks/"],
    f"{SEARCH}.cache.enabled": False,
    f"{SEARCH}.cache.maxEntries": 1,
    "agents.defaults.compaction.reserveTokensFloor": 1,
    "agents.defaults.compaction.memoryFlush.enabled": False,
    "agents.defaults.compaction.memoryFlush.softThresholdTokens": 1,
    "agents.defaults.compaction.memoryFlush.forceFlushTranscriptBytes": "3mb",
    "agents.defaults.compaction.memoryFlush.prompt": "x",
    "agents.defaults.compaction.memoryFlush.systemPrompt": "x",
    "memory.backend": "qmd",
    "memory.citations": "off",
    "memory.qmd.command": "/bin/qmd",
    "memory.qmd.searchMode": "query",
    "memory.qmd.includeDefaultMemory": False,
    "memory.qmd.paths": [{"path": "~/notes", "name": "docs", "pattern": "*.md"}],
    "memory.qmd.sessions.enabled": True,
    "memory.qmd.sessions.exportDir": "/e",
    "memory.qmd.sessions.retentionDays": 1,
    "memory.qmd.update.interval": "1h30m",
    "memory.qmd.update.embedInterval": 5,
    "memory.qmd.update.debounceMs": 1,
    "memory.qmd.update.onBoot": False,
    "memory.qmd.update.waitForBootSync": True,
    "memory.qmd.update.commandTimeoutMs": 1,
    "memory.qmd.update.updateTimeoutMs": 1,
    "memory.qmd.update.embedTimeoutMs": 1,
    "memory.qmd.limits.maxResults": 1,
    "memory.qmd.limits.maxSnippetChars": 1,
    "memory.qmd.limits.maxInjectedChars": 1,
    "memory.qmd.limits.timeoutMs": 1,
    "memory.qmd.scope.default": "allow",
    "memory.qmd.scope.rules": [{"action": "deny", "match": {"rawKeyPrefix": "agent:main:discord:"}}],
    "memory.qmd.mcporter.enabled": True,
    "memory.qmd.mcporter.serverName": "x",
    "memory.qmd.mcporter.startDaemon": False,
}
WITHOUT_ALTERNATIVE = {f"{SEARCH}.store.driver"}
"""There is one value only."""
SAME_AS_DEFAULTS = ("agents.list[].memorySearch",)
NEEDING_ANOTHER = {f"{SEARCH}.sources": "needs experimental.sessionMemory set to true"}
"""Refused on their own, by a line that says what is missing."""
LISTS_AS_ONE_KEY = ("memory.qmd.paths", "memory.qmd.scope.rules")


def all_keys(group: type[Group], prefix: str = "") -> Iterator[str]:
    for name, key in keys_of(group).items():
        path = f"{prefix}{name}"
        if key.holds == "value" or path in LISTS_AS_ONE_KEY:
            yield path
        elif path not in SAME_AS_DEFAULTS:
            yield from all_keys(key.group, path + {"one": ".", "many": "[].", "named": "{}."}[key.holds])


def file_with(path: str, value: object) -> dict[str, object]:
    """A file in which `path` is `value`; `[]` is the second agent and `{}` is openai."""
    tree: object = value
    for part in reversed(path.split(".")):
        name = part.rstrip("[]{}")
        if part.endswith("[]"):
            tree = {name: [{"id": "first"}, {"id": "second", **tree}]}  # type: ignore[dict-item]  # always a dict
        else:
            tree = {name: {"openai": tree}} if part.endswith("{}") else {name: tree}
    assert isinstance(tree, dict)
    return tree


def picture(loaded: Settings) -> list[tuple[str, tuple[Entry, ...], str]]:
    """All that can be seen of the settings, where they come from left out."""

    def values(entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
        return tuple(Entry(entry.key, entry.value, "") for entry in entries)

    agents = [loaded.agent(agent) for agent in loaded.agent_ids]
    reports = [report(agent, env={}) for agent in agents]
    return [(loaded.default_agent, values(seen.places + seen.keys + seen.settings), seen.agent) for seen in reports]


def test_the_samples_name_every_key_of_the_schema() -> None:
    assert set(SAMPLES) | WITHOUT_ALTERNATIVE == set(all_keys(FileConfig))


@pytest.mark.parametrize("path", SAMPLES)
def test_a_key_changes_something_or_is_refused(load: Load, path: str) -> None:
    before = picture(load({"agents": {"list": [{"id": "first"}, {"id": "second"}]}} if "[]" in path else {}))

    try:
        after = picture(load(file_with(path, SAMPLES[path])))
    except ConfigError as error:
        assert len(error.problems) == 1
        assert NEEDING_ANOTHER.get(path, "is not available in this version") in error.problems[0]
    else:
        assert after != before


@pytest.mark.parametrize("path", [path for path in SAMPLES if path.startswith(SEARCH)])
def test_an_agent_can_set_what_the_defaults_can(load: Load, path: str) -> None:
    own = file_with(path.removeprefix("agents.defaults."), SAMPLES[path])

    try:
        loaded = load({"agents": {"list": [{"id": "first"}, {"id": "second", **own}]}})
    except ConfigError as error:
        assert NEEDING_ANOTHER.get(path, "is not available in this version") in error.problems[0]
        assert error.problems[0].startswith("agents.list[1].memorySearch.")
    else:
        assert set(loaded.agent("second").origins.values()) == {"default", "agents.list[1]"}
        assert "agents.list[1]" not in loaded.agent("first").origins.values()


@pytest.mark.parametrize("path", [path for path in SAMPLES if is_unbuilt(path.removeprefix("agents.defaults."))])
def test_an_unbuilt_key_may_be_given_its_default(load: Load, path: str) -> None:
    value = default_of(path)

    assert value is None or load(file_with(path, value)).agent_ids == ("main",)


def default_of(path: str) -> object:
    """The default at `path` as a file would spell it; None where there is none."""
    value: object = FileConfig()
    for part in path.split("."):
        assert isinstance(value, Group)
        value = getattr(value, keys_of(type(value))[part].attribute)
    return spelled(value)


def spelled(value: object) -> object:
    if isinstance(value, Group):
        attributes = {name: getattr(value, key.attribute) for name, key in keys_of(type(value)).items()}
        return {name: spelled(inner) for name, inner in attributes.items() if inner is not None}
    if isinstance(value, timedelta):
        return f"{value.total_seconds():g}s"
    return [spelled(item) for item in value] if isinstance(value, tuple) else value


def test_every_key_is_described() -> None:
    def undescribed(group: type[Group]) -> Iterator[str]:
        for name, key in keys_of(group).items():
            if key.holds != "value":
                yield from undescribed(key.group)
            if key.holds != "one" and not key.description:
                yield f"{group.__name__}.{name}"

    assert list(undescribed(FileConfig)) == []


@pytest.mark.parametrize(
    "module",
    [recallite.config.schema, recallite.config.schema_memory, recallite.config.schema_search],
    ids=lambda module: str(module.__name__),
)
def test_every_group_is_described(module: object) -> None:
    source = Path(str(getattr(module, "__file__", ""))).read_text(encoding="utf-8")

    classes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ClassDef)]

    assert all(ast.get_docstring(node) for node in classes)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(["${A}", "~", "C:\\\\"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(path=st.sampled_from(sorted(SAMPLES)), cut=st.integers(0, 6), value=json_values)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_no_value_anywhere_ends_in_anything_but_settings_or_a_config_error(
    load: Load, path: str, cut: int, value: object
) -> None:
    parts = path.split(".")
    place = ".".join(parts[: len(parts) - cut % len(parts)]).removesuffix("[]").removesuffix("{}")

    with contextlib.suppress(ConfigError):
        assert load(file_with(place, value)).agent(None).agent


def test_the_table_of_what_is_not_built_has_no_stale_rows() -> None:
    keys = {path.removeprefix("agents.defaults.") for path in all_keys(FileConfig)}

    for row in UNBUILT:
        key = row.partition("=")[0]
        assert any(name.startswith(key[:-1]) if key.endswith("*") else name == key for name in keys), row
