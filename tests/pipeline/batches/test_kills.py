"""Forty batch jobs, three pollers that are killed at random moments: forty submissions, each result taken in once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from recallite import MemorySearch, load_settings
from recallite.testing.batch_protocols import OpenAIBatchProtocol
from recallite.testing.batch_service import BatchService
from recallite.testing.provider_server import PLANTED_KEY, ProviderServer
from recallite.testing.redis_server import RedisServer
from recallite.work.connect import open_queue
from recallite_worker.sync import sync_agent

AGENTS, NOTES = ("one", "two", "three", "four"), 100
JOBS, LIMIT = 40, 3
PROGRAM = Path(__file__).with_name("pollers.py")


@pytest.mark.parametrize("kind", ["sqlite", "redis"])
def test_pollers_that_are_killed_submit_each_job_once(tmp_path: Path, monkeypatch, kind: str) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", PLANTED_KEY)
    monkeypatch.setenv("OPENCLAW_STATE_DIR", str(tmp_path / "state"))
    with ProviderServer() as server, RedisServer() as redis:
        if kind == "redis":
            monkeypatch.setenv("RECALLITE_BROKER_URL", redis.url)
        server.batches = service = BatchService(OpenAIBatchProtocol(), looks=2)
        config = _config(tmp_path, server.url)

        done = subprocess.run(
            [sys.executable, str(PROGRAM), str(config)], env={**os.environ}, capture_output=True, text=True, timeout=300
        )
        settings = load_settings(config)
        queue = open_queue(settings, redis.url if kind == "redis" else None)
        for agent in AGENTS:
            while sync_agent(settings.agent(agent), queue).more:
                pass
        queue.close()

        assert done.returncode == 0, done.stderr
        assert int(done.stdout.split()[0]) > 10, "killed often enough to mean something"
        assert len(service.jobs) == JOBS
        assert service.most_running <= LIMIT
        assert sorted(set(service.submitted.values())) == [1]
        assert len(service.submitted) == len(AGENTS) * NOTES
        assert server.texts == 0, "no ordinary request"
        for agent in AGENTS:
            with MemorySearch(settings=settings.agent(agent)) as memory:
                status = memory.status()
            assert status.vectors.indexed == status.chunks == NOTES
            assert _items(settings.agent(agent).index_path.parent / f"{agent}.batch.sqlite") == 0


def _config(root: Path, url: str) -> Path:
    for agent in AGENTS:
        (root / agent / "memory").mkdir(parents=True)
        for number in range(NOTES):
            (root / agent / "memory" / f"{number}.md").write_text(f"{agent} has note {number} of the batch")
    batch = {"enabled": True, "concurrency": LIMIT, "pollIntervalMs": 10}
    search = {"provider": "openai", "model": "loopback", "remote": {"baseUrl": url, "batch": batch}}
    agents = {
        "defaults": {"memorySearch": search},
        "list": [{"id": agent, "workspace": str(root / agent)} for agent in AGENTS],
    }
    config = root / "openclaw.json"
    config.write_text(json.dumps({"agents": agents}))
    return config


def _items(path: Path) -> int:
    connection = apsw.Connection(str(path))
    try:
        return int(connection.execute("SELECT count(*) FROM items").fetchall()[0][0])
    finally:
        connection.close()
