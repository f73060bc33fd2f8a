"""The fallback embeds while the primary fails, in a space of its own; the primary comes back by itself."""

from __future__ import annotations

import json

import pytest

from recallite.testing.behaviours import Hang, Html, Status
from recallite.testing.ollama_protocol import OllamaProtocol
from recallite.testing.provider_server import PLANTED_KEY, ProviderServer
from recallite_worker import failover
from recallite_worker.vector_stage import open_embedder


@pytest.fixture
def pair(lab, monkeypatch: pytest.MonkeyPatch):
    """An agent with an OpenAI-compatible primary and an Ollama fallback, both real servers, three notes."""
    monkeypatch.setenv("OPENAI_API_KEY", PLANTED_KEY)
    # Waits of half a minute in all are not what is tested here; the number of tries stays.
    monkeypatch.setattr(
        "recallite.embeddings.retry.wait_seconds", lambda error, *, failures: 0.0 if failures < 5 else None
    )
    with ProviderServer() as primary, ProviderServer(protocol=OllamaProtocol(), dims=32, key=None) as fallback:
        lab.primary, lab.fallback = primary, fallback
        lab.memory_search = {
            "provider": "openai",
            "model": "loopback",
            "fallback": "ollama",
            "remote": {"baseUrl": primary.url, "timeoutSeconds": 2},
        }
        lab.providers = {"ollama": {"baseUrl": fallback.origin}}
        for number in range(3):
            lab.note(f"memory/{number}.md", f"note number {number}")
        yield lab


def index(lab):
    return lab.index(embedders=open_embedder)


def ask(lab):
    from recallite import MemorySearch

    with MemorySearch(settings=lab.settings) as memory:
        return memory.search("note number 1", min_score=0.0)


def status(lab):
    return lab.real_status()


