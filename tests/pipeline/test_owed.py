"""Vectors that wait are known to the queue, so that whoever serves it next makes them, without a scan."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from recallite import load_settings
from recallite.testing.behaviours import Delay, Status
from recallite.testing.provider_server import PLANTED_KEY, ProviderServer
from recallite.work import SCAN
from recallite.work.sqlite import SqliteQueue, queue_path
from recallite_worker.service import EmbeddedService
from recallite_worker.sync import sync_agent
from recallite_worker.vector_stage import open_embedder


@pytest.fixture
def remote(lab, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", PLANTED_KEY)
    with ProviderServer() as server:
        lab.server = server
        remote = {"baseUrl": server.url, "maxItemsPerRequest": 1}
        lab.memory_search = {"provider": "openai", "model": "loopback", "remote": remote}
        for number in range(20):
            lab.note(f"memory/{number}.md", f"note number {number}")
        yield lab


@pytest.fixture
def queue(remote):
    made = SqliteQueue(queue_path(remote.settings.state_dir))
    yield made
    made.close()


def all_settings(lab):
    return load_settings(lab.root / "openclaw.json", env={"OPENCLAW_STATE_DIR": str(lab.root / "state")})


def until(condition, seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def test_a_process_that_is_killed_among_its_vectors_leaves_them_owed(remote, queue) -> None:
    _ = remote.settings
    remote.server.next(*[Delay(0.2)] * 50)
    command = [sys.executable, "-m", "recallite.cli.main", "--config", str(remote.root / "openclaw.json"), "index"]
    env = {**os.environ, "OPENCLAW_STATE_DIR": str(remote.root / "state")}
    process = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until(lambda: remote.server.requests >= 3)
    process.send_signal(signal.SIGKILL)
    process.wait()

    assert queue.length() == 0, "all text is written"
    assert queue.owed() == ["main"]
    service = EmbeddedService(all_settings(remote), queue)
    service.start()
    try:
        until(lambda: remote.memory().status().vectors.indexed == 20)
        until(lambda: queue.owed() == [])
    finally:
        service.stop(10)


def test_a_provider_that_fails_is_asked_again_by_whoever_serves_the_queue_then(remote, queue, monkeypatch) -> None:
    monkeypatch.setattr("recallite_worker.vector_stage.RETRY_SECONDS", 0.5)
    remote.server.next(*[Status(401)] * 2)
    queue.mark("main", [SCAN])
    service = EmbeddedService(all_settings(remote), queue)
    service.start()
    try:
        until(lambda: remote.memory().status().vectors.indexed == 20)
        until(lambda: queue.owed() == [])
    finally:
        service.stop(10)
    assert remote.server.requests == 22


def test_nothing_is_owed_without_a_provider(remote, queue) -> None:
    queue.mark("main", [SCAN])

    sync_agent(remote.settings, queue, embedders=lambda s: (None, "none"))

    assert queue.owed() == []


def test_a_stopped_slice_leaves_its_vectors_owed_at_once(remote, queue) -> None:
    queue.mark("main", [SCAN])

    result = sync_agent(remote.settings, queue, embedders=open_embedder, seconds=0.0)
    while queue.length():
        result = sync_agent(remote.settings, queue, embedders=lambda s: (None, "none"))
    assert result.files_written == 20
    sync_agent(remote.settings, queue, embedders=open_embedder, seconds=0.0)

    assert queue.owed() == ["main"]


def test_an_agent_that_is_not_configured_is_left_alone_by_the_service(remote, queue, caplog) -> None:
    queue.mark("somebody", ["memory/x.md"])
    queue.mark("main", [SCAN])
    service = EmbeddedService(all_settings(remote), queue)
    service.start()
    try:
        until(lambda: remote.memory().status().vectors.indexed == 20)
    finally:
        service.stop(10)

    assert queue.length("somebody") == 1, "a producer that starts drops it"
    assert "somebody" not in caplog.text


def test_a_provider_that_refuses_is_asked_less_and_less_and_status_says_why(remote, queue) -> None:
    remote.memory_search |= {"outputDimensionality": 32}
    remote.server.obeys_dimensions = False
    queue.mark("main", [SCAN])

    waits = [sync_agent(remote.settings, queue, embedders=open_embedder).retry_after_seconds for _ in range(4)]

    assert waits == [30.0, 60.0, 120.0, 240.0]
    problems = " ".join(remote.real_status().problems)
    assert "vectors wait for the provider" in problems and "64" in problems and "32" in problems
    assert queue.owed() == []
    remote.server.obeys_dimensions = True
    sync_agent(remote.settings, queue, embedders=open_embedder)
    assert remote.real_status().health == "ok"
