"""How full a session is: from what the runtime stored, and from the end of its transcript."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_BLOCK_BYTES = 64 * 1024
_MOST_BYTES = 16 * 1024 * 1024
"""Without a count so far from the end there is none."""


@dataclass(frozen=True, slots=True)
class SessionUsage:
    """The size of a session. `tokens` None: nobody counted."""

    tokens: int | None = None
    transcript_bytes: int | None = None


def session_usage(sessions_dir: Path, entry: Mapping[str, Any]) -> SessionUsage:
    """The larger of the runtime's count, if it is fresh, and that of the transcript's last answer."""
    transcript = _transcript(sessions_dir, entry)
    counts: list[int | None] = []
    if entry.get("totalTokensFresh") is not False:
        counts.append(_count(entry.get("totalTokens")))
    size = None
    if transcript is not None:
        try:
            size = transcript.stat().st_size
            counted = _last_count(transcript)
        except OSError:
            counted = None
        counts.append(counted)
    return SessionUsage(max((count for count in counts if count is not None), default=None), size)


def _transcript(sessions_dir: Path, entry: Mapping[str, Any]) -> Path | None:
    """The session's file, which must lie in the folder of sessions."""
    named = entry.get("sessionFile")
    name = named if isinstance(named, str) and named else f"{entry.get('sessionId')}.jsonl"
    path = sessions_dir / Path(name).name
    return path if isinstance(entry.get("sessionId") or named, str) and path.is_file() else None


def _last_count(transcript: Path) -> int | None:
    """Tokens that the last answer took in and gave out."""
    for line in _lines_from_end(transcript):
        if b'"usage"' not in line:
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):  # too deep is one bad line too
            continue
        message = record.get("message") if isinstance(record, dict) else None
        usage = message.get("usage") if isinstance(message, dict) else None
        if isinstance(usage, dict):
            taken = sum(_count(usage.get(name)) or 0 for name in ("input", "cacheRead", "cacheWrite"))
            if taken > 0:
                return taken + (_count(usage.get("output")) or 0)
    return None


def _lines_from_end(path: Path) -> Iterator[bytes]:
    """Whole lines, the last first, read in blocks."""
    with path.open("rb") as file:
        at = end = file.seek(0, 2)
        rest = b""
        while at > 0 and end - at < _MOST_BYTES:
            start = max(0, at - _BLOCK_BYTES)
            file.seek(start)
            block = file.read(at - start) + rest
            at = start
            first, *whole = block.split(b"\n")
            yield from reversed(whole)
            rest = first
        if at == 0:
            yield rest


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
