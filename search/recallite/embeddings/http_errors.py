"""HTTP status → which kind of failure it is. Decided by status and code, never by the wording."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime

from recallite.embeddings.endpoint import Endpoint
from recallite.errors import (
    InputRejectedError,
    ProviderAuthError,
    ProviderError,
    ProviderTransientError,
    ProviderUnavailableError,
    QuotaExceededError,
    RateLimitedError,
)

_QUOTA_CODES = {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"}
_MODEL_CODES = {"model_not_found"}
_CODE = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{1,63}")


@dataclass(frozen=True, slots=True)
class Refusal:
    """A reply with an error status. `headers` are looked up by lower-case name; `body` is parsed JSON."""

    status: int
    headers: Mapping[str, str]
    body: object

    def codes(self) -> list[str]:
        """The `code` and `type` of the error, where they look like identifiers.

        The error's `message` is not read at all: servers quote the key and the input in it.
        """
        error = self.body.get("error", self.body) if isinstance(self.body, dict) else None
        values = [error.get("code"), error.get("type")] if isinstance(error, dict) else []
        return [value for value in values if isinstance(value, str) and _CODE.fullmatch(value)]


def error_for(refusal: Refusal, *, endpoint: Endpoint, model: str, texts: Sequence[str] = ()) -> ProviderError:
    """The error to raise for a reply with this status.

    Its message names host, status and the server's code, unless that repeats a secret or one of the `texts`.
    """
    status, codes = refusal.status, refusal.codes()
    harmless = [code for code in codes if not endpoint.is_secret(code)]
    said = next((code for code in harmless if not any(code in text for text in texts)), None)
    where = f"{endpoint.host} answered {status}" + (f" ({said})" if said else "")
    if status == 402 or not _QUOTA_CODES.isdisjoint(codes):
        return QuotaExceededError(f"{where}: the account's quota is used up")
    if status in (401, 403):
        return ProviderAuthError(f"{where}: the key was refused, or none was sent")
    if status == 404 or not _MODEL_CODES.isdisjoint(codes):
        return ProviderUnavailableError(f"{where}: no model {model!r} there, or a wrong base URL")
    retry_after = retry_after_seconds(refusal.headers)
    if status == 429 or (status == 503 and retry_after is not None):
        return RateLimitedError(f"{where}: too many requests", retry_after_seconds=retry_after)
    if status in (400, 413, 422):
        return InputRejectedError(f"{where}: the input was refused")
    if status in (408, 409, 425) or status >= 500:
        return ProviderTransientError(where)
    return ProviderUnavailableError(f"{where}: check the base URL")


def retry_after_seconds(headers: Mapping[str, str]) -> float | None:
    """How long the server asks to wait: `retry-after-ms`, or `retry-after` in seconds or as a date."""
    if (wait_ms := _number(headers.get("retry-after-ms"))) is not None:
        return wait_ms / 1_000
    value = headers.get("retry-after")
    if value is None:
        return None
    if (wait := _number(value)) is not None:
        return wait
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, moment.timestamp() - time.time())


def _number(value: str | None) -> float | None:
    try:
        number = float(value) if value is not None else math.nan
    except ValueError:
        return None
    return max(0.0, number) if math.isfinite(number) else None
