"""Jobs that are listed, cancelled, switched off, given up; and what of them is on the disk."""

from __future__ import annotations

import json

import apsw
import pytest

from recallite.embeddings.openai_batches import OpenAIBatches
from recallite.index.batchfile import batch_path
from recallite.testing.provider_server import PLANTED_KEY
from recallite_worker import batch_poll, batches

NOTES = 120
"""As many as the fixtures write."""


def test_jobs_are_listed_and_cancelled(openai) -> None:
    openai.memory_search["remote"]["batch"]["wait"] = False
    openai.batches.looks = 1_000
    openai.batches.share_done = 0.25
    openai.run("index", check=False)

    listed = json.loads(openai.run("batch", "list", "--json").stdout)
    assert [(job["state"], job["texts"], job["delivered"]) for job in listed["jobs"]] == [("running", NOTES, 0)]
    assert "running" in openai.run("batch", "list").stdout
    unknown = openai.run("batch", "cancel", "77", check=False)
    assert unknown.returncode == 1 and "no open job 77" in unknown.stderr
    assert "asked to end it" in openai.run("batch", "cancel", "all").stdout

    openai.run("index", check=False)
    assert openai.has_all_vectors()
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

    step.until_done()

    assert len(openai.batches.jobs) == 1
    assert openai.server.texts == NOTES - 60
    assert openai.has_all_vectors()


def test_a_job_outlives_another_provider_and_a_run_without_a_key(openai, step, monkeypatch) -> None:
    openai.batches.looks = 1_000
    step()
    mine = openai.memory_search
    openai.memory_search = {"provider": "voyage", "model": "loopback", "remote": {"baseUrl": openai.server.url}}
    step.until_done()
    assert openai.server.texts == NOTES
    assert openai.real_status().batch.open_jobs == 1
    assert openai.real_status().health == "ok"

    openai.memory_search = {"provider": "openai", "model": "loopback"}  # its own address, and no key for it
    monkeypatch.delenv("OPENAI_API_KEY")
    step()
    monkeypatch.setenv("OPENAI_API_KEY", PLANTED_KEY)
    openai.memory_search = mine
    openai.batches.looks = 0
    step.until_done()

    assert set(openai.batches.submitted.values()) == {1}
    assert openai.server.texts == NOTES, "those of voyage"
    assert openai.has_all_vectors()


def test_a_job_that_waits_for_a_slot_is_dropped_when_the_model_changes(openai, step) -> None:
    queue, account = openai.queue, openai.account
    queue.keep_slot(account, "a job of another agent")
    queue.keep_slot(account, "and one more")
    step()
    assert [job["state"] for job in _jobs(openai)] == ["planned"]
    openai.memory_search["model"] = "another"
    openai.memory_search["remote"]["batch"]["enabled"] = False
    step.until_done()
    queue.free_slot(account, "a job of another agent")
    openai.memory_search["model"] = "loopback"
    openai.memory_search["remote"]["batch"]["enabled"] = True

    step.until_done()

    models = {request.model for request in openai.server.seen}
    assert models == {"another"}, "no ordinary request for the first model"
    assert [line["body"]["model"] for line in openai.batches.lines] == ["loopback"] * NOTES
    assert openai.has_all_vectors()


def test_vectors_of_a_wrong_length_end_the_job_and_are_not_bought_again(openai) -> None:
    openai.memory_search |= {"outputDimensionality": 32}
    openai.batches.dims = 64

    done = openai.run("index", check=False)

    assert len(openai.batches.jobs) == 1
    assert openai.real_status().vectors.indexed == NOTES, done.stdout + done.stderr
    assert openai.server.texts == NOTES, "each once more, without a batch"


def test_a_damaged_file_of_jobs_costs_itself_only(openai, step) -> None:
    openai.batches.looks = 1_000
    step()
    path = openai.settings.cache_path.with_name("main.batch.sqlite")
    path.write_bytes(b"garbage " * 4096)
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)

    openai.batches.looks = 0
    done = openai.run("index", check=False)

    assert "Traceback" not in done.stderr
    aside = [file.name for file in path.parent.iterdir() if ".damaged-" in file.name]
    assert [name for name in aside if not name.startswith("main.batch.sqlite")] == []
    assert openai.real_status().files_indexed == NOTES
    assert openai.run("batch", "list", check=False).returncode == 0


@pytest.mark.parametrize("status", [401, 404, 403])
def test_a_refusal_while_a_job_is_looked_at_does_not_give_it_up(openai, step, monkeypatch, status: int) -> None:
    monkeypatch.setattr(batch_poll._Poller, "_pause", lambda self, turns: 0.0)
    openai.batches.looks = 2
    step()
    openai.batches.refuse_calls.append(status)

    step.until_done()

    assert set(openai.batches.submitted.values()) == {1}
    assert openai.server.texts == 0


