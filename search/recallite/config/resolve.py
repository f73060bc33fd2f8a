"""From the file, the environment and the defaults to the settings of each agent."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import tzinfo
from pathlib import Path

from msgspec.structs import replace

from recallite.config.checks import contradictions, limited_chunking, limited_hybrid, shared_files, with_limits
from recallite.config.groups import Group, leaves
from recallite.config.load import LoadedFile, load_file
from recallite.config.locate import Places, locate
from recallite.config.merge import merge
from recallite.config.names import file_name, id_problem
from recallite.config.schema import AgentEntry, ProviderConfig
from recallite.config.schema_memory import CompactionConfig, MemoryConfig
from recallite.config.schema_search import MemorySearchConfig
from recallite.errors import ConfigError, UnknownAgentError

DEFAULT_AGENT = "main"
_INDEX_SUFFIX = ".sqlite"
_CACHE_SUFFIX = ".cache.sqlite"


@dataclass(frozen=True, kw_only=True)
class AgentSettings:
    """All that is set for one agent, defaults filled in. Paths are absolute; nothing of them need exist."""

    agent: str
    workspace: Path
    state_dir: Path
    index_path: Path
    cache_path: Path
    sessions_dir: Path
    extra_paths: tuple[Path, ...]
    search: MemorySearchConfig
    """Merged over the defaults and limited; its own `store` paths are absolute, too."""
    memory: MemoryConfig
    tools_enabled: bool
    config_file: Path | None = None
    """None if there is no file and all is default."""
    compaction: CompactionConfig = field(default_factory=CompactionConfig)
    providers: Mapping[str, ProviderConfig] = field(default_factory=dict)
    """`models.providers`, as far as they are embedding providers of this version."""
    user_timezone: str | None = None
    origins: Mapping[str, str] = field(default_factory=dict, compare=False)
    """From a dotted key such as `memorySearch.query.minScore` to where its value was set: "default",
    "agents.defaults", "agents.list[2]", "environment NAME", "config file" for what holds for all agents.
    A list that was added up has "agents.defaults + agents.list[2]"; a value that is kept within its limits ends with
    ", instead of 80"."""

    @property
    def zone(self) -> tzinfo | None:
        """The user's time zone; None is that of the machine."""
        if self.user_timezone is None:
            return None
        from zoneinfo import ZoneInfo

        return ZoneInfo(self.user_timezone)


@dataclass(frozen=True)
class Settings:
    """What openclaw.json says for all agents."""

    config_file: Path | None
    state_dir: Path
    default_agent: str
    """The agent that is meant when none is named."""
    agents: Mapping[str, AgentSettings] = field(repr=False)

    @property
    def agent_ids(self) -> tuple[str, ...]:
        """The agents in the order of the file."""
        return tuple(self.agents)

    def agent(self, agent_id: str | None = None) -> AgentSettings:
        """The settings of one agent. Raises UnknownAgentError for any other id; creates nothing."""
        if not isinstance(agent_id, str | None):
            raise TypeError(f"an agent is named by its id, a text, not by {type(agent_id).__name__}")
        wanted = self.default_agent if agent_id is None else agent_id.strip()
        if wanted in self.agents:
            return self.agents[wanted]
        problem = id_problem(wanted) or f"there is no agent {wanted!r}"
        raise UnknownAgentError(f"{problem}; agents: {', '.join(self.agents)}")


def load_settings(
    config_path: str | Path | None = None,
    *,
    env: Mapping[str, str] | None = None,
    home: Path | None = None,
) -> Settings:
    """Read openclaw.json and resolve it for every agent.

    The file is `config_path`, else `OPENCLAW_CONFIG_PATH`, else openclaw.json in the state directory, where
    it may be absent. Raises ConfigError with a line for each fault.
    """
    if not isinstance(config_path, str | Path | None):
        raise TypeError(f"config must be a path, a text or a Path, not {type(config_path).__name__}")
    env = os.environ if env is None else env
    places = locate(config_path, env, home)
    loaded = load_file(places, env)
    resolver = _Resolver(loaded, places)
    agents = resolver.agents()
    problems = [*loaded.problems, *resolver.problems, *shared_files(list(agents.values()))]
    if problems:
        raise ConfigError(places.config_path, _first_of_each_key(problems))
    return Settings(resolver.config_file, places.state_dir, resolver.default_agent, agents)


def _first_of_each_key(problems: list[str]) -> list[str]:
    # A value that is refused for one reason often breaks a second rule, and each agent repeats a default's.
    first: dict[str, str] = {}
    for problem in problems:
        first.setdefault(problem.partition(": ")[0], problem)
    return list(first.values())