def later(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    now = failover.time.time()
    monkeypatch.setattr(failover.time, "time", lambda: now + seconds)


@pytest.mark.parametrize("failure", [Status(401), Status(429, code="insufficient_quota"), Status(404)])
def test_a_primary_that_refuses_is_replaced_at_once(pair, failure) -> None:
    pair.primary.next(*[failure] * 50)

    done = index(pair)

    assert (done.provider_reason, done.vectors_waiting) == (None, 0)
    assert pair.fallback.texts == 3
    reply = ask(pair)
    assert (reply.mode, reply.provider, reply.model) == ("hybrid", "ollama", "nomic-embed-text")
    assert reply.fallback is not None and reply.fallback.from_provider == "openai"
    assert str(failure.status) in reply.fallback.reason
    assert PLANTED_KEY not in reply.fallback.reason
    said = status(pair)
    assert said.health == "degraded"
    assert any("ollama/nomic-embed-text answers instead of openai" in problem for problem in said.problems)


def test_a_primary_without_a_key_is_replaced_and_says_so(pair, monkeypatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    del pair.memory_search["remote"]

    index(pair)

    reply = ask(pair)
    assert reply.provider == "ollama"
    assert reply.fallback is not None and "OPENAI_API_KEY" in reply.fallback.reason
    assert pair.primary.requests == 0


def test_an_unreachable_primary_of_a_new_index_is_replaced(pair) -> None:
    pair.memory_search["remote"] |= {"baseUrl": "http://127.0.0.1:9/v1"}

    index(pair)

    assert ask(pair).provider == "ollama"


def test_the_key_and_the_address_of_the_primary_are_not_given_to_the_fallback(pair) -> None:
    pair.memory_search["remote"] |= {"apiKey": "sk-of-the-primary", "headers": {"x-team": "of-the-primary"}}
    pair.primary.next(*[Status(401)] * 50)

    index(pair)

    assert pair.fallback.texts == 3
    for request in pair.fallback.seen:
        assert request.model == "nomic-embed-text"
        assert "of-the-primary" not in json.dumps(dict(request.headers))


def test_a_short_outage_of_an_index_that_has_vectors_changes_no_model(pair, monkeypatch) -> None:
    index(pair)
    pair.note("memory/new.md", "a new note")
    pair.primary.next(*[Status(500)] * 500)

    first = index(pair)
    assert first.vectors_waiting == 1
    assert pair.fallback.requests == 0
    reply = ask(pair)
    assert reply.fallback is None

    later(monkeypatch, failover.PATIENCE_SECONDS + 1)
    index(pair)
    assert pair.fallback.texts == 4
    assert ask(pair).provider == "ollama"


def test_an_outage_that_ends_is_forgotten(pair, monkeypatch) -> None:
    index(pair)
    pair.note("memory/new.md", "a new note")
    pair.primary.next(*[Html(502)] * 5)
    assert index(pair).vectors_waiting == 1
    assert index(pair).vectors_waiting == 0

    later(monkeypatch, failover.PATIENCE_SECONDS + 1)
    pair.note("memory/newer.md", "a newer note")
    pair.primary.next(*[Html(502)] * 5)
    index(pair)

    assert pair.fallback.requests == 0, "the second outage has only begun"


def test_the_primary_is_asked_again_later_and_embeds_nothing_twice(pair, monkeypatch) -> None:
    index(pair)
    pair.primary.next(*[Status(401)] * 2)
    pair.note("memory/new.md", "a new note")
    index(pair)
    assert ask(pair).provider == "ollama"
    paid = pair.primary.texts

    index(pair)
    assert pair.primary.texts == paid, "it is left alone for a while"
    later(monkeypatch, failover.RETURN_SECONDS + 1)
    index(pair)  # the second 401: still away
    assert ask(pair).provider == "ollama"
    later(monkeypatch, 2 * failover.RETURN_SECONDS + 2)
    index(pair)

    reply = ask(pair)
    assert (reply.provider, reply.fallback, reply.mode) == ("openai", None, "hybrid")
    for number in range(3):
        assert pair.primary.count(f"note number {number}") == 1 + (number == 1), "the question, and once the note"
    assert status(pair).health == "ok"


def test_vectors_of_the_two_never_meet(pair, monkeypatch) -> None:
    index(pair)
    pair.primary.next(*[Status(401)] * 2)
    pair.note("memory/new.md", "a new note")

    index(pair)

    from recallite.index.connection import IndexReader

    reader = IndexReader(pair.settings.index_path)
    space = reader.snapshot().space
    reader.close()
    assert space is not None and (space.provider, space.dims) == ("ollama", 32)
    assert status(pair).vectors.indexed == 4


def test_when_both_fail_search_is_by_keyword_and_says_why(pair) -> None:
    pair.primary.next(*[Status(401)] * 50)
    pair.fallback.next(*[Status(401)] * 50)

    done = index(pair)

    assert done.vectors_waiting == 3
    reply = ask(pair)
    assert reply.mode == "keyword" and reply.hits
    assert status(pair).health == "degraded"


def test_the_daily_limit_is_no_failure(pair) -> None:
    pair.memory_search["remote"] |= {"dailyTokenLimit": 1}

    done = index(pair)

    assert "dailyTokenLimit" in str(done.provider_reason)
    assert pair.fallback.requests == 0


def test_a_primary_that_hangs_ends_by_its_timeout_and_is_replaced(pair) -> None:
    pair.memory_search["remote"] |= {"timeoutSeconds": 1}
    pair.primary.next(*[Hang(30)] * 50)

    index(pair)

    assert ask(pair).provider == "ollama"


def test_another_primary_ends_the_turn_of_the_fallback(pair) -> None:
    pair.primary.next(*[Status(401)])
    index(pair)
    assert ask(pair).provider == "ollama"

    pair.memory_search |= {"provider": "ollama", "fallback": "none", "model": "nomic-embed-text"}
    pair.memory_search["remote"] = {"baseUrl": pair.fallback.origin}
    index(pair)

    reply = ask(pair)
    assert (reply.provider, reply.fallback) == ("ollama", None)


def test_when_both_fail_the_primary_is_asked_again_with_the_next_run_and_status_says_it(pair) -> None:
    pair.primary.next(*[Status(401)])
    pair.fallback.next(*[Status(401)] * 50)
    index(pair)
    said = " ".join(status(pair).problems)
    assert "openai" in said and "401" in said and "ollama embeds all anew" in said

    done = index(pair)

    assert (done.vectors_waiting, done.provider_reason) == (0, None)
    assert ask(pair).provider == "openai"
    assert status(pair).health == "ok"
