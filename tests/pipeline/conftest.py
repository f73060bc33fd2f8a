"""One agent with real notes, a real index and the deterministic embedder."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import apsw
import pytest

from recallite import AgentSettings, IndexStatus, MemorySearch, SearchReply, load_settings
from recallite.embeddings.choice import ProviderChoice
from recallite.embeddings.options import ProviderOptions
from recallite.embeddings.protocol import Embedder
from recallite.embeddings.registry import create_embedder
from recallite.index.rows import Row, fetch
from recallite.search.questions import QuestionEmbedder
from recallite.testing.embedder import DeterministicEmbedder
from recallite.testing.workspaces import write_config
from recallite.transcripts import ALL_TRANSCRIPTS
from recallite.work import SCAN
from recallite.work.sqlite import SqliteQueue, queue_path
from recallite_worker.executor import AgentOutcome, EmbeddedExecutor
from recallite_worker.results import SyncResult
from recallite_worker.sync import SLICE_SECONDS, sync_agent
from recallite_worker.vector_stage import EmbedderFactory


class Counting:
    """An embedder factory that keeps the texts it was asked for."""

    def __init__(self) -> None:
        self.embedder = DeterministicEmbedder(dims=64, model="test-64")

    def __call__(self, settings: AgentSettings) -> tuple[Embedder, None]:
        return self.embedder, None

    @property
    def texts(self) -> list[str]:
        return self.embedder.embedded


@dataclass
class Lab:
    """An agent's workspace in a temporary directory, and ways to index and search it."""

    root: Path
    memory_search: dict[str, Any] = field(default_factory=dict)
    config: dict[str, Any] = field(default_factory=dict)
    """The rest of openclaw.json."""
    providers: dict[str, Any] = field(default_factory=dict)
    model: str | None = "test-64"
    """Model of the deterministic embedder; None searches by keyword only."""
    _open: list[MemorySearch] = field(default_factory=list)

    @property
    def workspace(self) -> Path:
        return self.root / "workspace"

    @property
    def settings(self) -> AgentSettings:
        defaults = {"workspace": str(self.workspace), "memorySearch": self.memory_search}
        config: dict[str, Any] = {"agents": {"defaults": defaults}, **self.config}
        if self.providers:
            config["models"] = {"providers": self.providers}
        file = write_config(self.root / "openclaw.json", config)
        return load_settings(file, env={"OPENCLAW_STATE_DIR": str(self.root / "state")}).agent(None)

    def note(self, path: str, text: str | bytes) -> Path:
        """Write a note; returns where."""
        target = self.workspace / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text.encode() if isinstance(text, str) else text)
        return target

    def settle(self) -> None:
        """Let the files' times be older than the grain of the file system's clock."""
        newest = max(path.stat().st_ctime_ns for path in self.root.rglob("*.md"))
        while time.time_ns() - newest < 25_000_000:
            time.sleep(0.005)

    @property
    def sessions(self) -> Path:
        """The folder of the agent's transcripts."""
        return self.settings.sessions_dir

    def sync(self, *marks: str, seconds: float = SLICE_SECONDS, **options: Any) -> SyncResult:
        """One slice for these marks."""
        settings = self.settings
        queue = SqliteQueue(queue_path(settings.state_dir))
        try:
            queue.mark(settings.agent, marks)
            return sync_agent(settings, queue, **{"embedders": self.embedders, "seconds": seconds, **options})
        finally:
            queue.close()

    @property
    def options(self) -> ProviderOptions:
        assert self.model is not None
        return ProviderOptions("test", model=self.model, dimensions=int(self.model.removeprefix("test-")))

    def embedders(self, settings: AgentSettings) -> tuple[Embedder | None, str | None]:
        if self.model is None:
            return None, "no provider in this test"
        return create_embedder(self.options), None

    def index(self, *, rebuild: bool = False, embedders: EmbedderFactory | None = None) -> AgentOutcome:
        """`recallite index`, in this process."""
        settings = self.settings
        queue = SqliteQueue(queue_path(settings.state_dir))
        try:
            queue.mark(settings.agent, [SCAN, ALL_TRANSCRIPTS])
            executor = EmbeddedExecutor(queue, embedders=embedders or self.embedders)
            return executor.run([settings], rebuild=rebuild)[settings.agent]
        finally:
            queue.close()

    def memory(self) -> MemorySearch:
        """The public class, with the deterministic embedder for questions."""
        memory = MemorySearch(settings=self.settings)
        options = self.options if self.model is not None else None
        choice = ProviderChoice("test", options, None if options else "no provider in this test")
        memory._choice = choice
        memory._questions = QuestionEmbedder(choice)
        memory._searcher._questions = memory._questions
        self._open.append(memory)
        return memory

    def real_status(self) -> IndexStatus:
        """Status as any program sees it, with the provider that the settings ask for."""
        with MemorySearch(settings=self.settings) as memory:
            return memory.status()

    @property
    def account(self) -> str:
        """How the queue calls the account of the configured provider."""
        from recallite.embeddings.choice import choose_provider
        from recallite_worker.pacing import account_key

        options = choose_provider(self.settings).options
        assert options is not None
        return account_key(options)

    def has_all_vectors(self) -> bool:
        """Whether every chunk has its vector and nothing is amiss."""
        status = self.real_status()
        return status.vectors.indexed == status.chunks and status.health == "ok"

    def search(self, query: str, **options: Any) -> SearchReply:
        return self.memory().search(query, **options)

    def paths(self, query: str, **options: Any) -> list[str]:
        return [hit.path for hit in self.search(query, **options).hits]

    def run(
        self, *arguments: str, check: bool = True, before_start: Callable[[], None] | None = None, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """The command line, in a process of its own; by keyword, unless the environment has a key."""
        _ = self.settings
        env = {**os.environ, "OPENCLAW_STATE_DIR": str(self.root / "state"), **environment}
        command = [sys.executable, "-m", "recallite.cli.main", "--config", str(self.root / "openclaw.json")]
        options: dict[str, Any] = {"capture_output": True, "text": True, "timeout": 120, "preexec_fn": before_start}
        done = subprocess.run([*command, *arguments], env=env, **options)
        assert not check or done.returncode == 0, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    def counting(self) -> Counting:
        return Counting()

    def session_chunks(self) -> list[Row]:
        """Path, place, lines, hash and text of all chunks of transcripts in the newest generation."""
        uri = f"file:{self.settings.index_path}?mode=ro"
        connection = apsw.Connection(uri, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
        try:
            return fetch(
                connection,
                "SELECT f.path, c.ord, c.start_line, c.end_line, c.hash, c.text FROM files f "
                "JOIN chunks c ON c.file_id = f.id WHERE f.source = 'sessions' "
                "AND f.generation = (SELECT max(id) FROM generations) ORDER BY f.path, c.ord",
            )
        finally:
            connection.close()

    def session_chunks_made_anew(self, make_lab: Callable[..., Lab]) -> list[Row]:
        """The chunks of an index that is made from the same transcripts in one go."""
        other = make_lab("anew", memory_search=self.memory_search)
        other.sessions.mkdir(parents=True)
        for file in self.sessions.iterdir():
            (other.sessions / file.name).write_bytes(file.read_bytes())
        other.index()
        return other.session_chunks()

    def close(self) -> None:
        for memory in self._open:
            memory.close()


@pytest.fixture
def make_lab(tmp_path: Path) -> Iterator[Callable[..., Lab]]:
    labs: list[Lab] = []

    def make(name: str = "lab", **options: Any) -> Lab:
        root = tmp_path / name
        root.mkdir()
        labs.append(Lab(root, **options))
        labs[-1].workspace.mkdir()
        return labs[-1]

    yield make
    for lab in labs:
        lab.close()


@pytest.fixture
def lab(make_lab: Callable[..., Lab]) -> Lab:
    return make_lab()
