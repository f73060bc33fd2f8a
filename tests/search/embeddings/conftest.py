"""Fixtures for the providers: a clean environment, a loopback server, an embedder that talks to it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from recallite.embeddings import BadVector, Embedder, ProviderOptions, check_vectors, create_embedder
from recallite.testing.embedder import DeterministicEmbedder
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
def good_vectors() -> Callable[[Embedder], list[int]]:
    """Embeds three texts; the numbers of those that got the vector which the server computes for them."""
    texts = ["the boat is in Lisbon", "the VPN listens on port 51821", "backups go to the second disk"]
    true = DeterministicEmbedder().embed(texts, kind="document")

    def numbers(embedder: Embedder) -> list[int]:
        checked = check_vectors(embedder.embed(texts, kind="document"), expected=len(texts), dims=64)
        return [
            number
            for number, (got, want) in enumerate(zip(checked, true, strict=True))
            if not isinstance(got, BadVector) and np.allclose(got, want, atol=1e-6)
        ]

    return numbers


@pytest.fixture
def naps() -> list[float]:
    """What a run slept, in seconds, when it is given `naps.append` as its sleep."""
    return []
