"""Only good vectors pass, and a run gets through: through the official SDK, from a real server."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from recallite.embeddings import (
    Embedder,
    EmbeddingFailure,
    embed_all,
)
from recallite.errors import (
    QuotaExceededError,
)
from recallite.testing import behaviours as told
from recallite.testing.provider_server import ProviderServer

Connect = Callable[..., Embedder]
GoodVectors = Callable[[Embedder], list[int]]
TEXTS = ["the boat is in Lisbon", "the VPN listens on port 51821", "backups go to the second disk"]


@pytest.mark.parametrize(
    ("kind", "good"),
    [
        ("nan", []),
        ("inf", []),
        ("zeros", []),
        ("empty", []),
        ("null", []),
        ("short", []),
        ("missing", []),
        ("strings", []),
        ("shuffled", [0, 1, 2]),
        ("doubled", [1, 2]),
        ("no_index", [0, 1, 2]),
    ],
)
def test_only_good_vectors_pass(
    kind: told.Poison, good: list[int], connect: Connect, good_vectors: GoodVectors, server: ProviderServer
) -> None:
    server.next(told.BadVectors(kind))

    assert good_vectors(connect()) == good


@pytest.mark.parametrize("kind", ["nan", "inf", "zeros", "empty", "null", "short", "missing", "strings"])
def test_one_bad_vector_costs_one_text(
    kind: told.Poison, connect: Connect, good_vectors: GoodVectors, server: ProviderServer
) -> None:
    server.poison(lambda text: text == TEXTS[1], kind)

    assert good_vectors(connect()) == [0, 2]


@pytest.mark.parametrize("kind", ["nan", "inf", "zeros", "empty", "null", "short", "missing", "strings"])
def test_a_reply_of_only_bad_vectors_is_asked_for_again(
    kind: told.Poison, connect: Connect, server: ProviderServer
) -> None:
    server.next(told.BadVectors(kind))

    outcomes = embed_all(
        connect(model="text-embedding-3-small", dimensions=64), TEXTS, kind="document", sleep=lambda seconds: None
    )

    assert not any(isinstance(outcome, EmbeddingFailure) for outcome in outcomes)
    assert server.requests == 2 + (kind == "short"), "another length may mean another model: a probe comes first"


def test_a_run_gets_through_a_bad_day(connect: Connect, server: ProviderServer, naps: list[float]) -> None:
    texts = [f"note {number}" for number in range(200)]
    server.max_items = 16
    server.reject(lambda text: text == "note 7", message="拒绝")
    server.poison(lambda text: text == "note 42", "nan")
    server.next(
        told.Status(429, retry_after=3), told.Status(500), told.Disconnect(), told.Html(), told.BadVectors("zeros")
    )
    kept: list[int] = []

    outcomes = embed_all(
        connect(),
        texts,
        kind="document",
        sleep=naps.append,
        attempts=7,
        on_vectors=lambda pairs: kept.extend(number for number, _ in pairs),
    )

    failed = [number for number, outcome in enumerate(outcomes) if isinstance(outcome, EmbeddingFailure)]
    assert failed == [7, 42]
    assert sorted(kept) == [number for number in range(200) if number not in (7, 42)]
    assert sum(naps) >= 3


def test_a_request_token_limit_of_the_server_is_found_by_halving(connect: Connect, server: ProviderServer) -> None:
    server.max_request_tokens = 200

    outcomes = embed_all(connect(), [f"note {number}" for number in range(40)], kind="document")

    assert not any(isinstance(outcome, EmbeddingFailure) for outcome in outcomes)


def test_what_was_paid_for_before_the_failure_is_kept(connect: Connect, server: ProviderServer) -> None:
    server.next(*[told.Delay(0)] * 3, told.Status(429, code="insufficient_quota"))
    kept: list[int] = []

    with pytest.raises(QuotaExceededError):
        embed_all(
            connect(max_items=10),
            [f"note {number}" for number in range(60)],
            kind="document",
            on_vectors=lambda pairs: kept.extend(number for number, _ in pairs),
        )

    # Two requests are under way at once, and the next is sent before the failure is read: they are kept too.
    assert server.requests in (4, 5, 6)
    assert len(kept) == len(set(kept)) == 10 * (server.requests - 1)
