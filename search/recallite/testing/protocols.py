"""What a provider's wire protocol must answer for `ProviderServer` to speak it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from recallite.testing.behaviours import Poison


@dataclass(frozen=True, slots=True)
class SeenRequest:
    """A request as the server understood it."""

    path: str
    headers: Mapping[str, str] = field(repr=False)
    """Names in lower case."""
    texts: Sequence[str]
    model: str = ""
    dimensions: int | None = None
    body: Mapping[str, object] = field(default_factory=dict, repr=False)
    query: str = field(default="", repr=False)
    through_proxy: bool = False
    """The request line named a whole address: the client took this server for its proxy."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Why the server refuses a request."""

    status: int
    code: str | None
    message: str


@dataclass(frozen=True, slots=True)
class Answered:
    """One text's vector, as the protocol shall send it."""

    vector: Sequence[float]
    poison: Poison | None = None


class WireProtocol(Protocol):
    """One provider's requests and replies, apart from sockets, counting and failing."""

    def read(self, request: SeenRequest, key: str | None) -> SeenRequest | Problem:
        """The request with texts, model and dimensions filled in from its body, or what is wrong with it."""
        ...

    def reply(self, request: SeenRequest, answers: Sequence[Answered]) -> bytes:
        """The body of a successful reply."""
        ...

    def problem(self, problem: Problem) -> bytes:
        """The body of an error reply."""
        ...
