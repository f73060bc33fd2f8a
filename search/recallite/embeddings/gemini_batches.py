"""Google's batch service for Gemini embeddings (v1beta, `asyncBatchEmbedContent`)."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator

from recallite.embeddings.batches import (
    MOST_LISTED,
    BatchLimits,
    JobLook,
    LineResult,
    Outcome,
    json_lines,
)
from recallite.embeddings.endpoint import Endpoint
from recallite.embeddings.http_batches import HttpBatches
from recallite.embeddings.limits import sendable

LIMITS = BatchLimits(max_items=50_000, max_bytes=190_000_000)
"""Google takes files up to 2 GB; a file of this size can still be held in memory."""
_PREFIXES = ("BATCH_STATE_", "JOB_STATE_")
_OUTCOMES: dict[str, Outcome] = {
    "SUCCEEDED": "done",
    "COMPLETED": "done",
    "FAILED": "failed",
    "CANCELLED": "cancelled",
    "CANCELED": "cancelled",
    "EXPIRED": "expired",
}


class GeminiBatches(HttpBatches):
    """A BatchApi for Gemini. The key goes with every call, uploads and downloads included."""

    def __init__(self, endpoint: Endpoint, model: str, *, dimensions: int | None) -> None:
        super().__init__(endpoint, model)
        self._model = f"models/{model}"
        self._dimensions = dimensions
        self._origin, _, self._version = endpoint.url.rstrip("/").rpartition("/")

    @property
    def limits(self) -> BatchLimits:
        return LIMITS

    def line(self, key: str, text: str) -> bytes:
        request: dict[str, object] = {
            "model": self._model,
            "content": {"parts": [{"text": sendable(text)}]},
            "taskType": "RETRIEVAL_DOCUMENT",
        }
        if self._dimensions is not None:
            request["outputDimensionality"] = self._dimensions
        return json.dumps({"key": key, "request": request}, ensure_ascii=False).encode()

    def upload(self, name: str, lines: Iterable[bytes]) -> str:
        boundary = f"recallite-{uuid.uuid4().hex}"
        about = json.dumps({"file": {"displayName": name, "mimeType": "application/jsonl"}}).encode()
        head = f"--{boundary}\r\nContent-Type: ".encode()
        body = b"".join(
            [
                *(head, b"application/json; charset=UTF-8\r\n\r\n", about, b"\r\n"),
                *(head, b"application/jsonl\r\n\r\n", b"\n".join(lines), b"\n\r\n"),
                f"--{boundary}--\r\n".encode(),
            ]
        )
        reply = self.read_object(
            self.transfers.call(
                "POST",
                f"{self._origin}/upload/{self._version}/files",
                params={"uploadType": "multipart"},
                content=body,
                headers={"Content-Type": f"multipart/related; boundary={boundary}"},
            )
        )
        file = reply.get("file")
        return self.name_in(file if isinstance(file, dict) else reply, "name")

    def create(self, name: str, file: str) -> str:
        batch = {"model": self._model, "displayName": name, "inputConfig": {"fileName": file}}
        reply = self.calls.call("POST", f"/{self._model}:asyncBatchEmbedContent", json={"batch": batch})
        return self.name_in(self.read_object(reply), "name")

    def find(self, name: str) -> str | None:
        token: dict[str, str] = {}
        for _ in range(MOST_LISTED // 100):
            page = self.read_object(self.calls.call("GET", "/batches", params={"pageSize": "100", **token}))
            jobs = page.get("operations")
            for job in jobs if isinstance(jobs, list) else []:
                if isinstance(job, dict) and _about(job).get("displayName") == name:
                    return self.name_in(job, "name")
            following = page.get("nextPageToken")
            if not isinstance(following, str) or not following:
                return None
            token = {"pageToken": following}
        return None

    def look(self, job: str) -> JobLook:
        found = self.read_object(self.calls.call("GET", f"/{job}"))
        about = _about(found)
        state = str(about.get("state") or found.get("state") or "")
        for prefix in _PREFIXES:
            state = state.removeprefix(prefix)
        error = found.get("error")
        outcome = _OUTCOMES.get(state, "failed" if found.get("done") and isinstance(error, dict) else "running")
        status = error.get("status") if isinstance(error, dict) else None
        return JobLook(outcome, _responses(found, about), status if isinstance(status, str) else None)

    def read(self, file: str) -> Iterator[LineResult]:
        address = f"{self._origin}/download/{self._version}/{file}:download"
        for line in json_lines(self.transfers.call("GET", address, params={"alt": "media"})):
            key = line.get("key")
            if isinstance(key, str):
                yield _result(key, line)

    def cancel(self, job: str) -> None:
        self.calls.call("POST", f"/{job}:cancel")

    def discard(self, file: str) -> None:
        self.calls.call("DELETE", f"/{file}")


def _about(job: dict[str, object]) -> dict[str, object]:
    """What an operation says of its batch."""
    found = job.get("metadata")
    return found if isinstance(found, dict) else {}


def _responses(job: dict[str, object], about: dict[str, object]) -> tuple[str, ...]:
    for holder in (job.get("response"), about.get("output")):
        file = holder.get("responsesFile") if isinstance(holder, dict) else None
        if isinstance(file, str) and file:
            return (file,)
    return ()


def _result(key: str, line: dict[str, object]) -> LineResult:
    response = line.get("response")
    embedding = response.get("embedding") if isinstance(response, dict) else line.get("embedding")
    values = embedding.get("values") if isinstance(embedding, dict) else None
    if isinstance(values, list):
        return LineResult(key, values)
    error = line.get("error")
    code = error.get("code") if isinstance(error, dict) else None
    return LineResult(key, reason=f"its line failed ({code})" if isinstance(code, int) else "its line failed")
