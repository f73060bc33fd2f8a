"""A cluster of real processes: Redis, `recallite worker`, `recallite watch`; pytest-celery's nodes drive them.

pytest-celery's classes want a container; `ProcessContainer` is one without Docker: a process group with a log.
"""

from __future__ import annotations

import os
import signal as signals
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pytest_celery import CeleryBrokerCluster, CeleryTestBroker, CeleryTestWorker

from recallite import AgentSettings, MemorySearch, Settings, load_settings
from recallite.errors import IndexUnusableError
from recallite.testing.provider_server import PLANTED_KEY, ProviderServer
from recallite.testing.redis_server import RedisServer
from recallite.testing.workspaces import write_config
from recallite.work.connect import open_dispatch
from recallite.work.dispatch import Dispatch
from recallite.work.namespace import key_prefix, namespace_of
from recallite_worker.app import make_app

READY_SECONDS = 40.0
SIGNALS = {name: number for name, number in vars(signals).items() if name.startswith("SIG")}


def until(condition: Callable[[], object], seconds: float, what: str = "waited in vain") -> None:
    """Poll until it holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


class ProcessContainer:
    """A process group in place of a container: what `CeleryTestNode` uses of one."""

    def __init__(self, name: str, command: list[str], *, env: dict[str, str], log: Path, ready_text: str) -> None:
        self.name = self.id = name
        self._command, self._env, self._log, self._ready_text = command, env, log, ready_text
        self.process: subprocess.Popen[bytes] | None = None
        self.celeryconfig: dict[str, str] = {}

    def start(self) -> None:
        with self._log.open("ab") as output:
            self.process = subprocess.Popen(
                self._command, env=self._env, stdout=output, stderr=output, start_new_session=True
            )

    @property
    def status(self) -> str:
        return "running" if self.process is not None and self.process.poll() is None else "exited"

    def ready(self) -> bool:
        until(lambda: self._ready_text in self.logs() or self.status != "running", READY_SECONDS, self.logs())
        assert self.status == "running", self.logs()
        return True

    def logs(self) -> str:
        return self._log.read_text("utf-8", errors="replace") if self._log.exists() else ""

    def kill(self, signal: str | int = "SIGKILL") -> None:  # pytest-celery passes it by this name
        number = SIGNALS[signal] if isinstance(signal, str) else signal
        assert self.process is not None
        os.killpg(self.process.pid, number)
        if number in (9, 15, 3):
            self.process.wait(30)

    def restart(self, timeout: float = 10) -> None:
        if self.status == "running":
            self.kill("SIGKILL")
        self.start()

    def reload(self) -> None:
        """Nothing to read anew."""

    def teardown(self) -> None:
        if self.status == "running":
            self.kill("SIGKILL")

    def children(self) -> list[int]:
        """Process ids below the group's leader."""
        assert self.process is not None
        found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(self.process.pid)], capture_output=True, text=True)
        return [int(pid) for pid in found.stdout.split()]


class RedisContainer(ProcessContainer):
    """The test's Redis as a node: kill -9 and start again keep what was in its append-only file."""

    def __init__(self, server: RedisServer) -> None:
        super().__init__("redis", [], env={}, log=server.directory / "log.txt", ready_text="")
        self.server = server
        self.celeryconfig = {"url": server.url, "host_url": server.url}

    @property
    def status(self) -> str:
        return "running" if self.server._process is not None else "exited"

    def ready(self) -> bool:
        return self.server._answers()

    def kill(self, signal: str | int = "SIGKILL") -> None:
        self.server.kill()

    def restart(self, timeout: float = 10) -> None:
        if self.status == "running":
            self.server.kill()
        self.server.start()

    def server_client(self) -> Any:
        """A redis-py client of the server."""
        import redis

        return redis.Redis.from_url(self.server.client_url)

    def teardown(self) -> None:
        """The fixture of the server ends it."""