class _Resolver:
    def __init__(self, loaded: LoadedFile, places: Places) -> None:
        self.problems: list[str] = []
        self.config_file = places.config_path if places.config_path.exists() else None
        self._config = loaded.content
        self._given = loaded.given
        self._places = places
        self._entries = self._usable_entries()
        named = [entry.id for entry in self._entries.values() if entry.default]
        self.default_agent = (named or [entry.id for entry in self._entries.values()])[0]

    def _usable_entries(self) -> dict[str, AgentEntry]:
        """By place in the file; faulty ids are reported and left out."""
        entries: dict[str, AgentEntry] = {}
        places: dict[str, str] = {}
        for index, entry in enumerate(self._config.agents.entries):
            place = f"agents.list[{index}]"
            if problem := id_problem(entry.id):
                self.problems.append(f"{place}.id: {problem}")
            elif entry.id in places:
                self.problems.append(f'{place}.id: "{entry.id}" is the id of {places[entry.id]} already')
            else:
                places[entry.id] = place
                entries[place] = entry
        return entries or {"default": AgentEntry(id=DEFAULT_AGENT)}

    def agents(self) -> dict[str, AgentSettings]:
        return {entry.id: self._agent(place, entry) for place, entry in self._entries.items()}

    def _agent(self, place: str, entry: AgentEntry) -> AgentSettings:
        defaults = self._config.agents.defaults
        merged, search_origins = merge(defaults.memory_search, entry.memory_search, own_origin=place, given=self._given)
        self.problems += contradictions(merged, search_origins)
        name = file_name(entry.id)
        workspace, workspace_origin = self._workspace(place, entry, name)
        search, index_path = self._placed(merged, name)
        search_origins = with_limits(search_origins, merged, search)
        extra = (self._places.path_below(workspace, text) for text in search.extra_paths)
        return AgentSettings(
            agent=entry.id,
            workspace=workspace,
            state_dir=self._places.state_dir,
            index_path=index_path,
            cache_path=index_path.with_name(index_path.name.removesuffix(_INDEX_SUFFIX) + _CACHE_SUFFIX),
            sessions_dir=self._places.state_dir / "agents" / name / "sessions",
            extra_paths=tuple(dict.fromkeys(extra)),
            search=search,
            memory=self._config.memory,
            compaction=defaults.compaction,
            user_timezone=defaults.user_timezone,
            providers=self._config.models.providers,
            tools_enabled=search.enabled and self._config.plugins.slots.memory != "none",
            config_file=self.config_file,
            origins={
                "configFile": self._places.config_origin,
                "stateDir": self._places.state_dir_origin,
                "workspace": workspace_origin,
                **{f"memorySearch.{key}": origin for key, origin in search_origins.items()},
                **self._global_origins(),
                "userTimezone": "default" if defaults.user_timezone is None else "agents.defaults",
            },
        )

    def _workspace(self, place: str, entry: AgentEntry, name: str) -> tuple[Path, str]:
        defaults = self._config.agents.defaults
        if entry.workspace is not None:
            return self._places.path(entry.workspace), place
        if defaults.workspace is not None:
            return self._places.path(defaults.workspace), "agents.defaults"
        if entry.id == self.default_agent:
            return self._places.home / ".openclaw" / "workspace", "default"
        return self._places.state_dir / f"workspace-{name}", "default"

    def _placed(self, merged: MemorySearchConfig, name: str) -> tuple[MemorySearchConfig, Path]:
        """The settings with limits applied and paths made absolute, and the path of the index."""
        store = merged.store
        index_path = self._places.state_dir / "memory" / f"{name}{_INDEX_SUFFIX}"
        if store.path is not None:
            index_path = self._places.path(store.path.replace("{agentId}", name))
            store = replace(store, path=str(index_path))
        if store.vector.extension_path is not None:
            extension = str(self._places.path(store.vector.extension_path))
            store = replace(store, vector=replace(store.vector, extension_path=extension))
        query = replace(merged.query, hybrid=limited_hybrid(merged.query.hybrid))
        return replace(merged, store=store, query=query, chunking=limited_chunking(merged.chunking)), index_path

    def _global_origins(self) -> dict[str, str]:
        groups: dict[str, tuple[Group, str, str]] = {
            "memory": (self._config.memory, "", "config file"),
            "compaction": (self._config.agents.defaults.compaction, "agents.defaults.", "agents.defaults"),
            "plugins": (self._config.plugins, "", "config file"),
        }
        return {
            key: origin
            for name, (group, place, origin) in groups.items()
            for key, _ in leaves(group, f"{name}.")
            if f"{place}{key}" in self._given
        }
