"""Status → kind of failure; and how long a server asks to wait."""

import time
from email.utils import formatdate

import pytest

from recallite.embeddings.endpoint import Endpoint, endpoint_for
from recallite.embeddings.http_errors import Refusal, error_for, retry_after_seconds
from recallite.errors import (
    InputRejectedError,
    ProviderAuthError,
    ProviderError,
    ProviderTransientError,
    ProviderUnavailableError,
    QuotaExceededError,
    RateLimitedError,
)

KEY = "sk-secret-0123456789"


@pytest.fixture
def endpoint() -> Endpoint:
    return endpoint_for(base_url="https://api.example.org:8443/v1", api_key=KEY, headers={})


def body(code: str | None = None, message: str = "") -> dict[str, object]:
    return {"error": {"code": code, "type": None, "message": message}}


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (401, None, ProviderAuthError),
        (403, None, ProviderAuthError),
        (402, None, QuotaExceededError),
        (429, "insufficient_quota", QuotaExceededError),
        (429, "rate_limit_exceeded", RateLimitedError),
        (429, None, RateLimitedError),
        (400, None, InputRejectedError),
        (413, None, InputRejectedError),
        (422, None, InputRejectedError),
        (404, None, ProviderUnavailableError),
        (400, "model_not_found", ProviderUnavailableError),
        (405, None, ProviderUnavailableError),
        (308, None, ProviderUnavailableError),
        (408, None, ProviderTransientError),
        (409, None, ProviderTransientError),
        (500, None, ProviderTransientError),
        (502, None, ProviderTransientError),
        (503, None, ProviderTransientError),
        (529, None, ProviderTransientError),
    ],
)
def test_the_status_decides(status: int, code: str | None, kind: type[ProviderError], endpoint: Endpoint) -> None:
    error = error_for(Refusal(status, {}, body(code)), endpoint=endpoint, model="m")

    assert type(error) is kind
    assert "api.example.org:8443" in str(error) and str(status) in str(error)


def test_the_code_is_named(endpoint: Endpoint) -> None:
    error = error_for(Refusal(429, {}, body("tokens_per_min")), endpoint=endpoint, model="m")

    assert "tokens_per_min" in str(error)


def test_a_missing_model_is_named(endpoint: Endpoint) -> None:
    assert "'no-such-model'" in str(error_for(Refusal(404, {}, None), endpoint=endpoint, model="no-such-model"))


@pytest.mark.parametrize("code", [KEY, "a note of the user", 7, None, ["x"], {"a": 1}])
def test_what_does_not_look_like_a_code_is_not_shown(code: object, endpoint: Endpoint) -> None:
    refusal = Refusal(400, {}, {"error": {"code": code, "message": f"{KEY} a note of the user"}})

    message = str(error_for(refusal, endpoint=endpoint, model="m"))

    assert KEY not in message and "note" not in message


@pytest.mark.parametrize("broken", [None, [], "text", {"error": "text"}, {"error": None}, {"detail": []}])
def test_any_body_will_do(broken: object, endpoint: Endpoint) -> None:
    assert isinstance(error_for(Refusal(500, {}, broken), endpoint=endpoint, model="m"), ProviderTransientError)


def test_a_busy_server_that_says_when_to_come_back_is_a_rate_limit(endpoint: Endpoint) -> None:
    error = error_for(Refusal(503, {"retry-after": "3"}, None), endpoint=endpoint, model="m")

    assert isinstance(error, RateLimitedError)
    assert error.retry_after_seconds == 3


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": "-4"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after-ms": "x", "retry-after": "9"}, 9.0),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
    ],
)
def test_the_wait_is_read_in_every_form(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_seconds(headers) == seconds


def test_the_wait_may_be_a_date() -> None:
    wait = retry_after_seconds({"retry-after": formatdate(time.time() + 30, usegmt=True)})

    assert wait is not None and 28 <= wait <= 30
