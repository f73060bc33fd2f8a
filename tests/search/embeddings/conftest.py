"""Fixtures for the providers: a clean environment, a loopback server, an embedder that talks to it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import pytest

from recallite.embeddings import Embedder, ProviderOptions, create_embedder
from recallite.testing.provider_server import PLANTED_KEY, ProviderServer

Connect = Callable[..., Embedder]


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No proxy and no key of the machine reaches a test."""
    for name in list(os.environ):
        if name.lower().endswith("_proxy") or name.startswith("OPENAI_"):
            monkeypatch.delenv(name)


@pytest.fixture
def server() -> Iterator[ProviderServer]:
    with ProviderServer() as running:
        yield running


@pytest.fixture
def connect(server: ProviderServer) -> Iterator[Connect]:
    """Makes embedders for the server; keyword arguments override their options."""
    opened: list[Embedder] = []

    def make(**overrides: object) -> Embedder:
        values: dict[str, object] = {
            "provider": "openai",
            "model": "stub-model",
            "api_key": PLANTED_KEY,
            "base_url": server.url,
            "timeout_seconds": 10.0,
        }
        embedder = create_embedder(ProviderOptions(**{**values, **overrides}))
        opened.append(embedder)
        return embedder

    yield make
    for embedder in opened:
        embedder.close()


@pytest.fixture
def naps() -> list[float]:
    """What a run slept, in seconds, when it is given `naps.append` as its sleep."""
    return []
