"""What pydantic found wrong, as lines for people; values that may be secret are not repeated."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from pydantic_core import ErrorDetails

from recallite.config.intake import join

SECRET_KEYS = frozenset({"apiKey", "headers"})
_MAX_SHOWN_CHARS = 60
_EXPECTED = re.compile(r"'([^']*)'")
_HEADER_NAME_PLACE = re.compile(r"[A-Za-z0-9-]{1,60}")

_RULES = {
    "bool_type": "must be true or false",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "finite_number": "must be a finite number",
    "string_type": "must be a string",
    "tuple_type": "must be a list",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
}
_ALL_IN_MESSAGE = frozenset({"tuple_type", "dict_type", "model_type", "model_attributes_type"})

Location = tuple[int | str, ...]


def path_of(location: Sequence[int | str]) -> str:
    """`agents.list[2].memorySearch` for the place of a value in the tree."""
    path = ""
    for part in location:
        path = join(path, part)
    return path


def line(error: ErrorDetails, raw: object) -> str:
    """One line for one error; the value shown is the one in the file, `${VARIABLES}` not replaced."""
    location = error["loc"]
    secret = SECRET_KEYS.intersection(part for part in location if isinstance(part, str))
    if error["type"] == "missing":
        return f"{path_of(location)}: the key is missing"
    rule = _rule(error)
    value = _value_at(raw, location)
    if secret or _may_hold_password(location, value):
        return f"{path_of(_without_odd_name(location))}: this value is not allowed: {rule}"
    if error["type"] in _ALL_IN_MESSAGE or isinstance(value, dict):
        return f"{path_of(location)}: {rule}"
    return f"{path_of(location)}: {_shown(value)} is not allowed: {rule}"


def _rule(error: ErrorDetails) -> str:
    if error["type"] == "literal_error":
        allowed = _EXPECTED.findall(str(error["ctx"]["expected"]))
        return f"must be {one_of(allowed)}"
    if error["type"] == "string_type" and error["loc"][-1] == "apiKey":
        return 'must be a string such as "${OPENAI_API_KEY}"'
    return _RULES.get(error["type"], error["msg"])


def one_of(values: Sequence[str]) -> str:
    """`"a"`, or `one of "a", "b"`."""
    quoted = ", ".join(json.dumps(value) for value in values)
    return quoted if len(values) == 1 else f"one of {quoted}"


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _MAX_SHOWN_CHARS else f"{text[:_MAX_SHOWN_CHARS]}..."


def _value_at(raw: object, location: Location) -> object:
    for part in location:
        if isinstance(raw, dict) and isinstance(part, str):
            raw = raw.get(part)
        elif isinstance(raw, list) and isinstance(part, int):
            raw = raw[part]
    return raw


def _may_hold_password(location: Location, value: object) -> bool:
    return location[-1] == "baseUrl" and isinstance(value, str) and ("@" in value or "?" in value)


def _without_odd_name(location: Location) -> Location:
    if isinstance(location[-1], str) and not _HEADER_NAME_PLACE.fullmatch(location[-1]):
        return location[:-1]
    return location


def repaired(tree: object, locations: Sequence[Location]) -> object:
    """Take the values at `locations` out of `tree`, so that the rest can be checked too; returns `tree`."""
    for location in locations:
        _repair(tree, location)
    return tree


def _repair(tree: object, location: Location) -> None:
    if location[:2] == ("agents", "list") and len(location) == 4 and location[3] == "id":
        parent = _value_at(tree, location[:3])
        if isinstance(parent, dict):
            parent["id"] = f"entry {location[2]}"
        return
    if location[:2] == ("agents", "list") and len(location) == 3:
        entries = _value_at(tree, location[:2])
        if isinstance(entries, list) and isinstance(location[2], int):
            entries[location[2]] = {"id": f"entry {location[2]}"}
        return
    first = 3 if location[:2] == ("agents", "list") else 0
    inside_list = [index for index, part in enumerate(location) if index >= first and isinstance(part, int)]
    end = inside_list[0] if inside_list else len(location)
    parent = _value_at(tree, location[: end - 1])
    if isinstance(parent, dict):
        parent.pop(location[end - 1], None)
