"""A transcript of 100 MB: extracting what was said, indexing it, and an append to it."""

from __future__ import annotations

import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import apsw

from benchmarks.corpus import EXAMPLES, write_config
from benchmarks.report import Report
from recallite import AgentSettings, load_settings
from recallite.index.rows import fetch
from recallite.testing.transcripts import append, assistant, header, tool_result, user
from recallite.transcripts import ALL_TRANSCRIPTS, TranscriptReader
from recallite.work import SCAN
from recallite.work.sqlite import SqliteQueue, queue_path
from recallite_worker.executor import EmbeddedExecutor
from recallite_worker.sync import sync_agent

LINES = 200_000
BYTES = 100_000_000
_LIMIT_MB = 200
_SESSIONS: dict[str, object] = {"sources": ["memory", "sessions"], "experimental": {"sessionMemory": True}}


def run() -> Report:
    report = Report(f"Transcripts ({LINES} lines, {BYTES / 1e6:.0f} MB, CPU time; without embedding)")
    with tempfile.TemporaryDirectory() as name:
        agent = _agent(Path(name))
        path = agent.sessions_dir / "long.jsonl"
        path.parent.mkdir(parents=True)
        report.add("transcript", write(path) / 1e6, "MB")
        plain = min(_seconds(lambda: _read_and_parse(path)) for _ in range(2))
        ours = min(_seconds(lambda: _extract(path)) for _ in range(2))
        report.add("reading and parsing it (json.loads)", plain, "s")
        report.add("extracting what was said, redacted and mapped", ours, "s")
        report.add("the second to the first", ours / plain, "times", at_most=3.0)
        notes = _rate_of_notes(Path(name) / "notes", path)
        sessions = _rate(agent)
        report.add("text in chunks, per CPU second", sessions, "MB/s")
        report.add("the same of notes with the same text", notes, "MB/s")
        report.add("the first to the second", sessions / notes, "times", at_least=0.8)
        report.add("memory of a process that indexes it", _memory(agent), "MB", at_most=_LIMIT_MB)
        append(path, *(user(text) for text in _texts(random.Random(7), 60)))
        report.add("an append of 60 messages", _append(agent) * 1000, "ms", at_most=50)
    return report


def write(path: Path) -> int:
    """Messages of both sides and results of tools, of the words of the example notes; the bytes written."""
    rng = random.Random(3)
    texts = _texts(rng, 2000)
    result = tool_result(" ".join(texts[:4])[:430])
    kinds = (user, assistant, lambda text: result)
    with path.open("wb") as file:
        file.write(header())
        written = 0
        for number in range(LINES - 1):
            line = rng.choice(kinds)(f"{rng.choice(texts)} {number}")
            room = (BYTES - written) // (LINES - number)
            line = line if number % 10 or len(line) >= room else user("word " * (room // 5))
            written += file.write(line)
    return written


def _texts(rng: random.Random, count: int) -> list[str]:
    words = [word for file in sorted(EXAMPLES.rglob("*.md")) for word in file.read_text("utf-8").split()]
    return [" ".join(rng.choices(words, k=rng.randint(3, 30))) for _ in range(count)]


def _agent(root: Path) -> AgentSettings:
    root.mkdir(parents=True, exist_ok=True)
    (root / "workspace").mkdir(exist_ok=True)
    config = write_config(root, **_SESSIONS)
    return load_settings(config, env={**os.environ, "OPENCLAW_STATE_DIR": f"{root}/state"}).agent()


def _read_and_parse(path: Path) -> None:
    with path.open("rb") as file:
        for line in file:
            json.loads(line)


def _extract(path: Path) -> None:
    with path.open("rb") as file:
        for _ in TranscriptReader(file, end=path.stat().st_size):
            pass


def _seconds(action: Callable[[], None]) -> float:
    before = time.process_time()
    action()
    return time.process_time() - before


def _rate_of_notes(root: Path, transcript: Path) -> float:
    """Of notes that hold what is said in the transcript, 500 messages each."""
    agent = _agent(root)
    with transcript.open("rb") as file:
        texts = [message.text for message in TranscriptReader(file, end=transcript.stat().st_size)]
    folder = agent.workspace / "memory"
    folder.mkdir()
    for start in range(0, len(texts), 500):
        (folder / f"{start}.md").write_text("\n".join(texts[start : start + 500]), "utf-8")
    return _rate(agent)


def _rate(agent: AgentSettings) -> float:
    """Million characters of chunks, overlap included, that are indexed in a CPU second: what FTS5 has to do."""
    before = time.process_time()
    _index(agent)
    spent = time.process_time() - before
    connection = apsw.Connection(str(agent.index_path))
    characters = fetch(connection, "SELECT sum(length(text)) FROM chunks")[0][0]
    connection.close()
    return float(characters) / 1e6 / spent


def _index(agent: AgentSettings) -> None:
    queue = SqliteQueue(queue_path(agent.state_dir))
    queue.mark(agent.agent, [SCAN, ALL_TRANSCRIPTS])
    EmbeddedExecutor(queue, embedders=lambda settings: (None, "not measured")).run([agent])
    queue.close()


def _append(agent: AgentSettings) -> float:
    """CPU seconds of the slice that a mark of the transcript causes; the second of two, when all is loaded."""
    queue = SqliteQueue(queue_path(agent.state_dir))
    path = agent.sessions_dir / "long.jsonl"
    spent = 0.0
    for seed in (1, 2):
        append(path, *(user(text) for text in _texts(random.Random(seed), 60)))
        queue.mark(agent.agent, ["sessions/long.jsonl"])
        before = time.process_time()
        sync_agent(agent, queue, lane="live", embedders=lambda settings: (None, "not measured"))
        spent = time.process_time() - before
    queue.close()
    return spent


def _memory(agent: AgentSettings) -> float:
    """Greatest size of a process of its own that indexes the transcript from nothing, in MB."""
    agent.index_path.unlink()
    for beside in agent.index_path.parent.glob(f"{agent.index_path.name}-*"):
        beside.unlink()
    code = "import sys; from benchmarks.transcripts import index_and_tell_memory; index_and_tell_memory(sys.argv[1])"
    root = str(agent.workspace.parent)
    done = subprocess.run([sys.executable, "-c", code, root], capture_output=True, text=True, check=True)
    return float(done.stdout)


def index_and_tell_memory(root: str) -> None:
    """Index the agent below `root`, and print how large this process became, in MB."""
    _index(_agent(Path(root)))
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


if __name__ == "__main__":
    print(run().table())
