"""Texts in, vectors out: packing, checking, retrying, and halving until only the bad text is left."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import partial

from recallite.embeddings.backoff import wait_seconds
from recallite.embeddings.checks import BadVector, check_vectors
from recallite.embeddings.deadline import DeadlineError
from recallite.embeddings.limits import pack
from recallite.embeddings.parts import Parts
from recallite.embeddings.protocol import Embedder, EmbeddingFailure, Kind, RawVector, Vector
from recallite.errors import (
    InputRejectedError,
    ProviderError,
    ProviderTransientError,
    ProviderUnavailableError,
)

logger = logging.getLogger(__name__)

PROBE_TEXT = "memory"
"""Sent to learn whether a provider works at all, before texts are blamed for its failures."""

REJECTIONS_BEFORE_PROBE = 4

_STOPPED = EmbeddingFailure("not sent: the run was stopped", permanent=False)
_PAUSE_SECONDS = 1.0

OnVectors = Callable[[list[tuple[int, Vector]]], None]


def embed_all(
    embedder: Embedder,
    texts: Sequence[str],
    *,
    kind: Kind,
    on_vectors: OnVectors | None = None,
    stop: Callable[[], bool] | None = None,
    sleep: Callable[[float], None] = time.sleep,
    attempts: int = 5,
) -> list[Vector | EmbeddingFailure]:
    """One outcome per text, in order.

    Up to `Limits.parallel_requests` requests are under way at once; `on_vectors`, `stop` and `sleep` are called on
    the caller's thread only. `on_vectors` gets (number of the text, vector) pairs after each request, so that they
    can be kept at once; what it raises ends the run. `stop` is asked before each request and once a second of waiting;
    when it says yes, the rest comes back as failures that are not permanent; but if it says so while a request
    waits to be tried again, the error of that request is raised. `sleep` takes seconds.

    A request that is refused is halved until the refused text stands alone; one that does not end in
    time is halved too. Only transient errors are retried, `attempts` times in all for a request.
    A text is called a permanent failure only when the provider served something else at about the time.

    Raises ProviderTransientError when the attempts are used up or the server asks for a longer wait than
    `backoff.LONGEST_WAIT_SECONDS`; ProviderAuthError, QuotaExceededError and ProviderUnavailableError at
    once; InputRejectedError when the provider refuses every text. What `on_vectors` was given stays valid.
    """
    run = _Run(embedder, kind, Parts(texts, limits=embedder.limits, kind=kind), attempts)
    run.on_vectors = on_vectors
    run.stop = stop or (lambda: False)
    run.sleep = sleep
    run.work()
    return run.parts.outcomes(otherwise=_STOPPED)


@dataclass(slots=True)
class _Halves:
    """The two halves of a refused request. If both pass, the request was too large, not a text bad."""

    size: int
    passed: int = 0


@dataclass(slots=True)
class _Request:
    numbers: list[int]
    failures: int = 0
    halves: _Halves | None = None


@dataclass(slots=True)
class _Run:
    embedder: Embedder
    kind: Kind
    parts: Parts
    attempts: int
    on_vectors: OnVectors | None = None
    stop: Callable[[], bool] = lambda: False
    sleep: Callable[[float], None] = time.sleep
    most_items: int = 0
    """Texts per request; shrinks when the server turns out to take fewer."""
    rejected: int = 0
    """Texts refused since the provider last served one."""
    served: bool = False
    dims: int | None = None
    stack: list[_Request] = field(default_factory=list)
    """Requests to send before those that are still to be packed."""
    packed: Iterator[_Request] = field(default_factory=lambda: iter(()))

    def work(self) -> None:
        limits = self.embedder.limits
        self.most_items = limits.max_items
        # Packed while requests are under way: to measure texts takes time too.
        self.packed = map(_Request, pack(self.parts.texts, limits))
        if limits.parallel_requests > 1 and len(self.parts.texts) > 1:
            self._work_parallel(limits.parallel_requests)
        else:
            while (request := self._next()) is not None:
                self._settle(request, partial(self._ask, request))
        if self.rejected and not self.served:
            self._probe()

    def _work_parallel(self, most: int) -> None:
        """Only the asking is done by other threads; all that is known of the run stays with this one."""
        under_way: dict[Future[list[RawVector]], _Request] = {}
        with ThreadPoolExecutor(most, thread_name_prefix="recallite-request") as pool:
            try:
                while True:
                    while len(under_way) < most and (request := self._next()) is not None:
                        under_way[pool.submit(self._ask, request)] = request
                    if not under_way:
                        return
                    # One at a time: while its vectors are written, the others and a new one are under way.
                    future = wait(under_way, return_when=FIRST_COMPLETED).done.pop()
                    request = under_way.pop(future)
                    if (following := self._next()) is not None:
                        under_way[pool.submit(self._ask, following)] = following
                    self._settle(request, future.result)
            finally:
                self._keep(under_way)

    def _keep(self, under_way: dict[Future[list[RawVector]], _Request]) -> None:
        """The run ends by an error: what the provider still delivers was paid for."""
        for future, request in under_way.items():
            with contextlib.suppress(ProviderError):
                self._take(request, self._checked(future.result(), expected=len(request.numbers)), last=True)

    def _next(self) -> _Request | None:
        """The next request to send, made smaller if the server was seen to take fewer texts."""
        while not self.stop():
            request = self.stack.pop() if self.stack else next(self.packed, None)
            if request is None:
                return None
            request.numbers = [number for number in request.numbers if self.parts.is_wanted(number)]
            if len(request.numbers) > self.most_items:
                self._push(request, self.most_items, None)
            elif request.numbers:
                return request
        return None

    def _ask(self, request: _Request) -> list[RawVector]:
        return self.embedder.embed([self.parts.texts[n] for n in request.numbers], kind=self.kind)

    def _push(self, request: _Request, size: int, halves: _Halves | None) -> None:
        cuts = range(0, len(request.numbers), size)
        pieces = [_Request(request.numbers[cut : cut + size], request.failures, halves) for cut in cuts]
        self.stack.extend(reversed(pieces))

    def _halve(self, request: _Request) -> None:
        size = (len(request.numbers) + 1) // 2
        self._push(request, size, _Halves(size))

    def _settle(self, request: _Request, answer: Callable[[], list[RawVector]]) -> None:
        try:
            raw = answer()
        except InputRejectedError as error:
            self._refused(request, error)
        except ProviderTransientError as error:
            self._failed(request, error)
        else:
            self._take(request, self._checked(raw, expected=len(request.numbers)))

    def _checked(self, raw: list[RawVector], *, expected: int) -> list[Vector | BadVector]:
        """Checked against the embedder's length, or else that of the first good vector of the run."""
        checked = check_vectors(raw, expected=expected, dims=self.embedder.space.dims or self.dims)
        if self.dims is None:
            self.dims = next((len(result) for result in checked if not isinstance(result, BadVector)), None)
        return checked

    def _take(self, request: _Request, checked: list[Vector | BadVector], *, last: bool = False) -> None:
        """`last`: nothing more is asked, the run is ending."""
        bad = [result for result in checked if isinstance(result, BadVector)]
        if len(bad) < len(checked):
            self._note_success(request)
        elif last:
            return
        elif len(checked) > 1 and request.failures == 0:
            # More likely a bad moment of the server than only bad texts: ask once more.
            if all(result.fault == "length" for result in bad):
                self._probe()  # or another model than the index has, which would be paid for again and again
            self._failed(request, ProviderTransientError(f"no usable vector in the reply: {bad[0].reason}"))
            return
        else:
            self._probe()
        for number, result in zip(request.numbers, checked, strict=True):
            if isinstance(result, BadVector):
                # Never for good: a server that sent NaN for a text may have a better day.
                failure = EmbeddingFailure(result.reason, permanent=False)
                self.parts.put(number, failure)
            else:
                self.parts.put(number, result)
        finished = self.parts.take_finished()
        if finished and self.on_vectors is not None:
            self.on_vectors(finished)

    def _note_success(self, request: _Request) -> None:
        self.served, self.rejected = True, 0
        if request.halves is not None:
            request.halves.passed += 1
            if request.halves.passed == 2:
                self.most_items = min(self.most_items, request.halves.size)

    def _refused(self, request: _Request, error: InputRejectedError) -> None:
        if len(request.numbers) > 1:
            self._halve(request)
            return
        self.parts.put(request.numbers[0], EmbeddingFailure(str(error), permanent=True))
        self.rejected += 1
        if self.rejected >= REJECTIONS_BEFORE_PROBE:
            self._probe()

    def _failed(self, request: _Request, error: ProviderTransientError) -> None:
        request.failures += 1
        wait = wait_seconds(error, failures=request.failures)
        if request.failures >= self.attempts or wait is None:
            raise error
        logger.warning("%s: %s; next try in %.1f s", self.embedder.provider, error, wait)
        if isinstance(error, DeadlineError) and len(request.numbers) > 1:
            self._halve(request)
        else:
            self.stack.append(request)
        self._pause(wait)
        if self.stop():
            raise error  # who stops a run must learn that the provider was failing, or it would begin anew for ever

    def _pause(self, seconds: float) -> None:
        left = seconds
        while left > 0 and not self.stop():
            step = min(left, _PAUSE_SECONDS)
            self.sleep(step)
            left -= step

    def _probe(self) -> None:
        """Returns when the provider gives a good vector for a harmless text; otherwise the run ends."""
        if self.kind == "query":
            return
        who = self.embedder.provider
        try:
            raw = self.embedder.embed([PROBE_TEXT], kind=self.kind)
        except InputRejectedError as error:
            raise InputRejectedError(f"{who} refuses every text: {error}") from error
        (result,) = self._checked(raw, expected=1)
        if isinstance(result, BadVector):
            kind = ProviderUnavailableError if result.fault == "length" else ProviderTransientError
            raise kind(f"{who} gives no usable vectors: {result.reason}")
        self.served, self.rejected = True, 0
