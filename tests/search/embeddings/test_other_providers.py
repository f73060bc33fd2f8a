"""voyage, mistral, gemini and ollama against a server that speaks their protocol."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest

from recallite.embeddings import Embedder, EmbeddingFailure, ProviderOptions, create_embedder, embed_all
from recallite.errors import (
    InputRejectedError,
    ProviderAuthError,
    ProviderTransientError,
    ProviderUnavailableError,
    RateLimitedError,
)
from recallite.testing.behaviours import Disconnect, Drip, Hang, Html, NullBody, Status
from recallite.testing.embedder import DeterministicEmbedder
from recallite.testing.gemini_protocol import GeminiProtocol
from recallite.testing.ollama_protocol import OllamaProtocol
from recallite.testing.openai_protocol import OpenAIProtocol
from recallite.testing.provider_server import PLANTED_KEY, ProviderServer

TEXTS = ["the boat is in Lisbon", "the VPN listens on port 51821", "backups go to the second disk"]
PROTOCOLS = {
    "voyage": OpenAIProtocol,
    "mistral": OpenAIProtocol,
    "gemini": GeminiProtocol,
    "ollama": OllamaProtocol,
}


@dataclass
class Place:
    """A provider's server and an embedder for it."""

    provider: str
    server: ProviderServer

    def connect(self, **overrides: object) -> Embedder:
        base_url = self.server.origin if self.provider == "ollama" else self.server.url
        values: dict[str, object] = {"provider": self.provider, "api_key": PLANTED_KEY, "base_url": base_url}
        values |= {"timeout_seconds": 5.0}
        if self.provider == "mistral":
            values["model"] = "stub"  # the real one is known to have 1 024 dimensions
        return create_embedder(ProviderOptions(**{**values, **overrides}))  # type: ignore[arg-type]


@pytest.fixture(params=sorted(PROTOCOLS))
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    with ProviderServer(protocol=PROTOCOLS[request.param]()) as server:
        yield Place(request.param, server)


def test_vectors_come_in_the_order_of_the_texts(place: Place) -> None:
    embedder = place.connect()
    expected = DeterministicEmbedder().embed(TEXTS, kind="document")

    found = embed_all(embedder, TEXTS, kind="document")

    for got, want in zip(found, expected, strict=True):
        assert not isinstance(got, EmbeddingFailure)
        assert np.allclose(got, np.asarray(want), atol=1e-5)
    assert place.server.requests == 1
    assert embedder.space.dims == 64
    embedder.close()


def test_questions_and_documents_are_told_apart_where_the_service_does(place: Place) -> None:
    embedder = place.connect()
    for kind in ("query", "document"):
        embedder.embed(["x"], kind=kind)  # type: ignore[arg-type]
    first, second = place.server.seen
    embedder.close()

    if place.provider == "voyage":
        assert (first.body["input_type"], second.body["input_type"]) == ("query", "document")
    elif place.provider == "gemini":
        assert "RETRIEVAL_QUERY" in str(first.body) and "RETRIEVAL_DOCUMENT" in str(second.body)
    else:
        assert {k: v for k, v in first.body.items() if k != "input"} == {
            k: v for k, v in second.body.items() if k != "input"
        }


@pytest.mark.parametrize(
    ("behaviour", "error"),
    [
        (Status(401), ProviderAuthError),
        (Status(403), ProviderAuthError),
        (Status(429, retry_after=2), RateLimitedError),
        (Status(500), ProviderTransientError),
        (Status(400), InputRejectedError),
        (Html(), ProviderTransientError),
        (NullBody(), ProviderTransientError),
        (Disconnect(), ProviderTransientError),
        (Disconnect(half_way=True), ProviderTransientError),
    ],
)
def test_failures_are_told_apart_and_show_no_secret(place: Place, behaviour, error) -> None:
    embedder = place.connect()
    place.server.next(behaviour)

    with pytest.raises(error) as caught:
        embedder.embed(["a private text"], kind="document")

    assert PLANTED_KEY not in str(caught.value) and "private" not in str(caught.value)
    assert "127.0.0.1" in str(caught.value)
    assert PLANTED_KEY not in repr(embedder)
    embedder.close()


