"""From the file to one agent's settings: merging, origins, paths, limits, isolation."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from recallite.config import AgentSettings, Settings, load_settings
from recallite.errors import UnknownAgentError

Load = Callable[..., Settings]
LoadAgent = Callable[..., AgentSettings]
Problems = Callable[..., list[str]]


def two_agents(defaults: object, own: object) -> dict[str, object]:
    """A file with agent "a" as the defaults are, and "b" with its own `memorySearch`."""
    return {
        "agents": {
            "defaults": {"memorySearch": defaults},
            "list": [{"id": "a"}, {"id": "b", "memorySearch": own}],
        }
    }


def test_without_a_list_there_is_one_agent(load: Load) -> None:
    settings = load({"agents": {"list": []}})

    assert settings.agent_ids == ("main",)
    assert settings.agent(None).agent == settings.default_agent == "main"


def test_the_default_agent_is_the_first_marked(load: Load) -> None:
    entries = [{"id": "a"}, {"id": "b", "default": True}, {"id": "c", "default": True}]

    assert load({"agents": {"list": entries}}).default_agent == "b"


def test_without_a_mark_the_default_agent_is_the_first(load: Load) -> None:
    assert load({"agents": {"list": [{"id": "z"}, {"id": "a"}]}}).default_agent == "z"


@pytest.mark.parametrize("wanted", ["B", "c", "", "a/../b", "x" * 300, "a\0", "\ud800"])
def test_an_unknown_or_impossible_agent_is_answered_with_the_known(load: Load, home: Path, wanted: str) -> None:
    settings = load({"agents": {"list": [{"id": "a"}, {"id": "b"}]}})
    before = sorted(home.rglob("*"))

    with pytest.raises(UnknownAgentError, match=r"agents: a, b$"):
        settings.agent(wanted)

    assert sorted(home.rglob("*")) == before


def test_ids_are_trimmed(load: Load) -> None:
    assert load({"agents": {"list": [{"id": " a "}]}}).agent("a ").agent == "a"


def test_ids_must_be_unique(problems: Problems) -> None:
    assert problems({"agents": {"list": [{"id": "a"}, {"id": " a"}]}}) == [
        'agents.list[1].id: "a" is the id of agents.list[0] already'
    ]


def test_ids_that_differ_in_case_are_two_agents_with_two_files(load: Load) -> None:
    settings = load({"agents": {"list": [{"id": "Work"}, {"id": "work"}]}})

    names = [settings.agent(agent).index_path.name.casefold() for agent in settings.agent_ids]
    assert len(set(names)) == 2


def test_an_agents_values_win_leaf_by_leaf(load: Load) -> None:
    settings = load(
        two_agents(
            {"query": {"maxResults": 9, "hybrid": {"textWeight": 0.4}}, "model": "m"},
            {"query": {"minScore": 0.1, "hybrid": {"vectorWeight": 0.6}}, "model": "n"},
        )
    )
    query = settings.agent("b").search.query

    assert (query.max_results, query.min_score) == (9, 0.1)
    assert (query.hybrid.vector_weight, query.hybrid.text_weight) == (0.6, 0.4)
    assert (settings.agent("a").search.model, settings.agent("b").search.model) == ("m", "n")


def test_an_agent_can_return_to_the_value_that_is_the_usual_one(load: Load) -> None:
    settings = load(two_agents({"query": {"maxResults": 9}}, {"query": {"maxResults": 6}}))

    assert settings.agent("b").search.query.max_results == 6


def test_each_value_knows_where_it_was_set(load: Load) -> None:
    origins = load(two_agents({"query": {"maxResults": 9}}, {"query": {"minScore": 0.1}})).agent("b").origins

    assert origins["memorySearch.query.maxResults"] == "agents.defaults"
    assert origins["memorySearch.query.minScore"] == "agents.list[1]"
    assert origins["memorySearch.query.hybrid.fusion"] == "default"
    assert origins["workspace"] == "default"


def test_values_from_the_environment_are_marked(home: Path, tmp_path: Path) -> None:
    settings = load_settings(env={"OPENCLAW_STATE_DIR": str(tmp_path)}, home=home).agent(None)

    assert settings.origins["stateDir"] == "environment OPENCLAW_STATE_DIR"


@pytest.mark.parametrize("key", ["extraPaths", "exclude"])
def test_some_lists_add_up_defaults_first_without_repetition(load: Load, key: str) -> None:
    settings = load(two_agents({key: ["x", "y"]}, {key: ["z", "x"]})).agent("b")

    assert getattr(settings.search, {"extraPaths": "extra_paths"}.get(key, key)) == ("x", "y", "z")
    assert settings.origins[f"memorySearch.{key}"] == "agents.defaults + agents.list[1]"


def test_an_agents_headers_replace_the_defaults(load: Load) -> None:
    settings = load(two_agents({"remote": {"headers": {"A": "1", "B": "2"}}}, {"remote": {"headers": {"C": "3"}}}))

    assert list(settings.agent("b").search.remote.headers) == ["C"]


def test_an_agents_sources_replace_the_defaults(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recallite.config.unbuilt.UNBUILT", {})
    both = {"sources": ["memory", "sessions"], "experimental": {"sessionMemory": True}}

    settings = load(two_agents(both, {"sources": ["sessions", "sessions"]}))

    assert settings.agent("b").search.sources == ("sessions",)


@pytest.mark.parametrize("provider", [{}, {"provider": "openai"}])
def test_the_key_of_one_provider_is_not_inherited_by_another(load: Load, provider: dict[str, str]) -> None:
    defaults = {
        **provider,
        "model": "text-embedding-3-large",
        "outputDimensionality": 256,
        "remote": {"apiKey": "sk-1", "baseUrl": "http://x", "headers": {"A": "1"}, "timeoutSeconds": 5},
    }
    search = load(two_agents(defaults, {"provider": "builtin"})).agent("b").search

    assert (search.model, search.output_dimensionality) == (None, None)
    assert (search.remote.api_key, search.remote.base_url, search.remote.headers) == (None, None, {})
    assert search.remote.timeout_seconds == 5


@pytest.mark.parametrize("provider", [{}, {"provider": "openai"}])
def test_an_agent_that_names_the_same_provider_inherits_its_key(load: Load, provider: dict[str, str]) -> None:
    defaults = {**provider, "remote": {"apiKey": "sk-1"}}
    search = load(two_agents(defaults, {"provider": "openai"})).agent("b").search

    assert search.remote.api_key is not None


@pytest.mark.parametrize(("overlap", "used"), [(80, 19), (19, 19), (5, 5)])
def test_the_overlap_is_smaller_than_a_chunk(load_agent: LoadAgent, overlap: int, used: int) -> None:
    assert load_agent({"chunking": {"tokens": 20, "overlap": overlap}}).search.chunking.overlap == used


def test_an_agents_smaller_chunks_limit_the_defaults_overlap(load: Load) -> None:
    settings = load(two_agents({"chunking": {"overlap": 80}}, {"chunking": {"tokens": 50}}))

    assert settings.agent("b").search.chunking.overlap == 49


@pytest.mark.parametrize(("multiplier", "used"), [(1, 1), (20, 20), (21, 20), (1000, 20)])
def test_candidates_per_result_are_limited(load_agent: LoadAgent, multiplier: int, used: int) -> None:
    hybrid = load_agent({"query": {"hybrid": {"candidateMultiplier": multiplier}}}).search.query.hybrid

    assert hybrid.candidate_multiplier == used


@pytest.mark.parametrize(
    ("vector", "text", "used"), [(0, 0, (0.7, 0.3)), (0, 1, (0, 1)), (0.5, 0, (0.5, 0)), (1, 1, (1, 1))]
)
def test_weights_that_are_both_zero_become_the_usual_ones(
    load_agent: LoadAgent, vector: float, text: float, used: tuple[float, float]
) -> None:
    hybrid = load_agent({"query": {"hybrid": {"vectorWeight": vector, "textWeight": text}}}).search.query.hybrid

    assert (hybrid.vector_weight, hybrid.text_weight) == used


@pytest.mark.parametrize(
    ("enabled", "slot", "tools"),
    [(True, "memory-core", True), (False, "memory-core", False), (True, "none", False)],
)
def test_the_tools_exist_where_search_is_enabled_and_the_slot_is_not_empty(
    load: Load, enabled: bool, slot: str, tools: bool
) -> None:
    config = {
        "agents": {"defaults": {"memorySearch": {"enabled": enabled}}},
        "plugins": {"slots": {"memory": slot}},
    }

    assert load(config).agent(None).tools_enabled is tools


def test_settings_cannot_be_changed(load_agent: LoadAgent) -> None:
    settings = load_agent({})

    with pytest.raises(AttributeError):
        settings.agent = "x"  # type: ignore[misc]  # the point of the test
    with pytest.raises(AttributeError):
        settings.search.enabled = False
