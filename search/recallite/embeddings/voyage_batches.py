"""Voyage AI's batch service: OpenAI's protocol, with the model and the input type in the job."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from recallite.embeddings.batches import (
    CALL_SECONDS,
    MOST_LISTED,
    OPENAI_OUTCOMES,
    TRANSFER_SECONDS,
    BatchLimits,
    JobLook,
    LineResult,
    file_id,
    openai_results,
)
from recallite.embeddings.endpoint import Endpoint
from recallite.embeddings.http_api import JsonApi
from recallite.embeddings.limits import sendable
from recallite.embeddings.replies import read_json

LIMITS = BatchLimits(max_items=100_000, max_bytes=190_000_000)
"""Voyage takes 100 000 inputs and 1 GB; a file of this size can still be held in memory."""
WINDOW = "12h"
_NAME = "recallite"


class VoyageBatches:
    """A BatchApi for Voyage."""

    def __init__(self, endpoint: Endpoint, model: str, *, dimensions: int | None) -> None:
        self._host = endpoint.host
        self._parameters: dict[str, object] = {"model": model, "input_type": "document", "truncation": False}
        if dimensions is not None:
            self._parameters["output_dimension"] = dimensions
        self._calls = JsonApi(endpoint, model=model, timeout_seconds=CALL_SECONDS)
        self._transfers = JsonApi(endpoint, model=model, timeout_seconds=TRANSFER_SECONDS)

    @property
    def limits(self) -> BatchLimits:
        return LIMITS

    def line(self, key: str, text: str) -> bytes:
        return json.dumps({"custom_id": key, "body": {"input": [sendable(text)]}}, ensure_ascii=False).encode()

    def upload(self, name: str, lines: Iterable[bytes]) -> str:
        file = (f"{name}.jsonl", b"\n".join(lines) + b"\n", "application/jsonl")
        return self._id(self._transfers.call("POST", "/files", files={"file": file}, data={"purpose": "batch"}))

    def create(self, name: str, file: str) -> str:
        job = {
            "input_file_id": file,
            "endpoint": "/v1/embeddings",
            "completion_window": WINDOW,
            "request_params": self._parameters,
            "metadata": {_NAME: name},
        }
        return self._id(self._calls.call("POST", "/batches", json=job))

    def find(self, name: str) -> str | None:
        after: dict[str, str] = {}
        for _ in range(MOST_LISTED // 100):
            page = self._json(self._calls.call("GET", "/batches", params={"limit": "100", **after}))
            jobs = page.get("data")
            jobs = [job for job in jobs if isinstance(job, dict)] if isinstance(jobs, list) else []
            for job in jobs:
                metadata = job.get("metadata")
                if isinstance(metadata, dict) and metadata.get(_NAME) == name:
                    return file_id(job, self._host)
            if not jobs or not page.get("has_more"):
                return None
            after = {"after": str(jobs[-1].get("id"))}
        return None

    def look(self, job: str) -> JobLook:
        found = self._json(self._calls.call("GET", f"/batches/{job}"))
        outcome = OPENAI_OUTCOMES.get(str(found.get("status")), "running")
        files = (found.get("output_file_id"), found.get("error_file_id"))
        return JobLook(outcome, tuple(file for file in files if isinstance(file, str) and file))

    def read(self, file: str) -> Iterator[LineResult]:
        return openai_results(self._transfers.call("GET", f"/files/{file}/content"))

    def cancel(self, job: str) -> None:
        self._calls.call("POST", f"/batches/{job}/cancel")

    def discard(self, file: str) -> None:
        self._calls.call("DELETE", f"/files/{file}")

    def close(self) -> None:
        self._calls.close()
        self._transfers.close()

    def _json(self, body: bytes) -> dict[str, object]:
        reply = read_json(body, host=self._host)
        return reply if isinstance(reply, dict) else {}

    def _id(self, body: bytes) -> str:
        return file_id(self._json(body), self._host)
