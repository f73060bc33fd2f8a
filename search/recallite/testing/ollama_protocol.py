"""Ollama's embeddings protocol, from the server's side: of today, or as old servers speak it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from recallite.testing.openai_protocol import spoilt
from recallite.testing.protocols import Answered, Problem, SeenRequest


class OllamaProtocol:
    """`POST /api/embed`, or with `old=True` only `/api/embeddings` for one text."""

    def __init__(self, *, old: bool = False, models: Sequence[str] = ("nomic-embed-text",)) -> None:
        self._old = old
        self._models = models

    def read(self, request: SeenRequest, key: str | None) -> SeenRequest | Problem:
        wanted = "/api/embeddings" if self._old else "/api/embed"
        if request.path not in (wanted, "/api/embeddings"):
            return Problem(404, None, "404 page not found")
        if request.body.get("model") not in self._models:
            return Problem(404, None, f"model {request.body.get('model')!r} not found, try pulling it first")
        given = request.body.get("prompt" if request.path == "/api/embeddings" else "input")
        texts = [given] if isinstance(given, str) else given
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            return Problem(400, None, "invalid input type")
        return replace(request, texts=texts, model=str(request.body["model"]))

    def reply(self, request: SeenRequest, answers: Sequence[Answered]) -> bytes:
        vectors = [spoilt(answer.vector, answer.poison) for answer in answers if answer.poison != "missing"]
        if request.path == "/api/embeddings":
            return json.dumps({"embedding": vectors[0] if vectors else []}).encode("utf-8")
        return json.dumps({"model": request.model, "embeddings": vectors}).encode("utf-8")

    def problem(self, problem: Problem) -> bytes:
        return json.dumps({"error": problem.message}).encode("utf-8")
