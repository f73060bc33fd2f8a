"""Session transcripts on disk, in the true shape of OpenClaw's."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

USAGE = {"input": 10, "output": 5, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 15}
_FROM_MODEL = {"api": "anthropic-messages", "provider": "anthropic", "model": "claude-opus-4-6"}


def header(session: str = "11111111-2222-4333-8444-555555555555") -> bytes:
    """The first line of a transcript."""
    return _line({"type": "session", "version": 3, "id": session, "timestamp": "2026-02-10T09:00:00.000Z", "cwd": ""})


def said(role: str, *texts: str, more: Iterable[Mapping[str, object]] = ()) -> bytes:
    """A line in which `role` says the texts, one block each, with `more` blocks before them."""
    blocks = [*more, *({"type": "text", "text": text} for text in texts)]
    message: dict[str, object] = {"role": role, "content": blocks, "timestamp": 1770714005000}
    if role == "assistant":
        message |= {**_FROM_MODEL, "usage": USAGE, "stopReason": "stop"}
    return _line({**_entry("message"), "message": message})


def user(*texts: str) -> bytes:
    return said("user", *texts)


def assistant(*texts: str) -> bytes:
    return said("assistant", *texts, more=[{"type": "thinking", "thinking": "hidden thought"}])


def tool_result(text: str) -> bytes:
    """A line that is never indexed."""
    content = [{"type": "text", "text": text}]
    message = {"role": "toolResult", "toolCallId": "call_1", "toolName": "read", "content": content, "isError": False}
    return _line({**_entry("message"), "message": message})


def image(data: str, text: str) -> bytes:
    """A line with an image of these base64 characters and a text."""
    return said("user", text, more=[{"type": "image", "data": data, "mimeType": "image/png"}])


def compaction(summary: str = "The user asked about a router.") -> bytes:
    return _line(
        {**_entry("compaction"), "summary": summary, "firstKeptEntryId": "a0000005", "tokensBefore": 50000}
    )  # fmt: skip


def dialogue(turns: int, *, first: int = 0) -> bytes:
    """Messages of user and assistant in turn, each with a word that stands nowhere else: `word<number>`."""
    return b"".join(
        (assistant if number % 2 else user)(f"Message {number} of this talk mentions word{number} among others.")
        for number in range(first, first + turns)
    )


def write_transcript(folder: Path, name: str, *lines: bytes) -> Path:
    """A transcript with a header and these lines, in a folder that is made if need be."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_bytes(header() + b"".join(lines))
    return path


def append(path: Path, *lines: bytes) -> None:
    """Add lines, as an agent does while it talks."""
    with path.open("ab") as file:
        file.write(b"".join(lines))


def _entry(kind: str) -> dict[str, object]:
    return {"type": kind, "id": "a0000002", "parentId": "a0000001", "timestamp": "2026-02-10T09:00:01.000Z"}


def _line(record: Mapping[str, object]) -> bytes:
    return json.dumps(record, ensure_ascii=False).encode() + b"\n"
