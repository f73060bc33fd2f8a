"""The OpenAI provider, through the official SDK, against a real server that fails on command."""

from __future__ import annotations

import base64
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from email.utils import formatdate

import numpy as np
import pytest

from recallite.embeddings import (
    BadVector,
    Embedder,
    EmbeddingFailure,
    Limits,
    ProviderOptions,
    Space,
    check_vectors,
    create_embedder,
    embed_all,
)
from recallite.embeddings.deadline import DeadlineError
from recallite.errors import (
    InputRejectedError,
    ProviderAuthError,
    ProviderError,
    ProviderTransientError,
    ProviderUnavailableError,
    QuotaExceededError,
    RateLimitedError,
)
from recallite.testing import behaviours as told
from recallite.testing.embedder import DeterministicEmbedder
from recallite.testing.provider_server import PLANTED_KEY, ProviderServer

Connect = Callable[..., Embedder]
TEXTS = ["the boat is in Lisbon", "the VPN listens on port 51821", "backups go to the second disk"]


def good_vectors(embedder: Embedder, texts: list[str] = TEXTS) -> list[int]:
    """The numbers of the texts that got the vector which the server computes for them."""
    raw = embedder.embed(texts, kind="document")
    checked = check_vectors(raw, expected=len(texts), dims=64)
    true = DeterministicEmbedder().embed(texts, kind="document")
    return [
        number
        for number, (got, want) in enumerate(zip(checked, true, strict=True))
        if not isinstance(got, BadVector) and np.allclose(got, want, atol=1e-6)
    ]


def wait_until(condition: Callable[[], bool], seconds: float = 5.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


# What is sent


def test_texts_come_back_as_their_vectors(connect: Connect) -> None:
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

    assert embedder.limits == Limits(max_items=2_048, max_request_tokens=300_000, max_input_tokens=8_191)
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


# Keys, headers, addresses


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


# Proxies


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


# Failures of a whole request


@pytest.mark.parametrize(
    ("behaviour", "kind"),
    [
        (told.Status(400), InputRejectedError),
        (told.Status(413), InputRejectedError),
        (told.Status(422, message="输入过长"), InputRejectedError),
        (told.Status(401), ProviderAuthError),
        (told.Status(403), ProviderAuthError),
        (told.Status(404), ProviderUnavailableError),
        (told.Status(408), ProviderTransientError),
        (told.Status(409), ProviderTransientError),
        (told.Status(429), RateLimitedError),
        (told.Status(429, code="insufficient_quota"), QuotaExceededError),
        (told.Status(500), ProviderTransientError),
        (told.Status(503), ProviderTransientError),
        (told.Html(), ProviderTransientError),
        (told.Html(status=502), ProviderTransientError),
        (told.NullBody(), ProviderTransientError),
        (told.RawBody(b""), ProviderTransientError),
        (told.RawBody(b'{"data": "text"}'), ProviderTransientError),
        (told.RawBody(b'{"error": {"message": "overloaded"}}'), ProviderTransientError),
        (told.Disconnect(), ProviderTransientError),
        (told.Disconnect(half_way=True), ProviderTransientError),
    ],
    ids=str,
)
def test_a_failed_request_raises_one_error_that_names_the_host(
    behaviour: told.Behaviour, kind: type[ProviderError], connect: Connect, server: ProviderServer
) -> None:
    server.next(behaviour)

    with pytest.raises(ProviderError) as raised:
        connect().embed(["secret note"], kind="document")

    assert type(raised.value) is kind
    assert f"127.0.0.1:{server.port}" in str(raised.value)
    assert "secret note" not in str(raised.value)
    assert server.requests == 1


def test_a_wrong_key_is_an_authentication_error(connect: Connect) -> None:
    with pytest.raises(ProviderAuthError, match="401"):
        connect(api_key="sk-wrong").embed(["text"], kind="document")


def test_a_missing_model_is_named(connect: Connect, server: ProviderServer) -> None:
    server.next(told.Status(404, code="model_not_found"))

    with pytest.raises(ProviderUnavailableError, match="'no-such-model'"):
        connect(model="no-such-model").embed(["text"], kind="document")


@pytest.mark.parametrize(
    ("behaviour", "least", "most"),
    [
        (told.Status(429, retry_after=2), 2, 2),
        (told.Status(429, retry_after=2, retry_after_ms=300), 0.3, 0.3),
        (told.Status(429, retry_after=formatdate(time.time() + 100, usegmt=True)), 50, 100),
    ],
    ids=["seconds", "milliseconds", "date"],
)
def test_the_servers_wait_is_carried(
    behaviour: told.Status, least: float, most: float, connect: Connect, server: ProviderServer
) -> None:
    server.next(behaviour)

    with pytest.raises(RateLimitedError) as raised:
        connect().embed(["text"], kind="document")

    assert raised.value.retry_after_seconds is not None
    assert least <= raised.value.retry_after_seconds <= most


def test_a_refused_connection_says_so(connect: Connect) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]

        with pytest.raises(ProviderTransientError, match=rf"127\.0\.0\.1:{port}: no connection: .*refused"):
            connect(base_url=f"http://127.0.0.1:{port}/v1").embed(["text"], kind="document")


