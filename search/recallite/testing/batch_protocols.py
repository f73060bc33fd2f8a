"""How the batch services of OpenAI, Voyage and Gemini look on the wire, from the server's side."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from email.parser import BytesParser
from typing import cast

from recallite.testing.batch_service import ServedJob, now
from recallite.testing.protocols import SeenRequest

_ROUTES = (
    ("POST", r".*/files", "upload"),
    ("GET", r".*/files/([^/]+)/content", "content"),
    ("DELETE", r".*/files/([^/]+)", "discard"),
    ("POST", r".*/batches", "create"),
    ("GET", r".*/batches", "list"),
    ("GET", r".*/batches/([^/]+)", "look"),
    ("POST", r".*/batches/([^/]+)/cancel", "cancel"),
)
_GEMINI_ROUTES = (
    ("POST", r"/upload/.*/files", "upload"),
    ("GET", r"/download/.*/files/([^/:]+):download", "content"),
    ("DELETE", r".*/files/([^/]+)", "discard"),
    ("POST", r".*/models/[^/]+:asyncBatchEmbedContent", "create"),
    ("GET", r".*/batches", "list"),
    ("GET", r".*/batches/([^/:]+)", "look"),
    ("POST", r".*/batches/([^/]+):cancel", "cancel"),
)


def _route(routes: Sequence[tuple[str, str, str]], method: str, path: str) -> tuple[str, str] | None:
    for wanted, pattern, verb in routes:
        found = re.fullmatch(pattern, path)
        if wanted == method and found:
            return verb, found[1] if found.groups() else ""
    return None


def _parts(raw: bytes) -> list[bytes]:
    """The contents of a multipart body, whose boundary is its first line."""
    boundary = raw.partition(b"\r\n")[0].removeprefix(b"--")
    head = b'Content-Type: multipart/mixed; boundary="' + boundary + b'"\r\n\r\n'
    message = BytesParser().parsebytes(head + raw)
    return [cast(bytes, part.get_payload(decode=True)) for part in message.walk() if not part.is_multipart()]


class OpenAIBatchProtocol:
    """`/files` and `/batches`; the model stands in each line."""

    def route(self, method: str, request: SeenRequest) -> tuple[str, str] | None:
        return _route(_ROUTES, method, request.path)

    def authorized(self, request: SeenRequest, key: str | None) -> bool:
        return key is None or request.headers.get("authorization") == f"Bearer {key}"

    def upload(self, raw: bytes) -> bytes:
        return max(_parts(raw), key=len)

    def file(self, id_: str) -> object:
        return {
            "id": id_,
            "object": "file",
            "bytes": 1,
            "created_at": now(),
            "filename": "x.jsonl",
            "purpose": "batch",
            "status": "processed",
        }

    def texts(self, content: bytes) -> dict[str, str]:
        found: dict[str, str] = {}
        for line in content.splitlines():
            request = json.loads(line)
            assert request["url"] == "/v1/embeddings" and request["method"] == "POST", request
            found[request["custom_id"]] = request["body"]["input"]
        return found

    def described(self, body: dict[str, object]) -> tuple[str, str, int | None]:
        metadata = cast(dict[str, str], body.get("metadata") or {})
        return str(body["input_file_id"]), metadata.get("recallite", ""), None

    def job(self, job: ServedJob) -> object:
        status = {None: "in_progress", "done": "completed"}.get(job.end, job.end)
        return {
            "id": job.id,
            "object": "batch",
            "endpoint": "/v1/embeddings",
            "input_file_id": "file-in",
            "completion_window": "24h",
            "status": status,
            "created_at": now(),
            "output_file_id": job.output,
            "error_file_id": job.errors,
            "metadata": {"recallite": job.name},
        }

    def page(self, jobs: Sequence[ServedJob]) -> object:
        return {"object": "list", "data": [self.job(job) for job in jobs], "has_more": False}

    def line(self, key: str, vector: Sequence[float] | None) -> bytes:
        if vector is None:
            error = {"status_code": 400, "body": {"error": {"message": "bad input", "code": "invalid"}}}
            return json.dumps({"custom_id": key, "response": error, "error": None}).encode()
        data = [{"object": "embedding", "index": 0, "embedding": [float(number) for number in vector]}]
        body = {"object": "list", "data": data, "model": "m", "usage": {"prompt_tokens": 1, "total_tokens": 1}}
        reply = {"status_code": 200, "request_id": "r", "body": body}
        return json.dumps({"id": "x", "custom_id": key, "response": reply, "error": None}).encode()


class VoyageBatchProtocol(OpenAIBatchProtocol):
    """OpenAI's, with the model and the input type in the job."""

    def texts(self, content: bytes) -> dict[str, str]:
        requests = [json.loads(line) for line in content.splitlines()]
        return {request["custom_id"]: request["body"]["input"][0] for request in requests}

    def described(self, body: dict[str, object]) -> tuple[str, str, int | None]:
        parameters = cast(dict[str, object], body["request_params"])
        assert parameters["input_type"] == "document", parameters
        file, name, _ = super().described(body)
        return file, name, cast(int | None, parameters.get("output_dimension"))


class GeminiBatchProtocol:
    """`asyncBatchEmbedContent`: operations with a batch as metadata, the key in a header of its own."""

    def route(self, method: str, request: SeenRequest) -> tuple[str, str] | None:
        return _route(_GEMINI_ROUTES, method, request.path)

    def authorized(self, request: SeenRequest, key: str | None) -> bool:
        return key is None or request.headers.get("x-goog-api-key") == key

    def upload(self, raw: bytes) -> bytes:
        about, content = _parts(raw)
        assert json.loads(about)["file"]["mimeType"] == "application/jsonl"
        return content

    def file(self, id_: str) -> object:
        return {"file": {"name": f"files/{id_}", "mimeType": "application/jsonl", "state": "ACTIVE"}}

    def texts(self, content: bytes) -> dict[str, str]:
        found: dict[str, str] = {}
        for line in content.splitlines():
            if line.strip():
                whole = json.loads(line)
                assert whole["request"]["taskType"] == "RETRIEVAL_DOCUMENT", whole
                found[whole["key"]] = whole["request"]["content"]["parts"][0]["text"]
        return found

    def described(self, body: dict[str, object]) -> tuple[str, str, int | None]:
        batch = cast(dict[str, object], body["batch"])
        file = str(cast(dict[str, object], batch["inputConfig"])["fileName"])
        return file.removeprefix("files/"), str(batch["displayName"]), None

    def job(self, job: ServedJob) -> object:
        state = {None: "RUNNING", "done": "SUCCEEDED"}.get(job.end, str(job.end).upper())
        operation: dict[str, object] = {
            "name": f"batches/{job.id}",
            "metadata": {"displayName": job.name, "state": f"BATCH_STATE_{state}"},
            "done": job.end is not None,
        }
        if job.output is not None:
            operation["response"] = {"responsesFile": f"files/{job.output}"}
        return operation

    def page(self, jobs: Sequence[ServedJob]) -> object:
        return {"operations": [self.job(job) for job in jobs]}

    def line(self, key: str, vector: Sequence[float] | None) -> bytes:
        if vector is None:
            return json.dumps({"key": key, "error": {"code": 3, "message": "bad input"}}).encode()
        values = [float(number) for number in vector]
        return json.dumps({"key": key, "response": {"embedding": {"values": values}}}).encode()
