"""Batch jobs over the real SDK and real HTTP: nothing is paid for twice, and a bad line costs a line."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from recallite import MemorySearch
from recallite.testing.batch_protocols import GeminiBatchProtocol, OpenAIBatchProtocol, VoyageBatchProtocol
from recallite.testing.batch_service import BatchService
from recallite.testing.gemini_protocol import GeminiProtocol
from recallite.testing.openai_protocol import OpenAIProtocol
from recallite.testing.provider_server import PLANTED_KEY, ProviderServer
from recallite.work.sqlite import SqliteQueue, queue_path
from recallite_worker import batch_poll, batches
from recallite_worker.batch_poll import poll_agent
from recallite_worker.sync import sync_agent

WIRES: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "openai": (OpenAIProtocol, OpenAIBatchProtocol),
    "voyage": (OpenAIProtocol, VoyageBatchProtocol),
    "gemini": (GeminiProtocol, GeminiBatchProtocol),
}
NOTES = 120


@pytest.fixture(params=list(WIRES))
def served(request, make_lab, monkeypatch: pytest.MonkeyPatch):
    """An agent with 120 notes and a provider that has a batch service."""
    yield from _serve(request.param, make_lab, monkeypatch)


@pytest.fixture
def openai(make_lab, monkeypatch: pytest.MonkeyPatch):
    yield from _serve("openai", make_lab, monkeypatch)


def _serve(provider: str, make_lab, monkeypatch: pytest.MonkeyPatch):
    plain, batch = WIRES[provider]
    for name in ("OPENAI", "VOYAGE", "GEMINI"):
        monkeypatch.setenv(f"{name}_API_KEY", PLANTED_KEY)
    lab = make_lab()
    with ProviderServer(protocol=plain()) as server:
        server.batches = BatchService(batch())
        lab.server, lab.batches, lab.provider = server, server.batches, provider
        url = f"{server.origin}/v1beta" if provider == "gemini" else server.url
        lab.memory_search = {
            "provider": provider,
            "model": "loopback",
            "remote": {"baseUrl": url, "batch": {"enabled": True, "pollIntervalMs": 10}},
        }
        for number in range(NOTES):
            lab.note(f"memory/{number:03}.md", f"note number{number}x of the batch")
        yield lab


def index(lab, *arguments: str, check: bool = True):
    return lab.run("index", *arguments, check=check)


def all_vectors(lab) -> bool:
    status = lab.real_status()
    return status.vectors.indexed == status.chunks and status.health == "ok"


@pytest.fixture
def step(openai):
    """Slices and looks in this process, with no pause between them and the provider looked at again at once."""
    queue = SqliteQueue(queue_path(openai.settings.state_dir))
    openai.settings_now = openai.settings
    queue.mark("main", ["*"])

    def run(times: int = 1) -> batch_poll.Poll:
        done = batch_poll.Poll()
        for _ in range(times):
            while sync_agent(openai.settings, queue).more:
                pass
            done = poll_agent(openai.settings, queue, grace_seconds=0.0)
        return done

    openai.queue = queue
    yield run
    queue.close()


def until_done(step, lab, turns: int = 60) -> None:
    for _ in range(turns):
        if step().next_seconds is None and lab.real_status().vectors.pending == 0:
            return
        time.sleep(0.02)
    raise AssertionError(f"not done: {lab.real_status().batch}")


def test_a_backfill_goes_through_one_job(served) -> None:
    done = index(served)

    assert all_vectors(served), done.stdout + done.stderr
    service = served.batches
    assert [len(job.texts) for job in service.jobs.values()] == [NOTES]
    assert served.server.texts == 0, "no ordinary request"
    assert set(service.submitted.values()) == {1}
    assert service.discarded == 2, "what was uploaded and what came is removed"
    with MemorySearch(settings=served.settings) as memory:
        reply = memory.search("number7x", min_score=0.0)
        assert reply.mode == "hybrid" and reply.hits[0].path == "memory/007.md"


def test_the_vectors_are_those_of_ordinary_requests(served, make_lab) -> None:
    from recallite.index.connection import IndexReader
    from recallite.index.extension import VectorExtension

    def vectors() -> dict[str, bytes]:
        reader = IndexReader(served.settings.index_path, VectorExtension())
        snapshot = reader.snapshot()
        assert snapshot.space is not None
        sql = f"SELECT c.text, v.embedding FROM chunks_vec_{snapshot.space.id} v JOIN chunks c ON c.id = v.rowid"
        found = {text: bytes(blob) for text, blob in reader.connection.execute(sql)}
        reader.close()
        return found

    index(served)
    by_batch = vectors()
    for file in served.settings.index_path.parent.iterdir():
        file.unlink()
    del served.memory_search["remote"]["batch"]
    index(served)

    assert len(by_batch) == NOTES
    assert vectors() == by_batch


def test_lines_that_fail_or_are_missing_are_embedded_without_a_batch(served) -> None:
    served.batches.spoil = lambda text: "error" if "number5x" in text else "missing" if "number6x" in text else None

    index(served)

    assert all_vectors(served)
    sent = [text for request in served.server.seen for text in request.texts]
    assert sorted(sent) == ["note number5x of the batch", "note number6x of the batch"]


def test_an_expired_job_keeps_what_it_delivered(served) -> None:
    served.batches.ends.append("expired")
    served.batches.share_done = 0.5

    index(served)

    assert all_vectors(served)
    assert served.server.texts == NOTES / 2
    assert len(served.batches.jobs) == 1


def test_after_two_failed_jobs_ordinary_requests_are_used_and_status_says_why(openai, monkeypatch) -> None:
    openai.batches.ends.extend(["failed", "failed", "failed"])

    index(openai)
    assert all_vectors(openai), "the first job's texts were embedded without a batch"
    for number in range(NOTES):
        openai.note(f"memory/{number:03}.md", f"second text{number}y")
    index(openai)

    status = openai.real_status()
    assert len(openai.batches.jobs) == 2
    assert "failed" in str(status.batch.off_reason)
    assert any("no batch jobs for some hours" in problem for problem in status.problems)
    for number in range(NOTES):
        openai.note(f"memory/{number:03}.md", f"third text{number}z")
    index(openai, check=False)
    assert len(openai.batches.jobs) == 2, "none is made for some hours"
    assert openai.real_status().vectors.pending == 0


def test_a_service_that_does_not_exist_is_given_up_at_once(served) -> None:
    served.batches.refuse.append(404)

    index(served, check=False)

    assert served.real_status().vectors.pending == 0
    assert served.server.texts == NOTES
    assert "404" in str(served.real_status().batch.off_reason)


def test_fresh_edits_and_few_texts_go_by_ordinary_requests(openai) -> None:
    index(openai)
    openai.note("memory/new.md", "a fresh edit")
    index(openai)

    assert len(openai.batches.jobs) == 1
    assert openai.server.count("a fresh edit") == 1


def test_a_live_edit_does_not_wait_for_a_job(openai, step) -> None:
    openai.batches.looks = 1_000
    step()
    openai.note("memory/fresh.md", "a fresh quokka")
    openai.queue.mark("main", ["memory/fresh.md"])

    result = sync_agent(openai.settings, openai.queue, lane="live")

    assert (result.files_written, result.texts_embedded) == (1, 1)
    assert openai.server.count("a fresh quokka") == 1
    assert openai.batches.running == 1


def test_keyword_search_has_all_of_it_while_the_job_runs(openai, step) -> None:
    openai.batches.looks = 1_000
    step(3)

    assert openai.paths("number77x")[0] == "memory/077.md"
    status = openai.real_status()
    assert (status.batch.open_jobs, status.batch.waiting) == (1, NOTES)
    assert any(f"1 batch jobs bring vectors for {NOTES} texts" in problem for problem in status.problems)


def test_a_submission_whose_answer_was_lost_is_found_again(served) -> None:
    served.batches.lose_answers.append(True)
    served.memory_search["remote"]["batch"]["wait"] = False

    index(served, check=False)  # submits, and does not learn the id
    assert len(served.batches.jobs) == 1
    queue = SqliteQueue(queue_path(served.settings.state_dir))
    deadline = time.monotonic() + 30
    while poll_agent(served.settings, queue, grace_seconds=0.0).open_jobs:
        assert time.monotonic() < deadline, served.real_status().batch
        time.sleep(0.05)
    while sync_agent(served.settings, queue).more:
        pass
    queue.close()

    assert len(served.batches.jobs) == 1
    assert set(served.batches.submitted.values()) == {1}
    assert all_vectors(served)


def test_within_the_grace_nothing_is_submitted_again(openai, step) -> None:
    openai.batches.lose_answers.append(True)
    while sync_agent(openai.settings, openai.queue).more:
        pass
    for _ in range(5):
        poll_agent(openai.settings, openai.queue)

    assert len(openai.batches.jobs) == 1


def test_failures_that_pass_are_tried_again(openai, step, monkeypatch) -> None:
    monkeypatch.setattr(batch_poll._Poller, "_pause", lambda self, turns: 0.0)
    openai.batches.refuse_calls.extend([500, 503, 429])

    for _ in range(20):
        step()
        time.sleep(0.25)
        if all_vectors(openai):
            break

    assert all_vectors(openai)
    assert set(openai.batches.submitted.values()) == {1}


def test_large_backfills_are_cut_into_jobs_and_only_so_many_run(openai, monkeypatch, step) -> None:
    from recallite.embeddings import openai_batches
    from recallite.embeddings.batches import BatchLimits

    monkeypatch.setattr(openai_batches, "LIMITS", BatchLimits(max_items=10, max_bytes=10_000_000))
    openai.memory_search["remote"]["batch"]["concurrency"] = 3
    openai.batches.looks = 3

    monkeypatch.setattr(batch_poll, "NO_SLOT_SECONDS", 0.0)
    until_done(step, openai)

    assert len(openai.batches.jobs) == NOTES / 10
    assert openai.batches.most_running == 3
    assert set(openai.batches.submitted.values()) == {1}
    assert openai.queue.slots(next(iter(_accounts(openai)))) == 0


def _accounts(lab) -> set[str]:
    from recallite.embeddings.choice import choose_provider
    from recallite_worker.pacing import account_key

    options = choose_provider(lab.settings).options
    assert options is not None
    return {account_key(options)}


def test_wait_false_returns_and_the_next_run_takes_the_results_in(openai) -> None:
    openai.memory_search["remote"]["batch"]["wait"] = False
    openai.batches.looks = 0

    first = index(openai, check=False)
    assert first.returncode == 3
    assert "1 batch jobs bring vectors" in first.stdout
    assert (len(openai.batches.jobs), openai.server.texts) == (1, 0)
    index(openai, check=False)

    assert all_vectors(openai)
    assert (len(openai.batches.jobs), openai.server.texts) == (1, 0)


def test_a_rebuild_and_another_start_embed_nothing_again(openai) -> None:
    index(openai)
    index(openai, "--force")
    (openai.workspace / "memory" / "000.md").rename(openai.workspace / "memory" / "moved.md")
    index(openai)

    assert set(openai.batches.submitted.values()) == {1}
    assert openai.server.texts == 0
    assert all_vectors(openai)


def test_jobs_are_listed_and_cancelled(openai) -> None:
    openai.memory_search["remote"]["batch"]["wait"] = False
    openai.batches.looks = 1_000
    openai.batches.share_done = 0.25
    index(openai, check=False)

    listed = json.loads(openai.run("batch", "list", "--json").stdout)
    assert [(job["state"], job["texts"], job["delivered"]) for job in listed["jobs"]] == [("running", NOTES, 0)]
    assert "running" in openai.run("batch", "list").stdout
    unknown = openai.run("batch", "cancel", "77", check=False)
    assert unknown.returncode == 1 and "no open job 77" in unknown.stderr
    assert "asked to end it" in openai.run("batch", "cancel", "all").stdout

    index(openai, check=False)
    assert all_vectors(openai)
    assert openai.server.texts == NOTES * 3 / 4, "what it had done is kept"
    assert "cancelled" in openai.run("batch", "list").stdout


def test_switching_batches_off_keeps_what_runs_and_sends_the_rest(openai, monkeypatch, step) -> None:
    from recallite.embeddings import openai_batches
    from recallite.embeddings.batches import BatchLimits

    monkeypatch.setattr(openai_batches, "LIMITS", BatchLimits(max_items=60, max_bytes=10_000_000))
    openai.memory_search["remote"]["batch"]["concurrency"] = 1
    openai.batches.looks = 1
    step()
    assert len(openai.batches.jobs) == 1
    openai.memory_search["remote"]["batch"]["enabled"] = False

    until_done(step, openai)

    assert len(openai.batches.jobs) == 1
    assert openai.server.texts == NOTES - 60
    assert all_vectors(openai)


def test_a_job_of_a_provider_that_is_no_longer_configured_ends(openai, step) -> None:
    openai.batches.looks = 1_000
    step()
    openai.memory_search = {"provider": "voyage", "model": "loopback", "remote": {"baseUrl": openai.server.url}}

    until_done(step, openai)

    assert openai.server.texts == NOTES
    assert openai.real_status().batch.open_jobs == 0


def test_the_key_is_in_no_file_and_no_output(openai, step) -> None:
    openai.batches.refuse_calls.extend([401] * 3)
    done = index(openai, check=False)
    listed = openai.run("batch", "list").stdout

    assert PLANTED_KEY not in done.stdout + done.stderr + listed
    for file in openai.root.rglob("*"):
        if file.is_file():
            assert PLANTED_KEY.encode() not in file.read_bytes(), file


def test_texts_leave_the_batch_file_when_they_are_submitted(openai, step) -> None:
    openai.batches.looks = 1_000
    step(2)

    path = openai.settings.cache_path.with_name("main.batch.sqlite")
    assert path.exists() and path.stat().st_mode & 0o777 == 0o600
    import apsw

    connection = apsw.Connection(str(path))
    assert connection.execute("SELECT count(*) FROM items WHERE text IS NOT NULL").fetchall() == [(0,)]
    connection.close()


def test_a_job_that_never_ends_is_given_up(openai, step, monkeypatch) -> None:
    openai.batches.looks = 1_000
    step()
    monkeypatch.setattr(batch_poll, "MOST_AGE_SECONDS", 0.0)

    until_done(step, openai)

    assert openai.real_status().vectors.indexed == NOTES
    assert openai.server.texts == NOTES
    (job,) = json.loads(openai.run("batch", "list", "--json").stdout)["jobs"]
    assert job["state"] == "expired" and "check the model" in job["reason"]


def test_below_the_least_number_of_texts_no_job_is_made(openai) -> None:
    for number in range(NOTES - batches.LEAST_TEXTS + 1):
        (openai.workspace / "memory" / f"{number:03}.md").unlink()

    index(openai)

    assert openai.batches.jobs == {}
    assert openai.server.texts == batches.LEAST_TEXTS - 1
