"""A real HTTP server on the loopback that speaks a provider's protocol and fails on command."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

from recallite.embeddings.limits import estimate_tokens
from recallite.testing.batch_service import BatchService
from recallite.testing.behaviours import BadVectors, Behaviour, Poison
from recallite.testing.embedder import DeterministicEmbedder
from recallite.testing.openai_protocol import OpenAIProtocol
from recallite.testing.protocols import Answered, Problem, SeenRequest, WireProtocol
from recallite.testing.provider_handler import ProviderHandler, ProviderHTTPServer

PLANTED_KEY = "sk-planted-5f3a9c"
"""The key that the server wants; tests look for it in every message and log."""

Predicate = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class _Rejection:
    predicate: Predicate
    status: int
    message: str


@dataclass(frozen=True, slots=True)
class _Poisoning:
    predicate: Predicate
    kind: Poison


class ProviderServer:
    """`with ProviderServer() as server:` serves at `server.url` until the block ends.

    `next` queues one behaviour per request, first come, first served; with an empty queue the server
    answers truly. `reject`, `poison`, `max_items` and `max_request_tokens` hold for all requests. Its
    vectors are those of `DeterministicEmbedder`. Safe to ask and to tell while requests are under way.
    """

    def __init__(
        self,
        *,
        key: str | None = PLANTED_KEY,
        dims: int = 64,
        protocol: WireProtocol | None = None,
        max_items: int | None = None,
        max_request_tokens: int | None = None,
        obeys_dimensions: bool = True,
        latency_seconds: float = 0.0,
    ) -> None:
        self.key = key
        self.dims = dims
        self.max_items = max_items
        self.max_request_tokens = max_request_tokens
        self.obeys_dimensions = obeys_dimensions
        self.latency_seconds = latency_seconds
        """Before each answer to a request for vectors."""
        self.bytes_in = self.bytes_out = 0
        """Bodies of requests and of replies."""
        self.protocol: WireProtocol = protocol or OpenAIProtocol()
        self.batches: BatchService | None = None
        """The provider's batch service, where the test has given it one."""
        self.closing = threading.Event()
        self._lock = threading.Lock()
        self._queue: deque[Behaviour] = deque()
        self._rejections: list[_Rejection] = []
        self._poisonings: list[_Poisoning] = []
        self._seen: list[SeenRequest] = []
        self._count: Counter[str] = Counter()
        self._connections = 0
        self._http = ProviderHTTPServer(("127.0.0.1", 0), ProviderHandler)
        self._http.plan = self
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)

    def __enter__(self) -> ProviderServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    @property
    def port(self) -> int:
        return self._http.server_address[1]

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        """The base URL to configure."""
        return f"{self.origin}/v1"

    @property
    def requests(self) -> int:
        """Requests that were understood, whatever was answered."""
        return len(self._seen)

    @property
    def texts(self) -> int:
        """Texts in all those requests."""
        return sum(len(request.texts) for request in self.seen)

    @property
    def seen(self) -> list[SeenRequest]:
        with self._lock:
            return list(self._seen)

    @property
    def connections(self) -> int:
        """Connections that clients have opened so far."""
        return self._connections

    def count(self, text: str) -> int:
        """How often this text was sent."""
        with self._lock:
            return self._count[text]

    def forget(self) -> None:
        """Counts from zero again; queue and rules stay."""
        with self._lock:
            self._seen.clear()
            self._count.clear()

    def next(self, *behaviours: Behaviour) -> None:
        """Queues one behaviour for each of the next requests."""
        with self._lock:
            self._queue.extend(behaviours)

    def reject(self, predicate: Predicate, *, status: int = 400, message: str = "input refused") -> None:
        """Refuse each request that holds such a text."""
        with self._lock:
            self._rejections.append(_Rejection(predicate, status, message))

    def poison(self, predicate: Predicate, kind: Poison) -> None:
        """Spoil the vector of each such text."""
        with self._lock:
            self._poisonings.append(_Poisoning(predicate, kind))

    def transferred(self, *, received: int = 0, sent: int = 0) -> None:
        """Counts bytes (for the handler)."""
        with self._lock:
            self.bytes_in += received
            self.bytes_out += sent

    def connected(self) -> None:
        """Counts a connection (for the handler)."""
        with self._lock:
            self._connections += 1

    def take(self, request: SeenRequest) -> Behaviour | None:
        """Counts the request and takes its behaviour from the queue (for the handler)."""
        with self._lock:
            self._seen.append(request)
            self._count.update(request.texts)
            return self._queue.popleft() if self._queue else None

    def problem_with(self, texts: Sequence[str]) -> Problem | None:
        """Which standing rule refuses these texts (for the handler)."""
        if self.max_items is not None and len(texts) > self.max_items:
            return Problem(400, None, f"at most {self.max_items} inputs, got {len(texts)}")
        if self.max_request_tokens is not None:
            tokens = sum(estimate_tokens(text) for text in texts)
            if tokens > self.max_request_tokens:
                return Problem(400, "max_tokens_per_request", f"{tokens} tokens are too many")
        for rule in self._rejections:
            if any(rule.predicate(text) for text in texts):
                return Problem(rule.status, None, rule.message)
        return None

    def answers(self, request: SeenRequest, spoil: BadVectors | None) -> list[Answered]:
        """The vectors of a request, spoilt as the behaviour and the rules say (for the handler)."""
        dims = request.dimensions if self.obeys_dimensions and request.dimensions else self.dims
        vectors = DeterministicEmbedder(dims=dims, keep=False).embed(request.texts, kind="document")
        return [
            Answered(cast(Sequence[float], vector), spoil.kind if spoil else self._poison_of(text))
            for text, vector in zip(request.texts, vectors, strict=True)
        ]

    def _poison_of(self, text: str) -> Poison | None:
        return next((rule.kind for rule in self._poisonings if rule.predicate(text)), None)
