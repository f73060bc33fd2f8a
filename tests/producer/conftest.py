"""Agents with real folders, a real producer with short times, and a sender that remembers or a real queue."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from recallite.config import Settings, load_settings
from recallite.errors import QueueUnreachableError
from recallite.testing.workspaces import write_config
from recallite.work import SCAN, Lane
from recallite_producer.outbox import Sender
from recallite_producer.service import ProducerService
from recallite_producer.timers import ProducerTimes

DEBOUNCE_MS = 80
QUIET_TIMES = ProducerTimes(
    scan_seconds=900, sweep_seconds=900, check_seconds=0.2, poll_seconds=0.2, status_seconds=0.2
)
"""No timer marks anything within a test, so that each mark comes from an event or a repair."""


def until(condition: Callable[[], object], *, seconds: float = 40.0, what: str = "", seen: object = None) -> None:
    """Wait until the condition holds; fail at the deadline, and show what was `seen` instead."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds} s: {what or condition}; seen: {seen}")
        time.sleep(0.01)


class Recorder:
    """A sender that remembers what it was given, and fails when told to."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, str, Lane]] = []
        self.calls = 0
        self.sweeps = 0
        self.scanned_at: dict[str, float] = {}
        """When an agent's last scan came, on the clock of `time.monotonic`."""
        self.error: Exception | None = None
        self._lock = threading.Lock()

    def dirty(self, agent: str, paths: Sequence[str], *, lane: Lane = "live") -> None:
        with self._lock:
            if self.error is not None:
                raise self.error
            self.calls += 1
            self.sent.extend((agent, path, lane) for path in paths)
            if SCAN in paths:
                self.scanned_at[agent] = time.monotonic()

    def sweep(self) -> None:
        if self.error is not None:
            raise self.error
        self.sweeps += 1

    def fail(self) -> None:
        self.error = QueueUnreachableError("nobody answers")

    def paths(self, agent: str = "main") -> list[str]:
        """What was marked for an agent, scans left out, in order and with repetitions."""
        with self._lock:
            return [path for name, path, _ in self.sent if name == agent and path != SCAN]

    def scans(self, agent: str = "main") -> int:
        with self._lock:
            return sum(1 for name, path, _ in self.sent if name == agent and path == SCAN)

    def clear(self) -> None:
        with self._lock:
            self.sent.clear()
            self.calls = 0


@dataclass
class Rig:
    """Agents below one temporary directory."""

    root: Path
    agents: tuple[str, ...] = ("main",)
    debounce_ms: int = DEBOUNCE_MS
    memory_search: dict[str, Any] = field(default_factory=dict)
    sync: dict[str, Any] = field(default_factory=dict)
    sender: Recorder = field(default_factory=Recorder)
    _services: list[ProducerService] = field(default_factory=list)

    def workspace(self, agent: str = "main") -> Path:
        return self.root / agent

    @property
    def memory(self) -> Path:
        return self.workspace() / "memory"

    @property
    def state_dir(self) -> Path:
        return self.root / "state"

    def settings(self) -> Settings:
        sync = {"watchDebounceMs": self.debounce_ms, **self.sync}
        config = {
            "agents": {
                "defaults": {"memorySearch": {"sync": sync, **self.memory_search}},
                "list": [{"id": agent, "workspace": str(self.workspace(agent))} for agent in self.agents],
            }
        }
        file = write_config(self.root / "openclaw.json", config)
        return load_settings(file, env={"OPENCLAW_STATE_DIR": str(self.state_dir)})

    def start(
        self, sender: Sender | None = None, times: ProducerTimes = QUIET_TIMES, **options: Any
    ) -> ProducerService:
        """A running producer whose start scans have been sent and forgotten."""
        service = ProducerService(self.settings(), sender or self.sender, times=times, **options)
        self._services.append(service)
        service.start()
        until(lambda: service.health().state == "running", what="the producer has started")
        if sender is None and self.sender.error is None:
            until(lambda: all(self.sender.scans(agent) for agent in self.agents), what="the scans of the start")
            self.sender.clear()
        return service

    @staticmethod
    def until(condition: Callable[[], object], *, seconds: float = 40.0, what: str = "") -> None:
        """Wait until the condition holds; fail at the deadline."""
        until(condition, seconds=seconds, what=what)

    def expect(self, *paths: str, agent: str = "main") -> None:
        """Wait until all the paths are marked."""
        until(lambda: set(paths) <= set(self.sender.paths(agent)), what=f"{paths} to be marked", seen=self.sender.sent)

    def expect_scan(self, agent: str = "main") -> None:
        until(lambda: self.sender.scans(agent), what=f"a scan of {agent}", seen=self.sender.sent)

    def expect_nothing_else(self, *paths: str) -> None:
        """After one more edit, which comes last, nothing but the paths and that edit is marked."""
        (self.memory / "last.md").write_text("the last edit")
        self.expect("memory/last.md")
        assert set(self.sender.paths()) == {*paths, "memory/last.md"}
        assert self.sender.scans() == 0

    def close(self) -> None:
        for service in self._services:
            service.stop(5.0)


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    made = Rig(tmp_path)
    made.memory.mkdir(parents=True)
    yield made
    made.close()


@pytest.fixture
def make_rig(tmp_path: Path) -> Iterator[Callable[..., Rig]]:
    rigs: list[Rig] = []

    def make(**options: Any) -> Rig:
        rigs.append(Rig(tmp_path, **options))
        for agent in rigs[-1].agents:
            (rigs[-1].workspace(agent) / "memory").mkdir(parents=True, exist_ok=True)
        return rigs[-1]

    yield make
    for made in rigs:
        made.close()
