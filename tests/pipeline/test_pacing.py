"""429, an empty account and the day's limit hold for all workers; nothing is lost, and all of it is said."""

from __future__ import annotations

import pytest

from recallite.embeddings.choice import choose_provider
from recallite.errors import ProviderTransientError, QuotaExceededError, RateLimitedError
from recallite.testing.behaviours import Status
from recallite.testing.embedder import DeterministicEmbedder
from recallite.testing.provider_server import PLANTED_KEY, ProviderServer
from recallite.work.sqlite import SqliteQueue, queue_path
from recallite_worker.executor import EmbeddedExecutor
from recallite_worker.pacing import PacedEmbedder, account_key, note_outage, pace
from recallite_worker.pause_wait import PauseWait
from recallite_worker.sync import sync_agent
from recallite_worker.vector_stage import open_embedder


@pytest.fixture
def remote(lab, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", PLANTED_KEY)
    with ProviderServer() as server:
        lab.server = server
        lab.memory_search = {"provider": "openai", "model": "loopback", "remote": {"baseUrl": server.url}}
        yield lab


def test_the_daily_limit_stops_at_the_cap_says_so_and_goes_on_next_day(remote, monkeypatch) -> None:
    remote.memory_search["remote"] |= {"dailyTokenLimit": 100, "maxItemsPerRequest": 1}
    for number in range(20):
        remote.note(f"memory/{number}.md", f"note {number:02d} has forty characters, no more")
    today = ["2026-02-10"]
    monkeypatch.setattr("recallite_worker.pacing.today", lambda: today[0])

    first = remote.index(embedders=open_embedder)
    second = remote.index(embedders=open_embedder)
    today[0] = "2026-02-11"
    third = remote.index(embedders=open_embedder)

    assert "remote.dailyTokenLimit (100)" in str(first.provider_reason)
    assert (first.texts_embedded, second.texts_embedded, third.texts_embedded) == (10, 0, 10)
    assert remote.server.texts == 20
    assert len(remote.search("note", max_results=50).hits) == 20, "keyword search has all of it"
    assert remote.real_status().health == "ok"


def test_a_used_up_account_is_left_alone_by_all(remote) -> None:
    remote.note("memory/a.md", "one")
    remote.server.next(Status(429, code="insufficient_quota"))

    first = remote.index(embedders=open_embedder)
    second = remote.index(embedders=open_embedder)

    assert remote.server.requests == 1, "the second run does not even ask"
    assert "quota" in str(first.provider_reason)
    assert "is left alone until" in str(second.provider_reason)


def test_retry_after_holds_for_every_worker(tmp_path) -> None:
    queue = SqliteQueue(tmp_path / "q.sqlite")
    slept: list[float] = []

    class Limited(DeterministicEmbedder):
        def embed(self, texts, *, kind):
            if not slept and not self.embedded:
                self.embedded.append("refused")
                raise RateLimitedError("slow down", retry_after_seconds=2.5)
            return super().embed(texts, kind=kind)

    one = PacedEmbedder(Limited(), queue, "k", sleep=slept.append)
    other = PacedEmbedder(DeterministicEmbedder(), queue, "k", sleep=slept.append)

    with pytest.raises(RateLimitedError):
        one.embed(["x"], kind="document")
    other.embed(["y"], kind="document")

    assert len(slept) == 1 and 2.0 < slept[0] <= 2.5
    queue.pause("k", 60, "longer")
    with pytest.raises(QuotaExceededError, match="longer"):
        other.embed(["z"], kind="document")
    queue.close()


def test_an_account_is_named_without_its_key(remote) -> None:
    options = choose_provider(remote.settings).options
    assert options is not None
    key = account_key(options)

    assert PLANTED_KEY not in key and key.startswith("openai-")
    remote.server.next(Status(429, code="insufficient_quota"))
    remote.note("memory/a.md", "one")
    remote.index(embedders=open_embedder)
    for file in queue_path(remote.settings.state_dir).parent.iterdir():
        assert PLANTED_KEY.encode() not in file.read_bytes()


def test_fresh_edits_do_not_wait_for_a_provider_that_hangs(remote) -> None:
    remote.note("memory/a.md", "the quokka")
    settings = remote.settings
    queue = SqliteQueue(queue_path(settings.state_dir))
    embedder, _ = open_embedder(settings)
    assert embedder is not None
    options = choose_provider(settings).options
    note_outage(pace(embedder, options, queue), queue, ProviderTransientError("no answer in 60 s"))

    queue.mark("main", ["memory/a.md"])
    live = sync_agent(settings, queue, lane="live")
    assert (live.files_written, remote.server.requests) == (1, 0)
    assert "no answer in 60 s" in str(live.provider_reason)
    assert live.retry_after_seconds is not None
    assert remote.search("quokka").hits[0].path == "memory/a.md"

    assert sync_agent(settings, queue).texts_embedded == 1, "the other lane asks the provider"
    queue.close()


def test_what_the_provider_did_not_serve_is_not_counted_against_the_day(remote) -> None:
    remote.memory_search["remote"] |= {"dailyTokenLimit": 100, "maxItemsPerRequest": 1}
    for number in range(8):
        remote.note(f"memory/{number}.md", f"note {number:02d} has forty characters, no more")
    remote.server.next(*[Status(500)] * 3)

    done = remote.index(embedders=open_embedder)

    assert (done.texts_embedded, done.provider_reason) == (8, None), "80 of 100 tokens, 3 requests failed"


def test_a_limit_below_one_packed_request_is_still_used(remote) -> None:
    remote.memory_search["remote"] |= {"dailyTokenLimit": 100}
    for number in range(20):
        remote.note(f"memory/{number}.md", f"note {number:02d} has forty characters, no more")

    done = remote.index(embedders=open_embedder)

    assert done.texts_embedded > 0
    assert "remote.dailyTokenLimit (100) is reached" in str(done.provider_reason)


def test_a_text_above_the_limit_says_what_to_raise(remote) -> None:
    remote.memory_search["remote"] |= {"dailyTokenLimit": 5}
    remote.note("memory/a.md", "a note of far more than twenty characters")

    done = remote.index(embedders=open_embedder)

    assert "remote.dailyTokenLimit (5) is below the" in str(done.provider_reason)


def test_the_command_waits_as_long_as_the_provider_asks_and_goes_on(remote) -> None:
    remote.memory_search["remote"] |= {"maxItemsPerRequest": 10}
    for number in range(40):
        remote.note(f"memory/{number}.md", f"note {number} of the tulip")
    remote.server.next(None, Status(429, retry_after=7), None, Status(429, retry_after=4))

    done = remote.run("index")

    assert "the provider asks to slow down; going on in" in done.stderr
    assert (done.returncode, "40 vectors" in done.stdout) == (0, True), done.stderr
    assert remote.server.texts == 40 + 20, "two requests were refused, none was asked for twice"
    assert remote.real_status().health == "ok"


def test_the_command_does_not_wait_for_hours_and_says_when_to_come_back(remote) -> None:
    remote.note("memory/a.md", "one")
    remote.server.next(Status(429, retry_after=3600))

    done = remote.run("index", check=False)

    assert done.returncode == 3
    assert "run `recallite index` again after 2" in done.stderr
    assert remote.server.requests == 1


def test_a_provider_that_only_asks_to_slow_down_does_not_hold_the_command_for_ever(remote, monkeypatch) -> None:
    monkeypatch.setattr("recallite_worker.pause_wait.MOST_IN_VAIN", 2)
    remote.note("memory/a.md", "one")
    remote.server.next(*[Status(429, retry_after=1)] * 1000)

    outcomes = {"main": remote.index(embedders=open_embedder)}
    queue = SqliteQueue(queue_path(remote.settings.state_dir))
    PauseWait([remote.settings], EmbeddedExecutor(queue), stopped=lambda: False).run(outcomes)
    queue.close()

    assert outcomes["main"].pause_seconds is not None
    assert outcomes["main"].vectors_waiting == 1
