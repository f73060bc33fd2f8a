"""What a provider's batch service is: files of requests in, files of vectors out, hours later and cheaper."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, Protocol

from recallite.embeddings.protocol import RawVector

TRANSFER_SECONDS = 900.0
"""For a file of up to `BatchLimits.max_bytes` in either direction; every other call ends far sooner."""
CALL_SECONDS = 60.0
MOST_LISTED = 1_000
"""How many of an account's newest jobs are looked through for one whose id was lost."""

Outcome = Literal["running", "done", "failed", "expired", "cancelled"]


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """What one job may hold."""

    max_items: int
    max_bytes: int


@dataclass(frozen=True, slots=True)
class JobLook:
    """A job at one moment. Jobs that failed, expired or were cancelled may have delivered a part."""

    outcome: Outcome
    files: tuple[str, ...] = ()
    """Files to read: vectors, and errors where they stand apart."""
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class LineResult:
    """The answer to one line: a vector as it was sent, or why there is none."""

    key: str
    vector: RawVector = None
    reason: str | None = None


class BatchApi(Protocol):
    """A provider's batch service. All calls raise a ProviderError, and end in time."""

    @property
    def limits(self) -> BatchLimits: ...

    def line(self, key: str, text: str) -> bytes:
        """One line of a job's file, without its end. `key` comes back with the answer."""
        ...

    def upload(self, name: str, lines: Iterable[bytes]) -> str:
        """The id of a new file. Doing it twice costs nothing but a file."""
        ...

    def create(self, name: str, file: str) -> str:
        """Submit a job under our own name, which `find` knows again: this is what costs. Its id."""
        ...

    def find(self, name: str) -> str | None:
        """The id of a job that was submitted under this name, by whomever."""
        ...

    def look(self, job: str) -> JobLook:
        """How a job is doing."""
        ...

    def read(self, file: str) -> Iterator[LineResult]:
        """The answers of a file; a line that cannot be read is passed over."""
        ...

    def cancel(self, job: str) -> None:
        """Ask for a job's end; what it has done until then may still be delivered."""
        ...

    def discard(self, file: str) -> None:
        """Remove a file that is not needed any more."""
        ...

    def close(self) -> None: ...


def json_lines(content: bytes) -> Iterator[dict[str, object]]:
    """The objects of a JSONL file; lines that hold none are passed over."""
    for line in content.split(b"\n"):
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            yield value


def openai_results(content: bytes) -> Iterator[LineResult]:
    """The lines of OpenAI's and Voyage's output and error files."""
    for line in json_lines(content):
        key = line.get("custom_id")
        if isinstance(key, str):
            yield _openai_result(key, line)


def _openai_result(key: str, line: dict[str, object]) -> LineResult:
    response = line.get("response")
    if isinstance(response, dict):
        status, body = response.get("status_code", 200), response.get("body")
        data = body.get("data") if isinstance(body, dict) else None
        if status == 200 and isinstance(data, list) and len(data) == 1 and isinstance(data[0], dict):
            return LineResult(key, data[0].get("embedding"))
        return LineResult(key, reason=f"its line was answered {status}")
    # The message may repeat the text: only the code is told.
    error = line.get("error")
    code = error.get("code") if isinstance(error, dict) else None
    told = f" ({code})" if isinstance(code, str) and code.isascii() and len(code) < 64 else ""
    return LineResult(key, reason=f"its line failed{told}")


OPENAI_OUTCOMES: dict[str, Outcome] = {
    "completed": "done",
    "failed": "failed",
    "expired": "expired",
    "cancelled": "cancelled",
    "canceled": "cancelled",
}
"""By the status of OpenAI's and Voyage's jobs; all others are running."""
