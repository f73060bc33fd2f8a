"""An agent with 120 notes, and a provider with a batch service; slices and looks in this process."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from recallite.testing.batch_protocols import GeminiBatchProtocol, OpenAIBatchProtocol, VoyageBatchProtocol
from recallite.testing.batch_service import BatchService
from recallite.testing.gemini_protocol import GeminiProtocol
from recallite.testing.openai_protocol import OpenAIProtocol
from recallite.testing.provider_server import PLANTED_KEY, ProviderServer
from recallite.work.sqlite import SqliteQueue, queue_path
from recallite_worker import batch_poll
from recallite_worker.batch_poll import poll_agent
from recallite_worker.sync import sync_agent

WIRES: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "openai": (OpenAIProtocol, OpenAIBatchProtocol),
    "voyage": (OpenAIProtocol, VoyageBatchProtocol),
    "gemini": (GeminiProtocol, GeminiBatchProtocol),
}
NOTES = 120


@pytest.fixture(params=list(WIRES))
def served(request, make_lab, monkeypatch: pytest.MonkeyPatch):
    """An agent with 120 notes and a provider that has a batch service."""
    yield from _serve(request.param, make_lab, monkeypatch)


@pytest.fixture
def openai(make_lab, monkeypatch: pytest.MonkeyPatch):
    yield from _serve("openai", make_lab, monkeypatch)


def _serve(provider: str, make_lab, monkeypatch: pytest.MonkeyPatch):
    plain, batch = WIRES[provider]
    for name in ("OPENAI", "VOYAGE", "GEMINI"):
        monkeypatch.setenv(f"{name}_API_KEY", PLANTED_KEY)
    lab = make_lab()
    with ProviderServer(protocol=plain()) as server:
        server.batches = BatchService(batch())
        lab.server, lab.batches, lab.provider = server, server.batches, provider
        url = f"{server.origin}/v1beta" if provider == "gemini" else server.url
        lab.memory_search = {
            "provider": provider,
            "model": "loopback",
            "remote": {"baseUrl": url, "batch": {"enabled": True, "pollIntervalMs": 10}},
        }
        for number in range(NOTES):
            lab.note(f"memory/{number:03}.md", f"note number{number}x of the batch")
        yield lab


class Steps:
    """Slices and looks in this process, with no pause between them and no grace for lost submissions."""

    def __init__(self, lab, queue: SqliteQueue) -> None:
        self._lab, self._queue = lab, queue

    def __call__(self, times: int = 1) -> batch_poll.Poll:
        done = batch_poll.Poll()
        for _ in range(times):
            while sync_agent(self._lab.settings, self._queue).more:
                pass
            done = poll_agent(self._lab.settings, self._queue, grace_seconds=0.0)
        return done

    def until_done(self, seconds: float = 60.0) -> None:
        deadline = time.monotonic() + seconds
        while self._is_busy():
            assert time.monotonic() < deadline, self._lab.real_status().batch
            time.sleep(0.02)

    def _is_busy(self) -> bool:
        if self().next_seconds is not None:
            return True
        status = self._lab.real_status()
        return bool(status.vectors.pending) or status.rebuild is not None or status.vectors.indexed < status.chunks


@pytest.fixture
def step(openai):
    queue = SqliteQueue(queue_path(openai.settings.state_dir))
    queue.mark("main", ["*"])
    openai.queue = queue
    yield Steps(openai, queue)
    queue.close()
