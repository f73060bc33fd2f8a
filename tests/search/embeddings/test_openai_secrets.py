"""Neither the key nor a note's text is found in a message, a traceback, a repr or a log."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable

import pytest

from recallite.embeddings import Embedder, EmbeddingFailure, embed_all
from recallite.errors import ProviderError
from recallite.testing import behaviours as told
from recallite.testing.provider_server import PLANTED_KEY, ProviderServer

Connect = Callable[..., Embedder]
NOTE = "the-planted-note-7731"
PASSWORD = "planted-password"
ECHO = f"{PLANTED_KEY} {NOTE} {PASSWORD}"

FAILURES = [
    told.Status(400, message=ECHO),
    told.Status(400, code=PLANTED_KEY, message=ECHO),
    told.Status(400, code=NOTE, message=ECHO),
    told.Status(401, message=ECHO),
    told.Status(404, message=ECHO),
    told.Status(429, message=ECHO),
    told.Status(429, code="insufficient_quota", message=ECHO),
    told.Status(500, message=ECHO),
    told.RawBody(f"<html>{ECHO}".encode()),
    told.RawBody(f'{{"data": [{{"index": 0, "embedding": "{ECHO}"}}]}}'.encode()),
    told.RawBody(f'{{"data": [{{"index": 0, "embedding": ["{ECHO}"]}}]}}'.encode()),
    told.RawBody(f'{{"error": {{"message": "{ECHO}"}}}}'.encode()),
    told.RawBody(ECHO.encode()),
    told.Disconnect(),
    told.Disconnect(half_way=True),
    told.Hang(),
]


@pytest.mark.parametrize("failure", FAILURES, ids=lambda failure: type(failure).__name__)
def test_no_secret_is_shown(
    failure: told.Behaviour, connect: Connect, server: ProviderServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server.next(*[failure] * 3)
    embedder = connect(timeout_seconds=0.5, headers={"X-Password": PASSWORD})

    shown = [repr(embedder), repr(vars(embedder))]
    try:
        outcomes = embed_all(embedder, [NOTE, f"{NOTE} too"], kind="document", attempts=2, sleep=lambda seconds: None)
        shown += [repr(outcome) for outcome in outcomes if isinstance(outcome, EmbeddingFailure)]
    except ProviderError as error:
        shown += [str(error), repr(error), "".join(traceback.format_exception(error))]

    for text in [*shown, caplog.text]:
        assert PLANTED_KEY not in text
        assert NOTE not in text
        assert PASSWORD not in text


def test_a_password_in_the_address_is_not_logged(
    connect: Connect, server: ProviderServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server.key = None

    connect(base_url=server.url.replace("//", f"//me:{PASSWORD}@") + "?token=planted-token").embed(
        [NOTE], kind="document"
    )

    assert PASSWORD not in caplog.text
    assert "planted-token" not in caplog.text


def test_other_users_of_the_libraries_keep_their_logs(connect: Connect, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    connect().embed([NOTE], kind="document")

    logging.getLogger("httpx").info("request of somebody else")

    assert "request of somebody else" in caplog.text


def test_broken_key_characters_are_refused_before_anything_is_sent(connect: Connect, server: ProviderServer) -> None:
    with pytest.raises(ProviderError) as refused:
        connect(api_key=f"{PLANTED_KEY}\nX-Injected: 1")

    assert PLANTED_KEY not in str(refused.value)
    assert server.requests == 0
