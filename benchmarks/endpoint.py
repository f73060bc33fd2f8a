"""A provider's server in a process of its own, so that its CPU is not that of what is measured."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection

from recallite.testing.batch_protocols import OpenAIBatchProtocol
from recallite.testing.batch_service import BatchService
from recallite.testing.provider_server import PLANTED_KEY, ProviderServer


@dataclass(frozen=True, slots=True)
class Traffic:
    """What the server has seen since it was last asked."""

    requests: int
    texts: int
    bytes_in: int
    bytes_out: int
    calls: int
    """Of the batch service."""


class Endpoint:
    """The server as the measuring process sees it."""

    def __init__(self, pipe: Connection, url: str) -> None:
        self._pipe = pipe
        self.url = url
        self.key = PLANTED_KEY

    def traffic(self) -> Traffic:
        """Counts, which begin anew with this."""
        self._pipe.send("traffic")
        found = self._pipe.recv()
        assert isinstance(found, Traffic)
        return found


@contextmanager
def endpoint(*, latency_seconds: float, dims: int) -> Iterator[Endpoint]:
    """Serves for as long as the block lasts."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs, latency_seconds, dims), daemon=True)
    process.start()
    try:
        yield Endpoint(ours, str(ours.recv()))
        ours.send("stop")
    finally:
        process.join(5)
        process.kill()


def _serve(pipe: Connection, latency_seconds: float, dims: int) -> None:
    with ProviderServer(latency_seconds=latency_seconds, dims=dims) as server:
        server.batches = service = BatchService(OpenAIBatchProtocol(), dims=dims)
        pipe.send(server.url)
        calls = 0
        while pipe.recv() == "traffic":
            pipe.send(Traffic(server.requests, server.texts, server.bytes_in, server.bytes_out, service.calls - calls))
            calls = service.calls
            server.forget()
            server.bytes_in = server.bytes_out = 0
