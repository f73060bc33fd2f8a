"""Batch jobs moved on by Celery workers, and by the embedded service."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

from recallite import MemorySearch
from recallite.testing.batch_protocols import OpenAIBatchProtocol
from recallite.testing.batch_service import BatchService
from recallite.testing.provider_server import PLANTED_KEY, ProviderServer
from recallite.work import SCAN
from recallite.work.sqlite import SqliteQueue, queue_path
from recallite_worker.service import EmbeddedService

NOTES = 120


def until(condition: Callable[[], object], seconds: float, what: Callable[[], str] = lambda: "") -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, what()
        time.sleep(0.1)


@pytest.fixture
def batch_provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[ProviderServer]:
    monkeypatch.setenv("OPENAI_API_KEY", PLANTED_KEY)
    with ProviderServer() as server:
        server.batches = BatchService(OpenAIBatchProtocol(), looks=2)
        yield server


def cluster_of(make_cluster, server: ProviderServer):
    batch = {"enabled": True, "pollIntervalMs": 200}
    cluster = make_cluster(provider=server, memory_search={"remote": {"baseUrl": server.url, "batch": batch}})
    for number in range(NOTES):
        cluster.note(f"memory/{number}.md", f"note number{number}x")
    return cluster


def vectors(cluster) -> int:
    with MemorySearch(settings=cluster.agent()) as memory:
        try:
            return memory.status(look_at_queue=False).vectors.indexed
        except Exception:
            return 0


def job_states(cluster) -> list[str]:
    with MemorySearch(settings=cluster.agent()) as memory:
        return [job.state for job in memory.status(look_at_queue=False).batch.jobs]


def test_workers_submit_look_and_take_in(make_cluster, batch_provider) -> None:
    cluster = cluster_of(make_cluster, batch_provider)
    worker = cluster.worker("w", "--lane", "all")
    cluster.wait_ready()
    dispatch = cluster.dispatch()

    dispatch.dirty("main", [SCAN], lane="backfill")
    until(lambda: vectors(cluster) == NOTES, 120, worker.logs)

    service = batch_provider.batches
    assert service is not None
    assert (len(service.jobs), batch_provider.texts) == (1, 0)
    assert set(service.submitted.values()) == {1}
    until(lambda: not dispatch.queue.owed("batch") and not dispatch.queue.owed(), 20, worker.logs)
    logs = worker.logs()
    assert "recallite.batch.poll" in logs
    assert PLANTED_KEY not in logs and "number7x" not in logs
    dispatch.close()


def test_a_lost_look_is_sent_again_by_the_sweep(make_cluster, batch_provider) -> None:
    cluster = cluster_of(make_cluster, batch_provider)
    worker = cluster.worker("w", "--lane", "all")
    cluster.wait_ready()
    dispatch = cluster.dispatch()
    dispatch.queue.known()
    service = batch_provider.batches
    assert service is not None
    service.looks = 1_000_000
    dispatch.dirty("main", [SCAN], lane="backfill")
    until(lambda: job_states(cluster) == ["running"], 90, worker.logs)

    worker.kill()
    service.looks = 0
    worker.restart()
    until(lambda: dispatch.sweep() or vectors(cluster) == NOTES, 120, worker.logs)

    assert set(service.submitted.values()) == {1}
    dispatch.close()


def test_the_embedded_service_moves_jobs_on(make_cluster, batch_provider) -> None:
    cluster = cluster_of(make_cluster, batch_provider)
    queue = SqliteQueue(queue_path(cluster.root / "state"))
    queue.mark("main", [SCAN], lane="backfill")
    service = EmbeddedService(cluster.settings, queue)
    service.start()
    try:
        until(lambda: vectors(cluster) == NOTES, 120)
        until(lambda: not queue.owed("batch"), 60)
    finally:
        service.stop(10)
        queue.close()

    assert batch_provider.texts == 0