@pytest.mark.parametrize(
    "behaviour", [Hang(30), Drip(interval_seconds=0.2), Drip(interval_seconds=0.2, where="headers")]
)
def test_every_call_ends_by_its_timeout(place: Place, behaviour) -> None:
    import time

    embedder = place.connect(timeout_seconds=0.6)
    place.server.next(behaviour)
    began = time.monotonic()

    with pytest.raises(ProviderTransientError):
        embedder.embed(["x"], kind="document")

    assert time.monotonic() - began < 3
    place.server.next()
    assert embedder.embed(["y"], kind="document")[0] is not None
    embedder.close()


@pytest.mark.parametrize("kind", ["nan", "zeros", "empty", "null", "short", "strings", "missing"])
def test_a_bad_vector_is_a_failure_of_its_text(place: Place, kind) -> None:
    embedder = place.connect()
    place.server.poison(lambda text: "poison" in text, kind)

    found = embed_all(embedder, ["good one", "the poison", "good two"], kind="document", sleep=lambda s: None)

    assert isinstance(found[1], EmbeddingFailure)
    if kind != "missing" or place.provider in ("voyage", "mistral"):
        assert not isinstance(found[0], EmbeddingFailure) and not isinstance(found[2], EmbeddingFailure)
    embedder.close()


def test_a_wrong_key_is_refused() -> None:
    for provider in ("voyage", "mistral", "gemini"):
        with ProviderServer(protocol=PROTOCOLS[provider]()) as server:
            embedder = Place(provider, server).connect(api_key="sk-wrong-key")
            with pytest.raises(ProviderAuthError):
                embedder.embed(["x"], kind="document")
            embedder.close()


def test_an_old_ollama_is_asked_text_by_text() -> None:
    with ProviderServer(protocol=OllamaProtocol(old=True)) as server:
        embedder = Place("ollama", server).connect()
        assert len(embedder.embed(TEXTS, kind="document")) == 3
        assert [request.path for request in server.seen] == ["/api/embeddings"] * 3
        embedder.close()


def test_a_model_that_ollama_has_not_is_named() -> None:
    with ProviderServer(protocol=OllamaProtocol()) as server:
        embedder = Place("ollama", server).connect(model="mxbai")
        with pytest.raises(ProviderUnavailableError, match="mxbai"):
            embedder.embed(["x"], kind="document")
        embedder.close()


@pytest.mark.parametrize("dimensions", [768, 1536, 3072, None])
def test_geminis_preview_model_sends_its_dimensions(dimensions: int | None) -> None:
    with ProviderServer(protocol=GeminiProtocol()) as server:
        embedder = Place("gemini", server).connect(model="models/gemini-embedding-2-preview", dimensions=dimensions)
        assert embedder.space.dims == (dimensions or 3072)
        [vector] = embedder.embed(["x"], kind="document")
        assert vector is not None and len(vector) == (dimensions or 3072)
        embedder.close()


def test_wrong_dimensions_are_refused_before_anything_is_sent() -> None:
    with pytest.raises(ProviderUnavailableError, match="768, 1536, 3072"):
        create_embedder(ProviderOptions("gemini", model="gemini-embedding-2-preview", api_key="k", dimensions=500))


@pytest.mark.parametrize(
    ("provider", "given", "model"),
    [
        ("voyage", "voyage/voyage-3", "voyage-3"),
        ("mistral", None, "mistral-embed"),
        ("gemini", "google/gemini-embedding-001", "gemini-embedding-001"),
        ("ollama", "ollama/all-minilm", "all-minilm"),
        ("ollama", None, "nomic-embed-text"),
        ("voyage", None, "voyage-4-large"),
    ],
)
def test_model_names(provider: str, given: str | None, model: str) -> None:
    embedder = create_embedder(ProviderOptions(provider, model=given, api_key="k"))

    assert embedder.space.model == model
    embedder.close()


def test_proxies_of_the_environment_are_obeyed(monkeypatch: pytest.MonkeyPatch) -> None:
    with ProviderServer() as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.origin)
        embedder = create_embedder(
            ProviderOptions("mistral", model="stub", api_key=PLANTED_KEY, base_url="http://mistral.example/v1")
        )
        embedder.embed(["x"], kind="document")
        embedder.close()

        assert proxy.seen[0].through_proxy


def test_no_proxy_goes_straight(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    embedder = place.connect()

    assert embedder.embed(["x"], kind="document")[0] is not None
    embedder.close()
