"""Features of later versions are refused by one table, and opened by taking a row out of it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from recallite.config import AgentSettings, Settings
from recallite.config.unbuilt import UNBUILT

Load = Callable[..., Settings]
LoadAgent = Callable[..., AgentSettings]
Problems = Callable[..., list[str]]


def test_the_refusal_says_what_is_missing_and_what_to_do(search_problems: Problems) -> None:
    assert search_problems({"multimodal": {"enabled": True}}) == [
        "multimodal.enabled: indexing of images and audio is not available in this version; "
        "remove the key or set it to false"
    ]


def test_a_provider_that_is_not_built_is_answered_with_those_that_are(
    search_problems: Problems, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(UNBUILT, "memorySearch.provider=local", "the provider local")

    for key in ("provider", "fallback"):
        (line,) = search_problems({key: "local"})
        assert line.startswith(f"{key}: the provider local is not available in this version; use one of ")
        assert '"gemini", "voyage", "mistral", "ollama"' in line


@pytest.mark.parametrize("provider", ["openai", "builtin", "gemini", "voyage", "mistral", "ollama", "local"])
def test_the_built_providers_are_accepted(load_agent: LoadAgent, provider: str) -> None:
    assert load_agent({"provider": provider}).search.provider == provider


def test_a_bad_value_of_an_unbuilt_feature_is_called_bad(problems: Problems) -> None:
    (line,) = problems({"memory": {"qmd": {"update": {"interval": "soon"}}}})

    assert 'must be a duration such as "5m"' in line


def test_the_value_of_an_unbuilt_key_is_refused_with_an_equal_default(load_agent: LoadAgent) -> None:
    settings = load_agent({"sync": {"watch": True, "intervalMinutes": 0}, "fallback": "none"})

    assert settings.search.sync.watch is True


@pytest.mark.parametrize(
    ("row", "config"),
    [("memorySearch.multimodal.*", {"multimodal": {"maxFileBytes": 5}})],
)
def test_taking_out_a_row_opens_the_feature(
    load_agent: LoadAgent, monkeypatch: pytest.MonkeyPatch, row: str, config: object
) -> None:
    monkeypatch.delitem(UNBUILT, row)

    assert load_agent(config).search is not None


def test_an_opened_provider_has_its_access_read(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    config = {"models": {"providers": {"mistral": {"baseUrl": "http://localhost:1"}}}}
    opened = load(config).agent(None).providers

    monkeypatch.setitem(UNBUILT, "memorySearch.provider=mistral", "the provider mistral")

    assert "mistral" not in load(config).agent(None).providers
    assert opened["mistral"].base_url == "http://localhost:1"


def test_with_the_table_empty_contradictions_are_still_found(
    search_problems: Problems, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recallite.config.unbuilt.UNBUILT", {})

    assert search_problems(
        {
            "sources": ["sessions"],
            "multimodal": {"enabled": True},
            "provider": "gemini",
            "fallback": "openai",
            "model": "gemini-embedding-001",
        }
    ) == [
        'sources: "sessions" needs experimental.sessionMemory set to true',
        'multimodal.enabled: images and audio need provider "gemini" and model "gemini-embedding-2-preview"',
        'fallback: must be "none" with multimodal.enabled',
    ]


def test_with_the_table_empty_gemini_has_three_lengths_of_vectors(
    search_problems: Problems, load_agent: LoadAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recallite.config.unbuilt.UNBUILT", {})
    gemini = {"provider": "gemini", "model": "gemini-embedding-2-preview"}

    assert load_agent({**gemini, "outputDimensionality": 768}).search.output_dimensionality == 768
    assert "has 768, 1536, 3072" in search_problems({**gemini, "outputDimensionality": 700})[0]


def test_with_the_table_empty_qmd_and_the_memory_flush_are_understood(
    load: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recallite.config.unbuilt.UNBUILT", {})
    rules = [{"action": "allow", "match": {"chatType": "direct"}}]
    settings = load(
        {
            "memory": {"backend": "qmd", "qmd": {"update": {"interval": "90s"}, "scope": {"rules": rules}}},
            "agents": {"defaults": {"compaction": {"memoryFlush": {"forceFlushTranscriptBytes": "2 MB"}}}},
        }
    ).agent(None)

    assert settings.memory.qmd.update.interval.total_seconds() == 90
    assert settings.memory.qmd.scope.default == "deny"
    assert settings.compaction.memory_flush.force_flush_transcript_bytes == 2 * 1024 * 1024
