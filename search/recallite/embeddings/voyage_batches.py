"""Voyage AI's batch service: OpenAI's protocol, with the model and the input type in the job."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from recallite.embeddings.batches import (
    MOST_LISTED,
    OPENAI_OUTCOMES,
    BatchLimits,
    JobLook,
    LineResult,
    openai_results,
)
from recallite.embeddings.endpoint import Endpoint
from recallite.embeddings.http_batches import HttpBatches
from recallite.embeddings.limits import sendable

LIMITS = BatchLimits(max_items=100_000, max_bytes=190_000_000)
"""Voyage takes 100 000 inputs and 1 GB; a file of this size can still be held in memory."""
WINDOW = "12h"
_NAME = "recallite"


class VoyageBatches(HttpBatches):
    """A BatchApi for Voyage."""

    def __init__(self, endpoint: Endpoint, model: str, *, dimensions: int | None) -> None:
        super().__init__(endpoint, model)
        self._parameters: dict[str, object] = {"model": model, "input_type": "document", "truncation": False}
        if dimensions is not None:
            self._parameters["output_dimension"] = dimensions

    @property
    def limits(self) -> BatchLimits:
        return LIMITS

    def line(self, key: str, text: str) -> bytes:
        return json.dumps({"custom_id": key, "body": {"input": [sendable(text)]}}, ensure_ascii=False).encode()

    def upload(self, name: str, lines: Iterable[bytes]) -> str:
        file = (f"{name}.jsonl", b"\n".join(lines) + b"\n", "application/jsonl")
        return self._made(self.transfers.call("POST", "/files", files={"file": file}, data={"purpose": "batch"}))

    def create(self, name: str, file: str) -> str:
        job = {
            "input_file_id": file,
            "endpoint": "/v1/embeddings",
            "completion_window": WINDOW,
            "request_params": self._parameters,
            "metadata": {_NAME: name},
        }
        return self._made(self.calls.call("POST", "/batches", json=job))

    def find(self, name: str) -> str | None:
        after: dict[str, str] = {}
        for _ in range(MOST_LISTED // 100):
            page = self.read_object(self.calls.call("GET", "/batches", params={"limit": "100", **after}))
            jobs = page.get("data")
            jobs = [job for job in jobs if isinstance(job, dict)] if isinstance(jobs, list) else []
            for job in jobs:
                metadata = job.get("metadata")
                if isinstance(metadata, dict) and metadata.get(_NAME) == name:
                    return self.name_in(job, "id")
            if not jobs or not page.get("has_more"):
                return None
            after = {"after": str(jobs[-1].get("id"))}
        return None

    def look(self, job: str) -> JobLook:
        found = self.read_object(self.calls.call("GET", f"/batches/{job}"))
        outcome = OPENAI_OUTCOMES.get(str(found.get("status")), "running")
        files = (found.get("output_file_id"), found.get("error_file_id"))
        return JobLook(outcome, tuple(file for file in files if isinstance(file, str) and file))

    def read(self, file: str) -> Iterator[LineResult]:
        return openai_results(self.transfers.call("GET", f"/files/{file}/content"))

    def cancel(self, job: str) -> None:
        self.calls.call("POST", f"/batches/{job}/cancel")

    def discard(self, file: str) -> None:
        self.calls.call("DELETE", f"/files/{file}")

    def _made(self, body: bytes) -> str:
        return self.name_in(self.read_object(body), "id")
