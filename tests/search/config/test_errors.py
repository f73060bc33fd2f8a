"""What a faulty file is answered with."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from recallite.config import AgentSettings, Settings
from recallite.config.values import path_problem

Load = Callable[..., Settings]
LoadAgent = Callable[..., AgentSettings]
Problems = Callable[..., list[str]]


def test_a_bad_value_of_an_agent_is_named_with_place_value_and_rule(problems: Problems) -> None:
    entries: list[object] = [
        {"id": "a"},
        {"id": "b"},
        {"id": "c", "memorySearch": {"query": {"minScore": 1.5}}},
    ]

    assert problems({"agents": {"list": entries}}) == [
        "agents.list[2].memorySearch.query.minScore: 1.5 is not allowed: must be between 0 and 1"
    ]


def test_an_unknown_key_is_answered_with_the_nearest_and_all_allowed(search_problems: Problems) -> None:
    (line,) = search_problems({"query": {"minscore": 0.1}})

    assert line == 'query.minscore: unknown key; did you mean "minScore"? (allowed: hybrid, maxResults, minScore)'


def test_the_python_spelling_of_a_key_is_unknown(search_problems: Problems) -> None:
    assert 'did you mean "maxResults"?' in search_problems({"query": {"max_results": 3}})[0]


def test_an_unknown_key_like_no_other_gets_no_suggestion(search_problems: Problems) -> None:
    (line,) = search_problems({"cache": {"zzz": 1}})

    assert line == "cache.zzz: unknown key; (allowed: enabled, maxEntries)"


def test_a_pattern_that_is_none_is_refused_with_its_fault(search_problems: Problems) -> None:
    lines = search_problems({"query": {"hybrid": {"temporalDecay": {"evergreen": ["people/*.md", "memory/[a"]}}}})

    assert lines == [
        "query.hybrid.temporalDecay.evergreen: pattern 2, 'memory/[a', is no pattern: a bracket is not closed; correct it"
    ]


def test_a_wrong_choice_is_answered_with_all_choices(search_problems: Problems) -> None:
    (line,) = search_problems({"provider": "cohere"})

    assert line == (
        'provider: "cohere" is not allowed: must be one of '
        '"openai", "builtin", "gemini", "voyage", "mistral", "ollama", "local"'
    )


@pytest.mark.parametrize("place", [{}, {"agents": {}}])
def test_memory_search_in_the_wrong_place_is_told_where_it_belongs(
    problems: Problems, place: dict[str, dict[str, object]]
) -> None:
    (place.get("agents", place))["memorySearch"] = {"enabled": False}

    (line,) = problems(place)

    assert "belongs to agents.defaults.memorySearch" in line


def test_all_faults_are_reported_at_once(problems: Problems) -> None:
    config = {
        "agents": {
            "defaults": {
                "workspace": 5,
                "memorySearch": {"qeury": {}, "model": "${NO}", "extraPaths": [1], "multimodal": {"enabled": True}},
            },
            "list": [{"id": "a"}, {"id": "a"}, 7, {"workspace": "x"}, {"id": "x" * 300}],
        },
        "memory": {"citations": "yes"},
    }

    assert [line.partition(": ")[0] for line in problems(config)] == [
        "agents.defaults.memorySearch.qeury",
        "agents.defaults.memorySearch.model",
        "agents.defaults.workspace",
        "agents.defaults.memorySearch.extraPaths[0]",
        "agents.list[2]",
        "agents.list[3].id",
        "memory.citations",
        "agents.defaults.memorySearch.multimodal.enabled",
        "agents.list[1].id",
        "agents.list[4].id",
    ]


@pytest.mark.parametrize(
    ("memory_search", "problem"),
    [
        ({"enabled": 1}, "enabled: 1 is not allowed: must be true or false"),
        ({"enabled": "true"}, 'enabled: "true" is not allowed: must be true or false'),
        ({"query": {"maxResults": "6"}}, 'query.maxResults: "6" is not allowed: must be a whole number'),
        ({"query": {"maxResults": True}}, "query.maxResults: true is not allowed: must be a whole number"),
        ({"query": {"maxResults": 2.5}}, "query.maxResults: 2.5 is not allowed: must be a whole number"),
        ({"query": {"maxResults": 0}}, "query.maxResults: 0 is not allowed: must be at least 1"),
        ({"query": {"minScore": "0.3"}}, 'query.minScore: "0.3" is not allowed: must be a number'),
        ({"query": {"minScore": True}}, "query.minScore: true is not allowed: must be a number"),
        ({"query": []}, "query: must be an object"),
        ({"query": None}, "query: null is not a value here; remove the key"),
        ({"model": None}, "model: null is not a value here; remove the key"),
        ({"model": " "}, 'model: " " is not allowed: must not be empty'),
        ({"chunking": {"tokens": 15}}, "chunking.tokens: 15 is not allowed: must be at least 16"),
        ({"sources": []}, "sources: [] is not allowed: must name at least one"),
        ({"sources": "memory"}, "sources: must be a list"),
        ({"extraPaths": "a"}, "extraPaths: must be a list"),
        ({"remote": {"timeoutSeconds": 0}},
         "remote.timeoutSeconds: 0 is not allowed: must be greater than 0 and at most 86400"),
        ({"remote": {"baseUrl": "localhost:80"}},
         'remote.baseUrl: "localhost:80" is not allowed: must be an http:// or https:// '
         "address with a host name"),
        ({"remote": {"baseUrl": "http://x/v1#k"}},
         'remote.baseUrl: "http://x/v1#k" is not allowed: must end with the path, without ? or #'),
        ({"query": {"maxResults": 10**400}}, f"query.maxResults: 1{'0' * 59}... is not allowed: "
                                             "must be at most 9007199254740991"),
    ],
)  # fmt: skip
def test_types_and_ranges_are_strict(search_problems: Problems, memory_search: object, problem: str) -> None:
    assert search_problems(memory_search) == [problem]


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_numbers_are_finite(problems: Problems, number: str) -> None:
    text = f'{{"agents": {{"defaults": {{"memorySearch": {{"query": {{"minScore": {number}}}}}}}}}}}'

    assert problems(text)[0].endswith("must be a finite number")


@pytest.mark.parametrize("path", ["C:\\notes", "d:/notes", "\\\\server\\share"])
def test_a_windows_path_is_refused_elsewhere(search_problems: Problems, path: str) -> None:
    (line,) = search_problems({"extraPaths": [path]})

    assert "a Windows path means nothing on this machine" in line


def test_a_windows_path_is_a_path_on_windows() -> None:
    assert path_problem("C:\\notes", posix=False) is None


def test_a_backslash_written_once_is_noticed(search_problems: Problems) -> None:
    (line,) = search_problems({"store": {"path": "D:\notes"}})

    assert "a backslash is written twice" in line


def test_the_home_of_another_user_is_refused(search_problems: Problems) -> None:
    assert "your own home" in search_problems({"extraPaths": ["~other/notes"]})[0]


@pytest.mark.parametrize(
    ("config", "suggestion"),
    [
        ({"agnets": {}}, "agents"),
        ({"memroy": {}}, "memory"),
        ({"agents": {"default": {}}}, "defaults"),
        ({"agents": {"defaults": {"memorysearch": {}}}}, "memorySearch"),
        ({"agents": {"list": [{"id": "a", "memory_search": {}}]}}, "memorySearch"),
        ({"models": {"providers": {"openai": {"apikey": "x"}}}}, "apiKey"),
    ],
)
def test_a_slip_in_a_section_shared_with_others_is_noticed(problems: Problems, config: object, suggestion: str) -> None:
    (line,) = problems(config)

    assert line.endswith(f'unknown key; did you mean "{suggestion}"?')


def test_sections_and_keys_of_other_programs_are_ignored(load: Load) -> None:
    config = {
        "$schema": "x",
        "gateway": {"port": "nonsense"},
        "agents": {
            "defaults": {"model": {"primary": "m"}, "compaction": {"mode": "safeguard", "reserveTokens": 1}},
            "list": [{"id": "a", "name": "A", "agentDir": "/x", "tools": None}],
        },
        "models": {"mode": "merge", "providers": {"openai": {"api": "x", "models": []}, "zai": 5}},
        "plugins": {"entries": {}, "slots": {"contextEngine": "x"}},
    }

    assert load(config).agent_ids == ("a",)


def test_an_include_is_refused_where_our_sections_could_come_from(problems: Problems) -> None:
    (line,) = problems({"agents": {"$include": "./agents.json"}})

    assert line.startswith("agents.$include: other files cannot be included")


def test_a_strange_key_is_shown_quoted_and_short(search_problems: Problems) -> None:
    (line,) = search_problems({"a b\n" + "x" * 500: 1})

    assert line.startswith('"a b\\nxxx')
    assert len(line.partition(": ")[0]) < 100


def test_one_key_has_one_line_even_if_two_rules_are_broken(search_problems: Problems) -> None:
    assert len(search_problems({"sources": ["sessions"]})) == 1


def test_vectors_of_a_chosen_length_need_a_provider_that_has_them(search_problems: Problems) -> None:
    (line,) = search_problems({"provider": "builtin", "outputDimensionality": 256})

    assert line == "outputDimensionality: builtin has vectors of one length; remove the key"


@pytest.mark.parametrize("provider", [{}, {"provider": "openai"}])
def test_vectors_of_a_chosen_length_are_allowed_for_openai(load_agent: LoadAgent, provider: dict[str, str]) -> None:
    assert load_agent({**provider, "outputDimensionality": 256}).search.output_dimensionality == 256
