"""Indexing 1 000 notes with the deterministic embedder, and a run that finds nothing to do."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

from benchmarks.corpus import write_config, write_notes
from benchmarks.report import Report
from recallite import AgentSettings, load_settings
from recallite.testing.embedder import DeterministicEmbedder
from recallite.work import SCAN
from recallite.work.sqlite import SqliteQueue, queue_path
from recallite_worker.executor import AgentOutcome, EmbeddedExecutor


def run() -> Report:
    report = Report("Indexing (1 000 notes, 2 MB, deterministic embedder of 64 dimensions)")
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        size = write_notes(root / "workspace", notes=1000, characters=2000)
        agent = load_settings(write_config(root), env={**os.environ, "OPENCLAW_STATE_DIR": f"{name}/state"}).agent()
        report.add("notes", size / 1e6, "MB")
        outcome, spent = index(agent)
        report.add("chunks", outcome.chunks_added, "")
        report.add("chunks per CPU second, all in", outcome.chunks_added / spent, "/s", at_least=1000)
        time.sleep(0.05)  # past the grain of the file system's clock
        index(agent)
        again, idle = index(agent)
        assert again.files_written == 0
        report.add("a run with nothing to do", idle, "s", at_most=0.5)
        rebuilt, spent = index(agent, rebuild=True)
        report.add("chunks per CPU second, rebuilt from the cache", rebuilt.chunks_added / spent, "/s")
        report.add("index file per chunk", agent.index_path.stat().st_size / rebuilt.chunks_added / 1024, "KB")
    return report


def index(agent: AgentSettings, *, rebuild: bool = False) -> tuple[AgentOutcome, float]:
    """One run; its outcome and CPU seconds, all threads together."""
    queue = SqliteQueue(queue_path(agent.state_dir))
    embedder = DeterministicEmbedder(dims=64, keep=False)
    before = time.process_time()
    queue.mark(agent.agent, [SCAN])
    outcome = EmbeddedExecutor(queue, embedders=lambda settings: (embedder, None)).run([agent], rebuild=rebuild)
    spent = time.process_time() - before
    queue.close()
    return outcome[agent.agent], spent
