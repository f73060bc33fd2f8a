"""The distributed pipeline: one and two worker processes, messages per file, and the time from a save to a hit."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.corpus import write_notes
from benchmarks.report import Report
from recallite import MemorySearch, Settings, load_settings
from recallite.errors import IndexUnusableError
from recallite.testing.redis_server import RedisServer
from recallite.work import SCAN
from recallite.work.connect import open_dispatch

AGENTS, NOTES_PER_AGENT, SAVES = 8, 150, 40
_READY = " ready."


def run() -> Report:
    report = Report(f"Pipeline ({AGENTS} agents × {NOTES_PER_AGENT} notes, keyword only, real Redis and workers)")
    one, chunks, _ = backfill(1)
    two, _, messages = backfill(2)
    report.add("chunks per second, 1 worker process", chunks / one, "/s")
    report.add("chunks per second, 2 worker processes", chunks / two, "/s")
    report.add("2 worker processes ÷ 1", one / two, "times", at_least=1.7)
    report.add("broker messages per 1 000 files", messages / (AGENTS * NOTES_PER_AGENT) * 1000, "")
    times = save_to_hit()
    debounce = 0.1
    report.add(f"save → searchable, p50 (debounce {debounce:g} s included)", statistics.median(times), "s")
    report.add("save → searchable, p95", sorted(times)[int(len(times) * 0.95)], "s", at_most=debounce + 2)
    return report


def backfill(processes: int) -> tuple[float, int, int]:
    """Seconds to index all agents from nothing, chunks, and messages that workers took."""
    with _place() as (root, server, settings):
        workers = [_worker(root, server, f"w{n}", "--pool", "prefork", "--concurrency", "1") for n in range(processes)]
        dispatch = open_dispatch(settings, server.url, agents=settings.agent_ids)
        began = time.perf_counter()
        for agent in settings.agent_ids:
            dispatch.dirty(agent, [SCAN])
        while any(_files(settings, agent) < NOTES_PER_AGENT for agent in settings.agent_ids):
            time.sleep(0.2)  # looking costs the workers' cores
        seconds = time.perf_counter() - began
        chunks = 0
        for agent in settings.agent_ids:
            with MemorySearch(settings=settings.agent(agent)) as memory:
                chunks += memory.status().chunks
        dispatch.close()
        _end(workers)
        return seconds, chunks, sum((root / f"w{n}.log").read_text().count(" received") for n in range(processes))


def save_to_hit() -> list[float]:
    """Seconds from the end of a save to the first hit, through watcher, Redis and worker."""
    with _place() as (root, server, settings):
        worker = _worker(root, server, "w", "--lane", "live")
        producer = _start(root, server, "producer", "watch")
        agent = settings.agent("agent-0")
        note = agent.workspace / "memory" / "edited.md"
        times = []
        with MemorySearch(settings=agent) as memory:
            _wait(memory, note, "warmup")
            for turn in range(SAVES):
                times.append(_wait(memory, note, f"turn{turn}z"))
        _end([worker, producer])
        return times


def _wait(memory: MemorySearch, note: Path, word: str) -> float:
    note.write_text(f"the word is {word}\n")
    began = time.perf_counter()
    while True:
        try:
            if memory.search(word).hits:
                return time.perf_counter() - began
        except IndexUnusableError:
            pass
        time.sleep(0.005)


@contextmanager
def _place() -> Iterator[tuple[Path, RedisServer, Settings]]:
    with tempfile.TemporaryDirectory() as name, RedisServer() as server:
        root = Path(name)
        entries = []
        for number in range(AGENTS):
            write_notes(root / f"agent-{number}", notes=NOTES_PER_AGENT, characters=4000, seed=number)
            entries.append({"id": f"agent-{number}", "workspace": str(root / f"agent-{number}")})
        search = {"provider": "openai", "sync": {"watchDebounceMs": 100}}
        config = {"agents": {"defaults": {"memorySearch": search}, "list": entries}}
        (root / "openclaw.json").write_text(json.dumps(config))
        yield root, server, load_settings(root / "openclaw.json", env=_env(root, server))


def _env(root: Path, server: RedisServer) -> dict[str, str]:
    own = {"OPENCLAW_STATE_DIR": str(root / "state"), "RECALLITE_BROKER_URL": server.url, "OPENAI_API_KEY": ""}
    return {**os.environ, **own}


def _start(root: Path, server: RedisServer, name: str, *arguments: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "recallite.cli.main", "--config", str(root / "openclaw.json"), *arguments]
    with (root / f"{name}.log").open("wb") as log:
        return subprocess.Popen(command, env=_env(root, server), stdout=log, stderr=log)


def _worker(root: Path, server: RedisServer, name: str, *options: str) -> subprocess.Popen[bytes]:
    process = _start(root, server, name, "worker", "--name", f"{name}@bench", *options)
    while _READY not in (root / f"{name}.log").read_text("utf-8", errors="replace"):
        if process.poll() is not None:
            raise RuntimeError((root / f"{name}.log").read_text("utf-8", errors="replace"))
        time.sleep(0.05)
    return process


def _files(settings: Settings, agent: str) -> int:
    import apsw

    path = settings.agent(agent).index_path
    if not path.exists():
        return 0
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    try:
        connection = apsw.Connection(f"file:{path}?mode=ro", flags=flags)
        with connection:
            return int(connection.execute("SELECT count(*) FROM files WHERE state = 'indexed'").fetchall()[0][0])
    except apsw.Error:
        return 0


def _end(processes: list[subprocess.Popen[bytes]]) -> None:
    for process in processes:
        process.terminate()
    for process in processes:
        process.wait(40)
