"""10 000 chunks through an endpoint that takes 50 ms to answer, beside what that endpoint needs alone; and by batch."""

from __future__ import annotations

import json
import os
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx

from benchmarks.corpus import write_config, write_notes
from benchmarks.endpoint import Endpoint, endpoint
from benchmarks.report import Report
from recallite import AgentSettings, load_settings
from recallite.embeddings.choice import choose_provider
from recallite.embeddings.limits import pack
from recallite.embeddings.registry import create_embedder
from recallite.index.connection import IndexReader
from recallite.index.rows import fetch
from recallite.work import SCAN
from recallite.work.sqlite import SqliteQueue, queue_path
from recallite_worker.batch_wait import BatchWait
from recallite_worker.executor import EmbeddedExecutor
from recallite_worker.sync import sync_agent

NOTES, CHARACTERS = 2_500, 4_900
LATENCY_SECONDS, DIMS = 0.05, 256


def run() -> Report:
    report = Report(f"Embedding (an endpoint with {LATENCY_SECONDS * 1000:.0f} ms latency, {DIMS} dimensions)")
    with tempfile.TemporaryDirectory() as name, endpoint(latency_seconds=LATENCY_SECONDS, dims=DIMS) as served:
        root = Path(name)
        os.environ["OPENAI_API_KEY"] = served.key
        write_notes(root / "workspace", notes=NOTES, characters=CHARACTERS)
        normal = _agent(root, served, batch=False)
        _index_text(normal)
        report.add("chunks", _chunks(normal), "")
        served.traffic()
        alone = _endpoint_alone(normal, served)
        served.traffic()
        seconds = _index_vectors(normal)
        traffic = served.traffic()
        report.add("requests", traffic.requests, "")
        report.add("texts sent", traffic.texts, "")
        report.add("sent and received", (traffic.bytes_in + traffic.bytes_out) / 1e6, "MB")
        report.add("wall time of the vectors", seconds, "s")
        report.add("the endpoint alone, same requests", alone, "s")
        report.add("times the endpoint alone", seconds / alone, "", at_most=1.3)
        _forget(normal)
        by_batch = _agent(root, served, batch=True)
        _index_text(by_batch)
        served.traffic()
        seconds = _index_vectors(by_batch)
        traffic = served.traffic()
        report.add("by batch: calls", traffic.calls, "")
        report.add("by batch: ordinary requests", traffic.requests, "")
        report.add("by batch: sent and received", (traffic.bytes_in + traffic.bytes_out) / 1e6, "MB")
        report.add("by batch: wall time, the job itself done at once", seconds, "s")
    return report


def _agent(root: Path, served: Endpoint, *, batch: bool) -> AgentSettings:
    remote = {"baseUrl": served.url, "batch": {"enabled": batch, "pollIntervalMs": 50}}
    config = write_config(root, provider="openai", model="bench", remote=remote)
    return load_settings(config, env={**os.environ, "OPENCLAW_STATE_DIR": str(root / "state")}).agent()


def _index_text(agent: AgentSettings) -> None:
    queue = SqliteQueue(queue_path(agent.state_dir))
    queue.mark(agent.agent, [SCAN])
    while sync_agent(agent, queue, embedders=lambda settings: (None, "text first")).more:
        pass
    queue.close()


def _index_vectors(agent: AgentSettings) -> float:
    queue = SqliteQueue(queue_path(agent.state_dir))
    executor = EmbeddedExecutor(queue)
    began = time.perf_counter()
    outcomes = executor.run([agent])
    BatchWait([agent], queue, executor).run(outcomes)
    seconds = time.perf_counter() - began
    assert outcomes[agent.agent].vectors_waiting == 0, outcomes
    queue.close()
    return seconds


def _endpoint_alone(agent: AgentSettings, served: Endpoint) -> float:
    """The same texts in the same requests, as many at once, and nothing done with the answers."""
    options = choose_provider(agent).options
    assert options is not None
    embedder = create_embedder(options)
    limits = embedder.limits
    embedder.close()
    texts = _texts(agent)
    bodies = [
        json.dumps({"model": "bench", "input": [texts[n] for n in numbers], "encoding_format": "float"})
        for numbers in pack(texts, limits)
    ]
    headers = {"Authorization": f"Bearer {served.key}", "Content-Type": "application/json"}
    with httpx.Client(headers=headers, timeout=60) as client, ThreadPoolExecutor(limits.parallel_requests) as pool:
        began = time.perf_counter()
        for reply in pool.map(lambda body: client.post(f"{served.url}/embeddings", content=body), bodies):
            reply.raise_for_status()
        return time.perf_counter() - began


def _texts(agent: AgentSettings) -> list[str]:
    reader = IndexReader(agent.index_path)
    found = [
        str(text) for (text,) in fetch(reader.connection, "SELECT text FROM chunks GROUP BY hash ORDER BY min(id)")
    ]
    reader.close()
    return found


def _chunks(agent: AgentSettings) -> int:
    reader = IndexReader(agent.index_path)
    [(count,)] = fetch(reader.connection, "SELECT count(*) FROM chunks")
    reader.close()
    return int(count)


def _forget(agent: AgentSettings) -> None:
    for file in agent.index_path.parent.iterdir():
        file.unlink()
