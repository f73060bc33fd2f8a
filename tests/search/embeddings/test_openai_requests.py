"""What the OpenAI provider sends, and where to: through the official SDK, to a real server."""

from __future__ import annotations

import base64
from collections.abc import Callable

import pytest

from recallite.embeddings import (
    Embedder,
    EmbeddingFailure,
    Limits,
    ProviderOptions,
    Space,
    create_embedder,
    embed_all,
)
from recallite.errors import (
    ProviderTransientError,
    ProviderUnavailableError,
)
from recallite.testing.provider_server import PLANTED_KEY, ProviderServer

Connect = Callable[..., Embedder]
GoodVectors = Callable[[Embedder], list[int]]
TEXTS = ["the boat is in Lisbon", "the VPN listens on port 51821", "backups go to the second disk"]


def test_texts_come_back_as_their_vectors(connect: Connect, good_vectors: GoodVectors) -> None:
    assert good_vectors(connect()) == [0, 1, 2]


def test_a_request_asks_for_plain_numbers(connect: Connect, server: ProviderServer) -> None:
    connect().embed(TEXTS, kind="document")

    (request,) = server.seen
    assert request.path == "/v1/embeddings"
    assert request.body == {"input": TEXTS, "model": "stub-model", "encoding_format": "float"}


def test_no_texts_make_no_request(connect: Connect, server: ProviderServer) -> None:
    assert connect().embed([], kind="document") == []
    assert server.requests == 0


def test_the_prefix_of_the_provider_is_taken_off_the_model(connect: Connect, server: ProviderServer) -> None:
    embedder = connect(model="openai/text-embedding-3-small")
    embedder.embed(["text"], kind="query")

    assert server.seen[0].model == "text-embedding-3-small"
    assert embedder.space == Space("openai", "text-embedding-3-small", 1_536)


def test_dimensions_are_sent_and_obeyed(connect: Connect, server: ProviderServer) -> None:
    embedder = connect(dimensions=24)

    (vector,) = embedder.embed(["text"], kind="document")

    assert server.seen[0].dimensions == 24
    assert vector is not None and len(vector) == 24
    assert embedder.space.dims == 24


def test_a_server_that_ignores_dimensions_is_named_with_both_numbers(connect: Connect, server: ProviderServer) -> None:
    server.obeys_dimensions = False

    with pytest.raises(ProviderUnavailableError, match="64 numbers instead of 24"):
        embed_all(connect(dimensions=24), TEXTS, kind="document", sleep=lambda seconds: None)


def test_the_length_of_the_first_vectors_becomes_the_spaces(connect: Connect) -> None:
    embedder = connect()
    assert embedder.space.dims is None

    embedder.embed(["text"], kind="document")

    assert embedder.space.dims == 64


def test_the_known_models_have_their_documented_limits(connect: Connect) -> None:
    embedder = connect(model="text-embedding-3-large")

    assert embedder.limits == Limits(
        max_items=2_048, max_request_tokens=300_000, max_input_tokens=8_191, parallel_requests=4
    )
    assert connect(model="text-embedding-3-large", max_items=10).limits.max_items == 10


def test_dimensions_for_a_model_without_a_choice_are_refused(connect: Connect) -> None:
    with pytest.raises(ProviderUnavailableError, match="1536"):
        connect(model="text-embedding-ada-002", dimensions=256)


def test_half_surrogates_can_be_sent(connect: Connect, server: ProviderServer) -> None:
    connect().embed(["a\ud83cb"], kind="document")

    assert server.count("a\ufffdb") == 1


def test_a_text_that_the_server_would_refuse_for_being_empty_is_not_sent(
    connect: Connect, server: ProviderServer
) -> None:
    outcomes = embed_all(connect(), ["", TEXTS[0]], kind="document")

    assert isinstance(outcomes[0], EmbeddingFailure)
    assert server.texts == 1


@pytest.mark.parametrize("name", ["Authorization", "authorization", "AUTHORIZATION"])
def test_the_authorization_can_be_overridden(name: str, connect: Connect, server: ProviderServer) -> None:
    connect(api_key="other", headers={name: f"Bearer {PLANTED_KEY}"}).embed(["text"], kind="document")

    assert server.seen[0].headers["authorization"] == f"Bearer {PLANTED_KEY}"


def test_extra_headers_are_sent_over_the_sdks_own(connect: Connect, server: ProviderServer) -> None:
    connect(headers={"X-Team": "boats", "user-agent": "recallite"}).embed(["text"], kind="document")

    headers = server.seen[0].headers
    assert (headers["x-team"], headers["user-agent"]) == ("boats", "recallite")


def test_a_server_of_ones_own_needs_no_key(
    connect: Connect, server: ProviderServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.key = None
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-environment")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-of-the-environment")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-of-the-environment")

    connect(api_key=None).embed(["text"], kind="document")

    assert "authorization" not in server.seen[0].headers
    assert not any("of-the-environment" in value for value in server.seen[0].headers.values())


def test_a_name_and_password_in_the_address_are_sent_as_such(connect: Connect, server: ProviderServer) -> None:
    server.key = None

    connect(base_url=server.url.replace("//", "//me:pass@"), api_key=None).embed(["text"], kind="document")

    assert server.seen[0].headers["authorization"] == "Basic " + base64.b64encode(b"me:pass").decode()


def test_a_query_in_the_address_goes_with_every_request(connect: Connect, server: ProviderServer) -> None:
    connect(base_url=f"{server.url}?api-version=2026-01-01").embed(["text"], kind="document")

    assert (server.seen[0].path, server.seen[0].query) == ("/v1/embeddings", "api-version=2026-01-01")


def test_openai_itself_needs_a_key() -> None:
    with pytest.raises(ProviderUnavailableError, match="no key"):
        create_embedder(ProviderOptions(provider="openai"))


def test_the_address_of_the_environment_is_not_used(monkeypatch: pytest.MonkeyPatch, server: ProviderServer) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    embedder = create_embedder(ProviderOptions(provider="openai", api_key="k", timeout_seconds=5))

    with pytest.raises(ProviderTransientError, match=r"api\.openai\.com"):
        embedder.embed(["text"], kind="document")

    assert server.requests == 0
    embedder.close()


def test_the_proxy_of_the_environment_is_used(
    connect: Connect, server: ProviderServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", server.origin)

    connect(base_url="http://embeddings.invalid/v1").embed(["text"], kind="document")

    assert server.seen[0].through_proxy
    assert server.seen[0].headers["host"] == "embeddings.invalid"


def test_no_proxy_goes_straight_to_the_server(
    connect: Connect, server: ProviderServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")

    connect().embed(["text"], kind="document")

    assert not server.seen[0].through_proxy