def test_a_refusal_while_a_lost_submission_is_looked_for_does_not_give_it_up(openai, step) -> None:
    openai.batches.lose_answers.append(True)
    step()
    assert [job["state"] for job in _jobs(openai)] == ["creating"]
    openai.batches.refuse_calls.append(401)

    step.until_done()

    assert set(openai.batches.submitted.values()) == {1}
    assert openai.server.texts == 0


def test_too_many_requests_hold_for_ordinary_ones_too(openai, step) -> None:
    openai.batches.refuse_calls.append(429)

    done = step()

    account = openai.account
    pause = openai.queue.paused(account)
    assert pause is not None and "429" in pause.reason
    assert done.next_seconds is not None and done.next_seconds > 10


def test_a_job_that_is_switched_off_gives_its_slot_back(openai, step) -> None:
    openai.batches.refuse_calls.append(500)
    step()
    account = openai.account
    assert openai.queue.slots(account) == 1
    openai.memory_search["remote"]["batch"]["enabled"] = False

    step.until_done()

    assert openai.queue.slots(account) == 0
    assert openai.server.texts == NOTES


def test_what_came_for_texts_that_are_gone_is_kept_in_the_cache(openai, step) -> None:
    openai.batches.looks = 1_000
    step()
    (openai.workspace / "memory" / "000.md").unlink()
    openai.queue.mark("main", ["*"])
    openai.batches.looks = 0
    step.until_done()
    step()
    openai.note("memory/again.md", "note number0x of the batch")
    openai.queue.mark("main", ["*"])
    step.until_done()

    assert set(openai.batches.submitted.values()) == {1}
    assert openai.server.texts == 0
    assert openai.has_all_vectors()


def test_a_second_submission_that_cannot_be_cancelled_does_not_end_the_first(openai, step, monkeypatch) -> None:
    """A process that was stopped between its claim and its request, and goes on after another has submitted."""
    create = OpenAIBatches.create

    def late(self: OpenAIBatches, name: str, file: str) -> str:
        first = create(self, name, file)
        connection = apsw.Connection(str(batch_path(openai.settings.cache_path)))
        connection.execute("UPDATE jobs SET state = 'running', provider_id = ?, claim = 'another'", (first,))
        connection.close()
        mine = create(self, name, file)
        openai.batches.refuse_calls.append(403)  # the cancellation
        return mine

    monkeypatch.setattr(OpenAIBatches, "create", late)
    openai.batches.looks = 0

    step.until_done()

    assert len(openai.batches.jobs) == 2
    assert openai.server.texts == 0, "the first job went on"
    assert openai.has_all_vectors()


def _jobs(lab) -> list[dict[str, object]]:
    return list(json.loads(lab.run("batch", "list", "--json").stdout)["jobs"])


def test_the_key_is_in_no_file_and_no_output(openai, step) -> None:
    openai.batches.refuse_calls.extend([401] * 3)
    done = openai.run("index", check=False)
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
    connection = apsw.Connection(str(path))
    assert connection.execute("SELECT count(*) FROM items WHERE text IS NOT NULL").fetchall() == [(0,)]
    connection.close()


def test_a_job_that_never_ends_is_given_up(openai, step, monkeypatch) -> None:
    openai.batches.looks = 1_000
    step()
    monkeypatch.setattr(batch_poll, "MOST_AGE_SECONDS", 0.0)

    step.until_done()

    assert openai.real_status().vectors.indexed == NOTES
    assert openai.server.texts == NOTES
    (job,) = json.loads(openai.run("batch", "list", "--json").stdout)["jobs"]
    assert job["state"] == "expired" and "check the model" in job["reason"]


def test_below_the_least_number_of_texts_no_job_is_made(openai) -> None:
    for number in range(NOTES - batches.LEAST_TEXTS + 1):
        (openai.workspace / "memory" / f"{number:03}.md").unlink()

    openai.run("index")

    assert openai.batches.jobs == {}
    assert openai.server.texts == batches.LEAST_TEXTS - 1


def test_jobs_keep_the_daily_limit(openai, step, monkeypatch) -> None:
    day = ["2026-02-10"]
    monkeypatch.setattr("recallite_worker.pacing.today", lambda: day[0])
    monkeypatch.setattr(batch_poll, "today", lambda: day[0])
    monkeypatch.setattr(batch_poll, "LIMIT_SECONDS", 0.0)
    openai.memory_search["remote"]["dailyTokenLimit"] = 400
    openai.batches.looks = 0

    for _ in range(6):
        step()
    (first,) = openai.batches.jobs.values()
    spent = NOTES * 7  # 28 characters each
    assert 0 < len(first.texts) < NOTES
    assert "dailyTokenLimit (400) is reached" in openai.run("batch", "list").stdout
    assert openai.server.texts == 0

    for number in range(11, 11 + spent // 400 + 1):
        day[0] = f"2026-02-{number}"
        for _ in range(4):
            step()
    assert set(openai.batches.submitted.values()) == {1}
    assert openai.has_all_vectors()
