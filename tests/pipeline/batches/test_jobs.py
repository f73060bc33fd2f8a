"""Batch jobs over the real SDK and real HTTP: nothing is paid for twice, and a bad line costs a line."""

from __future__ import annotations

import json
import time

from recallite import MemorySearch
from recallite.work.sqlite import SqliteQueue, queue_path
from recallite_worker import batch_poll
from recallite_worker.batch_poll import poll_agent
from recallite_worker.sync import sync_agent

NOTES = 120
"""As many as the fixtures write."""


def test_a_backfill_goes_through_one_job(served) -> None:
    done = served.run("index")

    assert served.has_all_vectors(), done.stdout + done.stderr
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
        reader = IndexReader(served.settings.index_path)
        assert VectorExtension().load(reader.connection) is None
        snapshot = reader.snapshot()
        assert snapshot.space is not None
        sql = f"SELECT c.text, v.embedding FROM chunks_vec_{snapshot.space.id} v JOIN chunks c ON c.id = v.rowid"
        found = {text: bytes(blob) for text, blob in reader.connection.execute(sql)}
        reader.close()
        return found

    served.run("index")
    by_batch = vectors()
    for file in served.settings.index_path.parent.iterdir():
        file.unlink()
    del served.memory_search["remote"]["batch"]
    served.run("index")

    assert len(by_batch) == NOTES
    assert vectors() == by_batch


def test_lines_that_fail_or_are_missing_are_embedded_without_a_batch(served) -> None:
    served.batches.spoil = lambda text: "error" if "number5x" in text else "missing" if "number6x" in text else None

    served.run("index")

    assert served.has_all_vectors()
    sent = [text for request in served.server.seen for text in request.texts]
    assert sorted(sent) == ["note number5x of the batch", "note number6x of the batch"]


def test_an_expired_job_keeps_what_it_delivered(served) -> None:
    served.batches.ends.append("expired")
    served.batches.share_done = 0.5

    served.run("index")

    assert served.has_all_vectors()
    assert served.server.texts == NOTES / 2
    assert len(served.batches.jobs) == 1


def test_after_two_failed_jobs_ordinary_requests_are_used_and_status_says_why(openai, monkeypatch) -> None:
    openai.batches.ends.extend(["failed", "failed", "failed"])

    openai.run("index")
    assert openai.has_all_vectors(), "the first job's texts were embedded without a batch"
    for number in range(NOTES):
        openai.note(f"memory/{number:03}.md", f"second text{number}y")
    openai.run("index")

    status = openai.real_status()
    assert len(openai.batches.jobs) == 2
    assert "failed" in str(status.batch.off_reason)
    assert any("no batch jobs for some hours" in problem for problem in status.problems)
    for number in range(NOTES):
        openai.note(f"memory/{number:03}.md", f"third text{number}z")
    openai.run("index", check=False)
    assert len(openai.batches.jobs) == 2, "none is made for some hours"
    assert openai.real_status().vectors.pending == 0


def test_a_service_that_does_not_exist_is_given_up_at_once(served) -> None:
    served.batches.refuse.append(404)

    served.run("index", check=False)

    assert served.real_status().vectors.pending == 0
    assert served.server.texts == NOTES
    assert "404" in str(served.real_status().batch.off_reason)


def test_fresh_edits_and_few_texts_go_by_ordinary_requests(openai) -> None:
    openai.run("index")
    openai.note("memory/new.md", "a fresh edit")
    openai.run("index")

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
    assert any(f"1 batch job brings vectors for {NOTES} texts" in problem for problem in status.problems)


def test_a_submission_whose_answer_was_lost_is_found_again(served) -> None:
    served.batches.lose_answers.append(True)
    served.memory_search["remote"]["batch"]["wait"] = False

    served.run("index", check=False)  # submits, and does not learn the id
    assert len(served.batches.jobs) == 1
    queue = SqliteQueue(queue_path(served.settings.state_dir))
    deadline = time.monotonic() + 90
    while poll_agent(served.settings, queue, grace_seconds=0.0).open_jobs:
        assert time.monotonic() < deadline, served.real_status().batch
        time.sleep(0.05)
    while sync_agent(served.settings, queue).more:
        pass
    queue.close()

    assert len(served.batches.jobs) == 1
    assert set(served.batches.submitted.values()) == {1}
    assert served.has_all_vectors()


