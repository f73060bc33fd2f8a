"""OpenAI's batch service, through the official SDK."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Literal

from recallite.embeddings.batches import (
    CALL_SECONDS,
    MOST_LISTED,
    OPENAI_OUTCOMES,
    TRANSFER_SECONDS,
    BatchLimits,
    JobLook,
    LineResult,
    openai_results,
)
from recallite.embeddings.endpoint import Endpoint
from recallite.embeddings.limits import sendable
from recallite.embeddings.openai_service import OpenAIService

if TYPE_CHECKING:
    import openai

    from recallite.embeddings.openai_service import Headers

LIMITS = BatchLimits(max_items=50_000, max_bytes=190_000_000)
"""Of one job: 50 000 requests and 200 MB, less a margin (developers.openai.com, Batch API)."""
WINDOW: Literal["24h"] = "24h"
_NAME = "recallite"


class OpenAIBatches:
    """A BatchApi for OpenAI and servers that speak its protocol."""

    def __init__(self, endpoint: Endpoint, model: str, *, dimensions: int | None) -> None:
        self._model = model
        self._dimensions = dimensions
        self._calls = OpenAIService(endpoint, model, timeout_seconds=CALL_SECONDS)
        self._transfers = OpenAIService(endpoint, model, timeout_seconds=TRANSFER_SECONDS)

    @property
    def limits(self) -> BatchLimits:
        return LIMITS

    def line(self, key: str, text: str) -> bytes:
        body: dict[str, object] = {"model": self._model, "input": sendable(text), "encoding_format": "float"}
        if self._dimensions is not None:
            body["dimensions"] = self._dimensions
        request = {"custom_id": key, "method": "POST", "url": "/v1/embeddings", "body": body}
        return json.dumps(request, ensure_ascii=False).encode()

    def upload(self, name: str, lines: Iterable[bytes]) -> str:
        content = b"\n".join(lines) + b"\n"

        def request(client: openai.OpenAI, headers: Headers) -> str:
            file = (f"{name}.jsonl", content, "application/jsonl")
            return client.files.create(file=file, purpose="batch", extra_headers=headers).id

        return self._transfers.call(request)

    def create(self, name: str, file: str) -> str:
        def request(client: openai.OpenAI, headers: Headers) -> str:
            return client.batches.create(
                input_file_id=file,
                endpoint="/v1/embeddings",
                completion_window=WINDOW,
                metadata={_NAME: name},
                extra_headers=headers,
            ).id

        return self._calls.call(request)

    def find(self, name: str) -> str | None:
        def request(client: openai.OpenAI, headers: Headers) -> str:
            for number, job in enumerate(client.batches.list(limit=100, extra_headers=headers)):
                if (job.metadata or {}).get(_NAME) == name:
                    return job.id
                if number >= MOST_LISTED:
                    break
            return ""

        return self._calls.call(request) or None

    def look(self, job: str) -> JobLook:
        found = self._calls.call(lambda client, headers: client.batches.retrieve(job, extra_headers=headers))
        outcome = OPENAI_OUTCOMES.get(found.status, "running")
        files = tuple(file for file in (found.output_file_id, found.error_file_id) if file)
        codes = [error.code for error in (found.errors.data or []) if error.code] if found.errors else []
        return JobLook(outcome, files, ", ".join(codes[:3]) or None)

    def read(self, file: str) -> Iterator[LineResult]:
        content = self._transfers.call(
            lambda client, headers: client.files.content(file, extra_headers=headers).content or b"\n"
        )
        return openai_results(content)

    def cancel(self, job: str) -> None:
        self._calls.call(lambda client, headers: client.batches.cancel(job, extra_headers=headers))

    def discard(self, file: str) -> None:
        self._calls.call(lambda client, headers: client.files.delete(file, extra_headers=headers))

    def close(self) -> None:
        self._calls.close()
        self._transfers.close()
