"""What a provider's server can be told to do with its next request."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Literal

Poison = Literal[
    "nan", "inf", "zeros", "empty", "null", "short", "missing", "shuffled", "doubled", "no_index", "strings"
]
"""A way to spoil vectors. "missing", "shuffled", "doubled" and "no_index" are about the items around them."""


@dataclass(frozen=True, slots=True)
class Status:
    """Answer with this status and an error body in the protocol's form."""

    status: int
    code: str | None = None
    message: str = "told to fail"
    retry_after: float | str | None = None
    """Seconds, or an HTTP date."""
    retry_after_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Hang:
    """Read the request and send nothing for this long, then break off."""

    seconds: float = 60.0


@dataclass(frozen=True, slots=True)
class Drip:
    """Send the true answer, one byte at a time. In `headers` or after them, in the `body`."""

    interval_seconds: float = 0.05
    where: Literal["headers", "body"] = "body"


@dataclass(frozen=True, slots=True)
class Delay:
    """Wait this long, then answer truly."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Hold:
    """Wait until the test sets `release`, then answer truly."""

    release: threading.Event


@dataclass(frozen=True, slots=True)
class Disconnect:
    """Close the connection without an answer, or after half of it."""

    half_way: bool = False


@dataclass(frozen=True, slots=True)
class Html:
    """A gateway's page instead of JSON."""

    status: int = 200


@dataclass(frozen=True, slots=True)
class NullBody:
    """The JSON document `null`."""


@dataclass(frozen=True, slots=True)
class RawBody:
    """Exactly these bytes, called JSON."""

    body: bytes
    status: int = 200


@dataclass(frozen=True, slots=True)
class BadVectors:
    """Answer with every vector of the request spoilt in this way."""

    kind: Poison


Behaviour = Status | Hang | Drip | Delay | Hold | Disconnect | Html | NullBody | RawBody | BadVectors