def test_within_the_grace_nothing_is_submitted_again(openai, step) -> None:
    openai.batches.lose_answers.append(True)
    while sync_agent(openai.settings, openai.queue).more:
        pass
    for _ in range(5):
        poll_agent(openai.settings, openai.queue)

    assert len(openai.batches.jobs) == 1


def test_failures_that_pass_are_tried_again(openai, step, monkeypatch) -> None:
    monkeypatch.setattr(batch_poll._Poller, "_pause", lambda self, turns: 0.0)
    openai.batches.refuse_calls.extend([500, 503, 502])

    for _ in range(20):
        step()
        time.sleep(0.25)
        if openai.has_all_vectors():
            break

    assert openai.has_all_vectors()
    assert set(openai.batches.submitted.values()) == {1}


def test_large_backfills_are_cut_into_jobs_and_only_so_many_run(openai, monkeypatch, step) -> None:
    from recallite.embeddings import openai_batches
    from recallite.embeddings.batches import BatchLimits

    monkeypatch.setattr(openai_batches, "LIMITS", BatchLimits(max_items=10, max_bytes=10_000_000))
    openai.memory_search["remote"]["batch"]["concurrency"] = 3
    openai.batches.looks = 3

    monkeypatch.setattr(batch_poll, "NO_SLOT_SECONDS", 0.0)
    step.until_done()

    assert len(openai.batches.jobs) == NOTES / 10
    assert openai.batches.most_running == 3
    assert set(openai.batches.submitted.values()) == {1}
    assert openai.queue.slots(openai.account) == 0


def test_wait_false_returns_and_the_next_run_takes_the_results_in(openai) -> None:
    openai.memory_search["remote"]["batch"]["wait"] = False
    openai.batches.looks = 0

    first = openai.run("index", check=False)
    assert first.returncode == 3
    assert "1 batch job brings vectors" in first.stdout
    assert (len(openai.batches.jobs), openai.server.texts) == (1, 0)
    openai.run("index", check=False)

    assert openai.has_all_vectors()
    assert (len(openai.batches.jobs), openai.server.texts) == (1, 0)


def test_a_rebuild_and_another_start_embed_nothing_again(openai) -> None:
    openai.run("index")
    openai.run("index", "--force")
    (openai.workspace / "memory" / "000.md").rename(openai.workspace / "memory" / "moved.md")
    openai.run("index")

    assert set(openai.batches.submitted.values()) == {1}
    assert openai.server.texts == 0
    assert openai.has_all_vectors()


def test_without_a_cache_the_vectors_come_all_the_same(openai) -> None:
    openai.memory_search["cache"] = {"enabled": False}

    openai.run("index")

    assert openai.has_all_vectors()
    assert set(openai.batches.submitted.values()) == {1}
    assert openai.server.texts == 0


def test_a_small_cache_loses_nothing_that_a_job_gave(openai) -> None:
    openai.memory_search["cache"] = {"maxEntries": 10}

    openai.run("index")

    assert openai.has_all_vectors()
    assert openai.server.texts == 0


def test_a_text_that_must_be_split_goes_by_an_ordinary_request(openai) -> None:
    openai.memory_search["chunking"] = {"tokens": 9000, "overlap": 0}
    openai.note("memory/long.md", "a word and another " * 1500)

    openai.run("index")

    assert openai.has_all_vectors()
    (job,) = openai.batches.jobs.values()
    assert len(job.texts) == NOTES
    assert openai.server.texts > 1, "its parts"


def test_status_tells_of_jobs_to_programs(openai, step) -> None:
    openai.batches.looks = 1_000
    step()

    (said,) = json.loads(openai.run("status", "--json", check=False).stdout)

    assert said["batch"]["waiting"] == NOTES
    assert [job["state"] for job in said["batch"]["jobs"]] == ["running"]
    assert "1 job open, 120 texts wait" in openai.run("status", check=False).stdout
