"""Jobs that are listed, cancelled, switched off, given up; and what of them is on the disk."""

from __future__ import annotations

import json

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


def test_a_job_of_a_provider_that_is_no_longer_configured_ends(openai, step) -> None:
    openai.batches.looks = 1_000
    step()
    openai.memory_search = {"provider": "voyage", "model": "loopback", "remote": {"baseUrl": openai.server.url}}

    step.until_done()

    assert openai.server.texts == NOTES
    assert openai.real_status().batch.open_jobs == 0


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
    import apsw

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
