"""Hybrid search in process over 20 000 chunks of 1 536 dimensions, beside its two engines on the same file."""

from __future__ import annotations

import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np

from benchmarks.corpus import EXAMPLES, write_config, write_notes
from benchmarks.report import Report
from recallite import MemorySearch, load_settings
from recallite.embeddings.choice import ProviderChoice
from recallite.embeddings.options import ProviderOptions
from recallite.index.connection import IndexReader
from recallite.index.extension import VectorExtension
from recallite.index.rows import fetch
from recallite.index.schema import fts_table, vec_table
from recallite.search.questions import QuestionEmbedder
from recallite.testing.embedder import DeterministicEmbedder
from recallite.work import SCAN
from recallite.work.sqlite import SqliteQueue, queue_path
from recallite_worker.executor import EmbeddedExecutor

T = TypeVar("T")
CHUNKS, DIMS, QUERIES = 20_000, 1536, 60


def run() -> Report:
    report = Report(f"Search in process ({CHUNKS} chunks × {DIMS} dimensions, CPU time, one thread)")
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        write_notes(root / "workspace", notes=CHUNKS, characters=1000)
        settings = load_settings(write_config(root), env={**os.environ, "OPENCLAW_STATE_DIR": f"{name}/state"})
        agent = settings.agent()
        queue = SqliteQueue(queue_path(agent.state_dir))
        queue.mark(agent.agent, [SCAN])
        embedder = DeterministicEmbedder(dims=DIMS, model=f"test-{DIMS}", keep=False)
        before = time.process_time()
        EmbeddedExecutor(queue, embedders=lambda settings: (embedder, None)).run([agent])
        report.add("indexing it", time.process_time() - before, "CPU s")
        queue.close()
        queries = _queries()
        reader = IndexReader(agent.index_path)
        assert VectorExtension().load(reader.connection) is None
        with reader.reading():
            snapshot = reader.snapshot()
        assert snapshot.space is not None
        table, words = vec_table(snapshot.space.id), fts_table(snapshot.generation)
        vectors = [np.asarray(v, "<f4").tobytes() for v in embedder.embed(queries, kind="query")]
        raw_vec = _times(
            vectors,
            lambda v: fetch(reader.connection, f"SELECT rowid FROM {table} WHERE embedding MATCH ? AND k = 24", (v,)),
        )
        raw_fts = _times(
            queries,
            lambda q: fetch(
                reader.connection, f"SELECT rowid FROM {words} WHERE {words} MATCH ? ORDER BY rank LIMIT 24", (_any(q),)
            ),
        )
        with MemorySearch(settings=agent) as memory:
            options = ProviderOptions("test", model=f"test-{DIMS}", dimensions=DIMS)
            memory._searcher._questions = QuestionEmbedder(ProviderChoice("test", options))
            hybrid = _times(queries, memory.search)
            keyword = _keyword_times(memory, queries)
        for title, times in (
            ("raw vec0, k = 24", raw_vec),
            ("raw FTS5, any word, 24 rows", raw_fts),
            ("hybrid search", hybrid),
            ("keyword search", keyword),
        ):
            report.add(f"{title}, p50", statistics.median(times) * 1000, "ms")
            report.add(f"{title}, p95", sorted(times)[int(len(times) * 0.95)] * 1000, "ms")
        both = statistics.median(raw_vec) + statistics.median(raw_fts)
        report.add("hybrid ÷ (raw vec0 + raw FTS5), p50", statistics.median(hybrid) / both, "times")
    return report


def _queries() -> list[str]:
    rng = random.Random(2)
    lines = [
        line.strip("-*# ")
        for file in sorted(EXAMPLES.rglob("*.md"))
        for line in file.read_text("utf-8").splitlines()
        if len(line.split()) > 5
    ]
    return [" ".join(rng.choice(lines).split()[:7]) for _ in range(QUERIES)]


def _any(query: str) -> str:
    return " OR ".join('"' + word.replace('"', '""') + '"' for word in query.split())


def _times(queries: list[T], ask: Callable[[T], object]) -> list[float]:
    for query in queries[:5]:
        ask(query)
    times = []
    for query in queries:
        before = time.thread_time()
        ask(query)
        times.append(time.thread_time() - before)
    return times


def _keyword_times(memory: MemorySearch, queries: list[str]) -> list[float]:
    memory._searcher._questions = QuestionEmbedder(ProviderChoice("auto", None, "keyword search is measured"))
    return _times(queries, memory.search)
