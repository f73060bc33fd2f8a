"""Gemini's embeddings protocol, from the server's side."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from recallite.testing.openai_protocol import spoilt
from recallite.testing.protocols import Answered, Problem, SeenRequest


class GeminiProtocol:
    """`POST …/models/<model>:batchEmbedContents` with the key in `x-goog-api-key`."""

    def read(self, request: SeenRequest, key: str | None) -> SeenRequest | Problem:
        path, _, action = request.path.rpartition(":")
        if action != "batchEmbedContents" or "/models/" not in path:
            return Problem(404, "NOT_FOUND", f"no such address: {request.path}")
        if key is not None and request.headers.get("x-goog-api-key") != key:
            return Problem(403, "PERMISSION_DENIED", "the key is not valid")
        entries = request.body.get("requests")
        if not isinstance(entries, list) or not entries:
            return Problem(400, "INVALID_ARGUMENT", "requests is empty")
        try:
            texts = [entry["content"]["parts"][0]["text"] for entry in entries]
            models = {entry["model"] for entry in entries}
            tasks = {entry["taskType"] for entry in entries}
        except (KeyError, IndexError, TypeError):
            return Problem(400, "INVALID_ARGUMENT", "a request lacks content, model or taskType")
        if models != {f"models/{path.rpartition('/models/')[2]}"} or not tasks <= _TASKS:
            return Problem(400, "INVALID_ARGUMENT", "model or taskType does not fit")
        dimensions = entries[0].get("outputDimensionality")
        return replace(request, texts=texts, model=models.pop(), dimensions=dimensions)

    def reply(self, request: SeenRequest, answers: Sequence[Answered]) -> bytes:
        items = [{"values": spoilt(answer.vector, answer.poison)} for answer in answers if answer.poison != "missing"]
        return json.dumps({"embeddings": items}).encode("utf-8")

    def problem(self, problem: Problem) -> bytes:
        error = {"code": problem.status, "message": problem.message, "status": problem.code}
        return json.dumps({"error": error}).encode("utf-8")


_TASKS = {"RETRIEVAL_QUERY", "RETRIEVAL_DOCUMENT"}
