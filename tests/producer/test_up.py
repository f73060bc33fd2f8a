"""`recallite up` and `recallite watch` as processes."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from recallite import IndexMissingError, MemorySearch
from recallite.testing.transcripts import append, assistant, dialogue, write_transcript
from recallite.work.sqlite import SqliteQueue, queue_path
from recallite_producer.embedded import Indexer
from recallite_producer.status import status_path

if TYPE_CHECKING:
    from conftest import Rig

pytestmark = pytest.mark.skipif(
    not entry_points(group="recallite.services", name="embedded"), reason="recallite-worker is not installed"
)


class Running:
    """A command in a process of its own, with the agents of a rig and no provider."""

    def __init__(self, rig: Rig, *arguments: str) -> None:
        rig.settings()
        self.rig = rig
        self._log = rig.root / f"log-{time.monotonic_ns()}"
        with self._log.open("w") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "recallite.cli.main", "--config", str(rig.root / "openclaw.json"), *arguments],
                env={**os.environ, "OPENCLAW_STATE_DIR": str(rig.state_dir)},
                stderr=log,
            )

    @property
    def log(self) -> str:
        return self._log.read_text()

    def wait_until_watching(self) -> None:
        self.rig.until(lambda: "watching " in self.log or self.process.poll() is not None, seconds=30)
        assert self.process.poll() is None, self.log

    def end(self, number: int = signal.SIGTERM) -> tuple[int, float]:
        """The exit code, and the seconds that the end took."""
        began = time.monotonic()
        self.process.send_signal(number)
        return self.process.wait(30), time.monotonic() - began


@pytest.fixture
def start(make_rig: Callable[..., Rig]) -> Iterator[Callable[..., Running]]:
    running: list[Running] = []

    def begin(rig: Rig, *arguments: str) -> Running:
        running.append(Running(rig, *arguments))
        return running[-1]

    yield begin
    for each in running:
        if each.process.poll() is None:
            each.process.kill()
            each.process.wait(10)


@pytest.fixture(autouse=True)
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "RECALLITE_BROKER_URL", "RECALLITE_BROKER_FILE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def keyword_rig(make_rig: Callable[..., Rig]) -> Rig:
    return make_rig(memory_search={"provider": "openai"}, debounce_ms=200)


def finds(rig: Rig, query: str, agent: str = "main") -> list[str]:
    with MemorySearch(settings=rig.settings().agent(agent)) as memory, contextlib.suppress(IndexMissingError):
        return list(dict.fromkeys(hit.path for hit in memory.search(query).hits))
    return []


def marks(rig: Rig, agent: str = "main") -> list[str]:
    """What the queue holds for an agent."""
    queue = SqliteQueue(queue_path(rig.state_dir))
    try:
        return [mark.path for mark in queue.claim(agent, 10)]
    finally:
        queue.close()


def test_an_edit_becomes_searchable_and_a_removal_is_forgotten(keyword_rig: Rig, start: Callable[..., Running]) -> None:
    rig = keyword_rig
    (rig.memory / "old.md").write_text("codeword ALPHA-1111")
    up = start(rig, "up", "--verbose")
    up.wait_until_watching()
    rig.until(lambda: finds(rig, "ALPHA-1111") == ["memory/old.md"], what="what was there before")

    began = time.monotonic()
    (rig.memory / "new.md").write_text("codeword ZEBRA-7731")
    rig.until(lambda: finds(rig, "ZEBRA-7731") == ["memory/new.md"])
    assert time.monotonic() - began < 0.2 + 2.0
    (rig.memory / "old.md").unlink()
    rig.until(lambda: finds(rig, "ALPHA-1111") == [])

    code, seconds = up.end()
    assert (code, seconds < 10) == (0, True), up.log
    assert "ZEBRA" not in up.log, "no note text in the log"
    assert json.loads(status_path(rig.state_dir).read_text())["state"] == "stopped"


def test_a_second_one_says_who_holds_the_state_directory(keyword_rig: Rig, start: Callable[..., Running]) -> None:
    first = start(keyword_rig, "up")
    first.wait_until_watching()

    for command in (["up"], ["watch", "--broker", "redis://localhost:1/0"]):
        second = start(keyword_rig, *command)
        assert second.process.wait(30) == 1
        assert f"`recallite up` (process {first.process.pid} on " in second.log
    assert first.process.poll() is None
    assert first.end(signal.SIGINT)[0] == 130


def test_an_edit_inside_the_debounce_outlives_sigterm(
    make_rig: Callable[..., Rig], start: Callable[..., Running]
) -> None:
    rig = make_rig(memory_search={"provider": "openai"}, debounce_ms=60_000)
    up = start(rig, "up")
    up.wait_until_watching()
    rig.until(lambda: marks(rig) == [], what="the scan of the start")
    (rig.memory / "a.md").write_text("codeword ZEBRA-7731")
    rig.until(lambda: json.loads(status_path(rig.state_dir).read_text())["waiting"] == 1)
    code, seconds = up.end()

    assert (code, seconds < 10) == (0, True), up.log
    assert marks(rig) == ["memory/a.md"] or finds(rig, "ZEBRA-7731") == ["memory/a.md"]


def test_sigterm_in_the_middle_of_work_ends_it_within_ten_seconds_and_the_next_start_goes_on(
    keyword_rig: Rig, start: Callable[..., Running]
) -> None:
    rig = keyword_rig
    for number in range(1_000):
        (rig.memory / f"{number}.md").write_text(f"# {number}\n\n" + f"word{number} and more text. " * 200)
    up = start(rig, "up")
    up.wait_until_watching()
    rig.until(lambda: rig.settings().agent(None).index_path.exists())
    code, seconds = up.end()
    assert (code, seconds < 10) == (0, True), up.log

    again = start(rig, "up")
    rig.until(lambda: finds(rig, "word999") == ["memory/999.md"], seconds=30)
    again.end()


def test_a_killed_one_is_followed_by_the_next(keyword_rig: Rig, start: Callable[..., Running]) -> None:
    first = start(keyword_rig, "up")
    first.wait_until_watching()
    first.end(signal.SIGKILL)
    (keyword_rig.memory / "a.md").write_text("codeword ZEBRA-7731")

    second = start(keyword_rig, "up")
    second.wait_until_watching()
    keyword_rig.until(lambda: finds(keyword_rig, "ZEBRA-7731") == ["memory/a.md"])


def test_watch_without_a_broker_points_to_up(keyword_rig: Rig, start: Callable[..., Running]) -> None:
    watch = start(keyword_rig, "watch")

    assert watch.process.wait(30) == 2
    assert "recallite up" in watch.log


def test_a_second_signal_ends_the_process_at_once() -> None:
    code = (
        "import os, signal, time; from recallite_producer.process import StopSignals\n"
        "with StopSignals() as signals:\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "    assert signals.wait(5.0) == signal.SIGTERM\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "    time.sleep(5.0)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -signal.SIGTERM


def test_an_indexer_that_ended_is_started_again() -> None:
    made: list[FakeService] = []

    class FakeService:
        def __init__(self, settings: object, queue: object) -> None:
            self.alive, self.published = False, list[str]()
            made.append(self)

        def start(self) -> None:
            self.alive = True

        def publish(self, agent: str, lane: str, *, after_seconds: float = 0.0) -> None:
            self.published.append(agent)

        def on_the_way(self, lane: str) -> tuple[str, ...]:
            return ()

        def is_alive(self) -> bool:
            return self.alive

        def stop(self, timeout_seconds: float) -> bool:
            return True

    indexer = Indexer(FakeService, None, None)  # type: ignore[arg-type]
    indexer.start()
    indexer.keep_alive()
    assert len(made) == 1

    made[0].alive = False
    indexer.keep_alive()
    indexer.publish("a", "live")
    assert len(made) == 2
    assert (made[1].alive, made[1].published) == (True, ["a"])


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
def test_with_50_agents_and_nothing_to_do_it_needs_less_than_a_hundredth_of_a_core(
    make_rig: Callable[..., Rig], start: Callable[..., Running]
) -> None:
    agents = tuple(f"agent-{number}" for number in range(50))
    rig = make_rig(agents=agents, memory_search={"provider": "openai"})
    for agent in agents:
        for number in range(10):
            (rig.workspace(agent) / "memory" / f"{number}.md").write_text(f"note {number} of {agent}")
    up = start(rig, "up")
    up.wait_until_watching()
    rig.until(lambda: all(finds(rig, f"note 9 of {agent}", agent) for agent in agents), seconds=60, what="all indexed")
    rig.until(lambda: not any(marks(rig, agent) for agent in agents), seconds=60, what="all is done")

    def cpu_seconds() -> float:
        fields = Path(f"/proc/{up.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    time.sleep(1.0)  # the last slice of the last agent
    used, began = cpu_seconds(), time.monotonic()
    time.sleep(10.0)
    share = (cpu_seconds() - used) / (time.monotonic() - began)
    print(f"idle CPU of `up` with 50 agents: {share:.2%} of a core")
    assert share < 0.01
    assert up.end()[0] == 0, up.log


def test_a_sentence_is_found_seconds_after_its_session_crosses_the_threshold(
    make_rig: Callable[..., Rig], start: Callable[..., Running]
) -> None:
    memory_search = {
        "provider": "openai",
        "sources": ["memory", "sessions"],
        "experimental": {"sessionMemory": True},
    }
    rig = make_rig(memory_search=memory_search, debounce_ms=200, sync={"sessions": {"deltaMessages": 10}})
    folder = rig.settings().agent(None).sessions_dir
    path = write_transcript(folder, "a.jsonl", dialogue(5))
    up = start(rig, "up", "--verbose")
    up.wait_until_watching()

    append(path, assistant("codeword ZEBRA-7731"))
    (rig.memory / "later.md").write_text("codeword ALPHA-1111")
    rig.until(lambda: finds(rig, "ALPHA-1111") == ["memory/later.md"])
    below = finds(rig, "ZEBRA-7731")
    append(path, dialogue(5, first=5))
    rig.until(lambda: finds(rig, "ZEBRA-7731") == ["sessions/a.jsonl"])

    append(path, assistant("codeword GAMMA-3333"))
    with MemorySearch(settings=rig.settings().agent(None)) as memory:
        memory.search("anything", session="a new one")
    rig.until(lambda: "sessions/a.jsonl" in finds(rig, "GAMMA-3333"), what="what a session's start asks for")
    path.rename(path.with_name("a.jsonl.deleted.2026-02-10T09-00-00.000Z"))
    rig.until(lambda: finds(rig, "ZEBRA-7731") == [])

    assert below == []
    assert up.end()[0] == 0
    assert "ZEBRA" not in up.log, "no text in the log"
