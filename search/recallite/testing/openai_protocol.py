"""The OpenAI embeddings protocol, from the server's side."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from recallite.embeddings.limits import estimate_tokens
from recallite.testing.behaviours import Poison
from recallite.testing.protocols import Answered, Problem, SeenRequest


class OpenAIProtocol:
    """`POST …/embeddings`: float and base64, usage, error bodies, `dimensions`."""

    def read(self, request: SeenRequest, key: str | None) -> SeenRequest | Problem:
        if not request.path.endswith("/embeddings"):
            return Problem(404, "unknown_url", f"no such address: {request.path}")
        given = request.headers.get("authorization", "")
        if key is not None and given != f"Bearer {key}":
            return Problem(401, "invalid_api_key", f"Incorrect API key provided: {given}")
        texts = request.body.get("input")
        if isinstance(texts, str):
            texts = [texts]
        if not isinstance(texts, list) or not texts or not all(isinstance(one, str) for one in texts):
            return Problem(400, None, "input must be a text or a list of texts")
        if "" in texts:
            return Problem(400, None, "input cannot be an empty string")
        model = request.body.get("model")
        if not isinstance(model, str):
            return Problem(400, None, "you must provide a model")
        dimensions = request.body.get("dimensions")
        if dimensions is not None and (type(dimensions) is not int or dimensions < 1):
            return Problem(400, None, "dimensions must be a positive number")
        return replace(request, texts=texts, model=model, dimensions=dimensions)

    def reply(self, request: SeenRequest, answers: Sequence[Answered]) -> bytes:
        encoding = request.body.get("encoding_format", "float")
        items = [
            _item(index, answer, as_base64=encoding == "base64")
            for index, answer in enumerate(answers)
            if answer.poison != "missing"
        ]
        items = _rearranged(items, {answer.poison for answer in answers})
        tokens = sum(estimate_tokens(text) for text in request.texts)
        body = {
            "object": "list",
            "data": items,
            "model": request.model,
            "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
        }
        # NaN and Infinity go out as bare tokens, as real servers send them.
        return json.dumps(body).encode("utf-8")

    def problem(self, problem: Problem) -> bytes:
        kind = "insufficient_quota" if problem.code == "insufficient_quota" else _error_type(problem.status)
        error = {"message": problem.message, "type": kind, "param": None, "code": problem.code}
        return json.dumps({"error": error}, ensure_ascii=False).encode("utf-8")


def _error_type(status: int) -> str:
    if status == 429:
        return "rate_limit_error"
    return "server_error" if status >= 500 else "invalid_request_error"


def _item(index: int, answer: Answered, *, as_base64: bool) -> dict[str, object]:
    embedding = spoilt(answer.vector, answer.poison)
    if as_base64 and isinstance(embedding, list) and answer.poison != "strings":
        embedding = base64.b64encode(np.asarray(embedding, dtype="<f4").tobytes()).decode("ascii")
    return {"object": "embedding", "index": index, "embedding": embedding}


def spoilt(vector: Sequence[float], poison: Poison | None) -> object:
    """The vector as it goes out when it is spoilt in this way."""
    numbers = [float(number) for number in vector]
    match poison:
        case "nan":
            return [float("nan"), *numbers[1:]]
        case "inf":
            return [float("inf"), *numbers[1:]]
        case "zeros":
            return [0.0] * len(numbers)
        case "empty":
            return []
        case "null":
            return None
        case "short":
            return numbers[:-1]
        case "strings":
            return [str(number) for number in numbers]
        case _:
            return numbers


def _rearranged(items: list[dict[str, object]], poisons: set[Poison | None]) -> list[dict[str, object]]:
    if "shuffled" in poisons:
        items = items[::-1]
    if "doubled" in poisons and items:
        items = [items[0], *items]
    if "no_index" in poisons:
        items = [{name: value for name, value in item.items() if name != "index"} for item in items]
    return items