def test_an_unknown_host_says_so(connect: Connect) -> None:
    with pytest.raises(ProviderTransientError, match=r"no-such-host\.invalid: no connection"):
        connect(base_url="http://no-such-host.invalid/v1").embed(["text"], kind="document")


# Time


@pytest.mark.parametrize(
    "behaviour",
    [told.Hang(), told.Drip(interval_seconds=0.05), told.Drip(interval_seconds=0.05, where="headers")],
    ids=["hang", "drip", "drip headers"],
)
def test_every_call_ends_by_its_time(behaviour: told.Behaviour, connect: Connect, server: ProviderServer) -> None:
    server.next(behaviour)

    started = time.monotonic()
    with pytest.raises(DeadlineError, match=f"{server.port}.*0.4 s"):
        connect(timeout_seconds=0.4).embed(TEXTS, kind="document")

    assert time.monotonic() - started < 2


def test_a_call_that_was_given_up_leaves_no_thread_behind(connect: Connect, server: ProviderServer) -> None:
    server.next(told.Drip(interval_seconds=0.02))

    with pytest.raises(DeadlineError):
        connect(timeout_seconds=0.2).embed(TEXTS, kind="document")

    wait_until(lambda: not any(thread.name == "recallite-embedding-call" for thread in threading.enumerate()))


def test_after_a_late_answer_the_next_call_works(connect: Connect, server: ProviderServer) -> None:
    embedder = connect(timeout_seconds=0.4)
    server.next(told.Hang())
    with pytest.raises(DeadlineError):
        embedder.embed(["text"], kind="document")

    assert good_vectors(embedder) == [0, 1, 2]


def test_a_call_that_ends_late_does_not_break_another_one(connect: Connect, server: ProviderServer) -> None:
    embedder = connect(timeout_seconds=1.2)
    release = threading.Event()
    server.next(told.Hang(), told.Hold(release))
    ended: list[str] = []

    def hang() -> None:
        with pytest.raises(DeadlineError):
            embedder.embed(["text"], kind="document")
        ended.append("late")

    late = threading.Thread(target=hang)
    late.start()
    wait_until(lambda: server.requests == 1)
    time.sleep(0.4)  # so that the second call is still under way when the first one is broken off
    other = threading.Thread(target=lambda: ended.append(str(good_vectors(embedder))))
    other.start()
    late.join()
    release.set()
    other.join()

    assert ended == ["late", "[0, 1, 2]"]


def test_an_answer_that_takes_a_while_is_waited_for(connect: Connect, server: ProviderServer) -> None:
    server.next(told.Delay(0.3))

    assert good_vectors(connect()) == [0, 1, 2]


def test_many_threads_may_use_one_embedder(connect: Connect) -> None:
    embedder = connect()
    results: list[list[int]] = []
    threads = [
        threading.Thread(target=lambda: results.extend(good_vectors(embedder) for _ in range(5))) for _ in range(4)
    ]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert results == [[0, 1, 2]] * 20


def test_a_connection_is_kept_open_between_calls(connect: Connect, server: ProviderServer) -> None:
    embedder = connect()

    for _ in range(5):
        embedder.embed(["text"], kind="document")

    assert server.connections == 1


def test_after_close_a_call_opens_a_new_connection(connect: Connect) -> None:
    embedder = connect()
    embedder.embed(["text"], kind="document")
    embedder.close()

    assert good_vectors(embedder) == [0, 1, 2]


FORK = """
import os, signal, sys
from recallite.embeddings import ProviderOptions, create_embedder
options = ProviderOptions("openai", model="m", api_key=sys.argv[1], base_url=sys.argv[2], timeout_seconds=10)
embedder = create_embedder(options)
before = embedder.embed(["text"], kind="query")
pid = os.fork()
if pid == 0:
    signal.alarm(20)
    os._exit(0 if embedder.embed(["text"], kind="query") == before else 1)
_, status = os.waitpid(pid, 0)
print(os.waitstatus_to_exitcode(status), embedder.embed(["text"], kind="query") == before)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_after_a_fork_the_child_opens_its_own_connection(server: ProviderServer) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORK, PLANTED_KEY, server.url], capture_output=True, text=True, timeout=60
    )

    assert done.stdout.strip() == "0 True", done.stderr[-500:]
    assert server.connections == 2


# Bad vectors


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
def test_only_good_vectors_pass(kind: told.Poison, good: list[int], connect: Connect, server: ProviderServer) -> None:
    server.next(told.BadVectors(kind))

    assert good_vectors(connect()) == good


@pytest.mark.parametrize("kind", ["nan", "inf", "zeros", "empty", "null", "short", "missing", "strings"])
def test_one_bad_vector_costs_one_text(kind: told.Poison, connect: Connect, server: ProviderServer) -> None:
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
    assert server.requests == 2


# A whole run


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

    assert kept == list(range(30))
    assert server.requests == 4
