"""JSON text in which one value is set and every other character stays: numbers, escapes and layout as they were."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

_MOST_DIGITS = 1000
"""Python refuses to read whole numbers of some more."""
_SPACE = re.compile(r"[ \t\n\r]*")


@dataclass(frozen=True, slots=True)
class _Member:
    """A name and its value in an object's text: the offsets of the space before it and of the value."""

    name: str
    gap: str
    start: int
    end: int


def _whole(digits: str) -> float:
    return int(digits) if len(digits) <= _MOST_DIGITS else float(digits)


DECODER = json.JSONDecoder(parse_int=_whole)
"""Reads all that stands in such files, whole numbers without end and what other writers take for one (NaN), too."""


def set_fields(text: str, name: str, fields: dict[str, Any]) -> str:
    """`text`, an object of objects, with `fields` set in the object `name`, which is added where it is missing.

    Where a name stands twice the last one counts, as everywhere. Raises ValueError for a value that JSON cannot hold.
    """
    found = _member(text, name)
    entry = text[found.start : found.end] if found is not None else "{}"
    for field, value in fields.items():
        entry = _set(entry, field, json.dumps(value, allow_nan=False))
    return _set(text, name, entry)


def _set(text: str, name: str, value: str) -> str:
    members = _members(text)
    same = [member for member in members if member.name == name]
    if same:
        return text[: same[-1].start] + value + text[same[-1].end :]
    added = f"{json.dumps(name)}: {value}"
    if members:
        last = members[-1]
        return f"{text[: last.end]},{last.gap or ' '}{added}{text[last.end :]}"
    after = text.index("{") + 1
    return text[:after] + added + text[after:]


def _member(text: str, name: str) -> _Member | None:
    return next((member for member in reversed(_members(text)) if member.name == name), None)


def _members(text: str) -> list[_Member]:
    """The members of an object's text, which is known to be valid."""
    members = []
    at = text.index("{") + 1
    while text[start := _past_space(text, at)] != "}":
        name, end = DECODER.raw_decode(text, start)
        value = _past_space(text, _past_space(text, end) + 1)  # past the colon
        _, end = DECODER.raw_decode(text, value)
        members.append(_Member(name, text[at:start], value, end))
        at = _past_space(text, end)
        if text[at] == ",":
            at += 1
    return members


def _past_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found is not None else at
