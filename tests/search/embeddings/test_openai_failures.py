"""Requests that fail as a whole: through the official SDK, against a server that fails on command."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from email.utils import formatdate

import pytest

from recallite.embeddings import Embedder
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
from recallite.testing.provider_server import ProviderServer

Connect = Callable[..., Embedder]


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
        (told.Status(429, retry_after=formatdate(time.time() + 7_200, usegmt=True)), 3_600, 7_200),
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
