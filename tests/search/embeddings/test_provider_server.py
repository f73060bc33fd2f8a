"""The server itself: what a client that knows nothing of recallite sees."""

from __future__ import annotations

import base64
import json
import urllib.error
import urllib.request

import numpy as np
import pytest

from recallite.testing import behaviours as told
from recallite.testing.embedder import DeterministicEmbedder
from recallite.testing.provider_server import PLANTED_KEY, ProviderServer


def post(
    server: ProviderServer, body: object, *, path: str = "/embeddings", key: str = PLANTED_KEY
) -> tuple[int, dict[str, object]]:
    request = urllib.request.Request(
        server.url + path,
        data=json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {key}", "Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=10) as reply:
            return reply.status, json.loads(reply.read())
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read())


def test_a_reply_has_the_form_of_the_protocol(server: ProviderServer) -> None:
    status, reply = post(server, {"model": "m", "input": ["one", "two"]})

    assert status == 200
    assert (reply["object"], reply["model"]) == ("list", "m")
    assert set(reply["usage"]) == {"prompt_tokens", "total_tokens"}
    assert [item["index"] for item in reply["data"]] == [0, 1]
    assert len(reply["data"][0]["embedding"]) == 64


def test_a_single_text_may_be_sent_without_a_list(server: ProviderServer) -> None:
    assert len(post(server, {"model": "m", "input": "one"})[1]["data"]) == 1


def test_base64_holds_the_same_numbers(server: ProviderServer) -> None:
    _, reply = post(server, {"model": "m", "input": "one", "encoding_format": "base64"})

    vector = np.frombuffer(base64.b64decode(reply["data"][0]["embedding"]), dtype="<f4")
    assert np.allclose(vector, DeterministicEmbedder().embed(["one"], kind="query")[0])


@pytest.mark.parametrize(
    ("body", "path", "key", "status"),
    [
        ({"model": "m", "input": "one"}, "/embeddings", "sk-wrong", 401),
        ({"model": "m", "input": "one"}, "/chat", PLANTED_KEY, 404),
        ({"model": "m", "input": ""}, "/embeddings", PLANTED_KEY, 400),
        ({"model": "m", "input": []}, "/embeddings", PLANTED_KEY, 400),
        ({"model": "m", "input": [1]}, "/embeddings", PLANTED_KEY, 400),
        ({"input": "one"}, "/embeddings", PLANTED_KEY, 400),
        ({"model": "m", "input": "one", "dimensions": 0}, "/embeddings", PLANTED_KEY, 400),
        ("not an object", "/embeddings", PLANTED_KEY, 400),
    ],
)
def test_a_wrong_request_is_refused_in_the_form_of_the_protocol(
    body: object, path: str, key: str, status: int, server: ProviderServer
) -> None:
    got, reply = post(server, body, path=path, key=key)

    assert got == status
    assert set(reply["error"]) == {"message", "type", "param", "code"}
    assert server.requests == 0


def test_requests_and_texts_are_counted(server: ProviderServer) -> None:
    post(server, {"model": "m", "input": ["one", "two"]})
    post(server, {"model": "m", "input": ["one"]})

    assert (server.requests, server.texts, server.count("one"), server.count("none")) == (2, 3, 2, 0)

    server.forget()

    assert (server.requests, server.texts, server.count("one")) == (0, 0, 0)


def test_behaviours_are_taken_in_turn(server: ProviderServer) -> None:
    server.next(told.Status(500), told.Status(429, retry_after=2))

    statuses = [post(server, {"model": "m", "input": "one"})[0] for _ in range(3)]

    assert statuses == [500, 429, 200]


def test_rules_hold_for_every_request(server: ProviderServer) -> None:
    server.max_items = 2
    server.reject(lambda text: "bad" in text, status=422)

    assert post(server, {"model": "m", "input": ["1", "2", "3"]})[0] == 400
    assert post(server, {"model": "m", "input": "bad"})[0] == 422
    assert post(server, {"model": "m", "input": "good"})[0] == 200
