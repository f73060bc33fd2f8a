"""A provider's batch service: files, jobs that take their time, errors, expiry; for OpenAI, Voyage and Gemini."""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, cast

from recallite.testing.embedder import DeterministicEmbedder
from recallite.testing.protocols import SeenRequest

End = Literal["done", "failed", "expired", "cancelled"]


@dataclass(frozen=True, slots=True)
class BatchAnswer:
    """What the handler sends."""

    status: int = 200
    body: bytes = b"{}"
    breaks_off: bool = False
    """The connection ends without an answer, though what was asked is done."""


@dataclass(slots=True)
class ServedJob:
    """A job as the service has it."""

    id: str
    name: str
    """The client's own name for it."""
    texts: dict[str, str] = field(repr=False)
    """By the key of the line."""
    dimensions: int | None
    looks: int = 0
    end: End | None = None
    output: str | None = None
    errors: str | None = None


class BatchProtocol(Protocol):
    """How one provider's requests and replies look."""

    def route(self, method: str, request: SeenRequest) -> tuple[str, str] | None:
        """What is asked for, and the id it is about; None for what is none of the batch service's."""
        ...

    def authorized(self, request: SeenRequest, key: str | None) -> bool: ...
    def upload(self, raw: bytes) -> bytes: ...
    def file(self, id_: str) -> object: ...
    def texts(self, content: bytes) -> dict[str, str]: ...
    def described(self, body: dict[str, object]) -> tuple[str, str, int | None]: ...
    def job(self, job: ServedJob) -> object: ...
    def page(self, jobs: Sequence[ServedJob]) -> object: ...
    def line(self, key: str, vector: Sequence[float] | None) -> bytes: ...


class BatchService:
    """Give it to `ProviderServer.batches`. Jobs are done after `looks` looks at them. Safe for threads."""

    def __init__(self, protocol: BatchProtocol, *, dims: int = 64, looks: int = 1) -> None:
        self.protocol = protocol
        self.dims = dims
        self.looks = looks
        self.jobs: dict[str, ServedJob] = {}
        self.files: dict[str, bytes] = {}
        self.calls = 0
        self.lines: list[dict[str, Any]] = []
        """Of all files that were uploaded."""
        self.discarded = 0
        self.most_running = 0
        self.submitted: Counter[str] = Counter()
        """How often each text was in a job that was submitted: what is paid for."""
        self.ends: deque[End] = deque()
        """How the next jobs end; without one they are done."""
        self.lose_answers: deque[bool] = deque()
        """For each of the next submissions: do it, and break off instead of answering."""
        self.refuse: deque[int] = deque()
        """Answer the next calls that submit with these statuses, and do nothing."""
        self.refuse_calls: deque[int] = deque()
        """The same for the next calls of any kind."""
        self.spoil: Callable[[str], Literal["error", "missing"] | None] = lambda text: None
        """What becomes of a text's line instead of a vector."""
        self.share_done = 1.0
        """How much a job that expires or is cancelled has done."""
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()

    @property
    def running(self) -> int:
        return sum(job.end is None for job in self.jobs.values())

    def answer(self, method: str, request: SeenRequest, raw: bytes, key: str | None) -> BatchAnswer | None:
        """The reply to a request of the batch service; None when it is another's (for the handler)."""
        route = self.protocol.route(method, request)
        if route is None:
            return None
        if not self.protocol.authorized(request, key):
            return _json({"error": {"message": "no key", "code": "invalid_api_key"}}, 401)
        with self._lock:
            self.calls += 1
            if self.refuse_calls:
                return _json({"error": {"message": "told to fail"}}, self.refuse_calls.popleft())
            verb, id_ = route
            return cast(BatchAnswer, getattr(self, f"_{verb}")(id_, request, raw))

    def _upload(self, id_: str, request: SeenRequest, raw: bytes) -> BatchAnswer:
        content = self.protocol.upload(raw)
        self.lines.extend(json.loads(line) for line in content.splitlines() if line.strip())
        name = f"file-{next(self._numbers)}"
        self.files[name] = content
        return _json(self.protocol.file(name))

    def _create(self, id_: str, request: SeenRequest, raw: bytes) -> BatchAnswer:
        if self.refuse:
            return _json({"error": {"message": "told to refuse", "code": "nope"}}, self.refuse.popleft())
        file, name, dimensions = self.protocol.described(dict(request.body))
        if file not in self.files:
            return _json({"error": {"message": "no such file"}}, 400)
        job = ServedJob(f"batch-{next(self._numbers)}", name, self.protocol.texts(self.files[file]), dimensions)
        self.jobs[job.id] = job
        self.submitted.update(job.texts.values())
        self.most_running = max(self.most_running, self.running)
        lost = self.lose_answers.popleft() if self.lose_answers else False
        return BatchAnswer(breaks_off=True) if lost else _json(self.protocol.job(job))

    def _look(self, id_: str, request: SeenRequest, raw: bytes) -> BatchAnswer:
        job = self.jobs.get(id_)
        if job is None:
            return _json({"error": {"message": "no such job"}}, 404)
        job.looks += 1
        if job.end is None and job.looks > self.looks:
            self._end(job, self.ends.popleft() if self.ends else "done")
        return _json(self.protocol.job(job))

    def _list(self, id_: str, request: SeenRequest, raw: bytes) -> BatchAnswer:
        return _json(self.protocol.page(list(reversed(self.jobs.values()))))

    def _cancel(self, id_: str, request: SeenRequest, raw: bytes) -> BatchAnswer:
        job = self.jobs[id_]
        if job.end is None:
            self._end(job, "cancelled")
        return _json(self.protocol.job(job))

    def _content(self, id_: str, request: SeenRequest, raw: bytes) -> BatchAnswer:
        if id_ not in self.files:
            return _json({"error": {"message": "no such file"}}, 404)
        return BatchAnswer(200, self.files[id_])

    def _discard(self, id_: str, request: SeenRequest, raw: bytes) -> BatchAnswer:
        self.discarded += self.files.pop(id_, None) is not None
        return _json({"id": id_, "object": "file", "deleted": True})

    def _end(self, job: ServedJob, end: End) -> None:
        job.end = end
        if end == "failed":
            return
        keys = list(job.texts)
        if end in ("expired", "cancelled"):
            keys = keys[: int(len(keys) * self.share_done)]
        good = [key for key in keys if self.spoil(job.texts[key]) is None]
        bad = [key for key in keys if self.spoil(job.texts[key]) == "error"]
        embedder = DeterministicEmbedder(dims=job.dimensions or self.dims, keep=False)
        vectors = embedder.embed([job.texts[key] for key in good], kind="document")
        # In another order than the lines were in, as services do.
        lines = [self.protocol.line(key, cast(Sequence[float], v)) for key, v in zip(good, vectors, strict=True)][::-1]
        failed = [self.protocol.line(key, None) for key in bad]
        job.output = f"file-{next(self._numbers)}"
        self.files[job.output] = b"\n".join(lines)
        if failed:
            job.errors = f"file-{next(self._numbers)}"
            self.files[job.errors] = b"\n".join(failed)


def _json(value: object, status: int = 200) -> BatchAnswer:
    return BatchAnswer(status, json.dumps(value).encode())


def now() -> int:
    """Seconds since the epoch, as the services write moments."""
    return int(time.time())