@dataclass
class Cluster:
    """Agents with notes, a broker, workers and producers."""

    root: Path
    server: RedisServer
    provider: ProviderServer | None = None
    agents: tuple[str, ...] = ("main",)
    memory_search: dict[str, Any] = field(default_factory=dict)
    nodes: list[CeleryTestWorker] = field(default_factory=list)
    others: list[ProcessContainer] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.broker = CeleryTestBroker(RedisContainer(self.server))
        self.brokers = CeleryBrokerCluster(self.broker)
        self.configure()

    def configure(self, **more: Any) -> None:
        """Write openclaw.json. Without a provider server search is by keyword."""
        own: dict[str, Any] = {"provider": "openai", "model": "loopback", **self.memory_search, **more}
        if self.provider is not None:
            own.setdefault("remote", {"baseUrl": self.provider.url, "maxItemsPerRequest": 8})
        entries = [{"id": agent, "workspace": str(self.root / agent)} for agent in self.agents]
        for agent in self.agents:
            (self.root / agent / "memory").mkdir(parents=True, exist_ok=True)
        config = {"agents": {"defaults": {"memorySearch": own}, "list": entries}}
        write_config(self.config, config)

    @property
    def config(self) -> Path:
        return self.root / "openclaw.json"

    @property
    def env(self) -> dict[str, str]:
        env = {**os.environ, "OPENCLAW_STATE_DIR": str(self.root / "state"), "RECALLITE_BROKER_URL": self.server.url}
        env.pop("OPENAI_API_KEY", None)
        return {**env, "OPENAI_API_KEY": PLANTED_KEY} if self.provider is not None else env

    @property
    def prefix(self) -> str:
        """Of the keys of this cluster's state directory."""
        return key_prefix(namespace_of(self.root / "state"))

    @property
    def settings(self) -> Settings:
        return load_settings(self.config, env=self.env)

    def agent(self, agent: str = "main") -> AgentSettings:
        return self.settings.agent(agent)

    def note(self, path: str, text: str, agent: str = "main") -> Path:
        target = self.root / agent / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        return target

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "recallite.cli.main", "--config", str(self.config), *arguments]

    def worker(self, name: str, *options: str) -> CeleryTestWorker:
        """Start `recallite worker`; use `wait_ready` for it to take messages."""
        container = ProcessContainer(
            name,
            self.command("worker", "--name", f"{name}@test", *options),
            env=self.env,
            log=self.root / f"{name}.log",
            ready_text=" ready.",
        )
        container.start()
        self.nodes.append(
            CeleryTestWorker(container, make_app(self.server.url, namespace=namespace_of(self.root / "state")))
        )
        return self.nodes[-1]

    def wait_ready(self) -> None:
        for node in self.nodes:
            node.ready()

    def producer(self, name: str = "producer", *options: str) -> ProcessContainer:
        container = ProcessContainer(
            name, self.command("watch", *options), env=self.env, log=self.root / f"{name}.log", ready_text=""
        )
        container.start()
        self.others.append(container)
        return container

    def dispatch(self) -> Dispatch:
        settings = self.settings
        return open_dispatch(settings, self.server.url, agents=settings.agent_ids)

    def hits(self, query: str, agent: str = "main", **options: Any) -> list[str]:
        """Paths found by keyword; empty while there is no index."""
        from recallite.embeddings.choice import ProviderChoice
        from recallite.search.questions import QuestionEmbedder

        with MemorySearch(settings=self.agent(agent)) as memory:
            memory._searcher._questions = QuestionEmbedder(ProviderChoice("auto", None, "by keyword in this test"))
            try:
                return [hit.path for hit in memory.search(query, **options).hits]
            except IndexUnusableError:
                return []

    def close(self) -> None:
        for node in self.nodes:
            node.teardown()
        for other in self.others:
            other.teardown()


@pytest.fixture(scope="module")
def redis_server() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


@pytest.fixture
def make_cluster(tmp_path: Path, redis_server: RedisServer) -> Iterator[Callable[..., Cluster]]:
    made: list[Cluster] = []

    def make(**options: Any) -> Cluster:
        from recallite.work.redis import RedisQueue

        if redis_server._process is None:
            redis_server.start()
        queue = RedisQueue(redis_server.client_url)
        queue.client.flushall()
        queue.close()
        root = tmp_path / f"cluster-{len(made)}"
        root.mkdir()
        made.append(Cluster(root, redis_server, **options))
        return made[-1]

    yield make
    for cluster in made:
        cluster.close()


@pytest.fixture
def provider() -> Iterator[ProviderServer]:
    with ProviderServer() as server:
        yield server
