"""Faults as lines for people; values that may be secret are not repeated."""

from __future__ import annotations

import json
import re

from recallite.config.faults import Fault, Location
from recallite.config.intake import join

SECRET_KEYS = frozenset({"apiKey", "headers"})
_MAX_SHOWN_CHARS = 60
_HEADER_NAME_PLACE = r"[A-Za-z0-9-]{1,60}"


def path_of(location: Location) -> str:
    """`agents.list[2].memorySearch` for the place of a value in the tree."""
    path = ""
    for part in location:
        path = join(path, part)
    return path


def line(location: Location, fault: Fault, raw: object) -> str:
    """One line for one fault; the value shown is the one in the file, `${VARIABLES}` not replaced."""
    value = _value_at(raw, location)
    if SECRET_KEYS.intersection(location) or _may_hold_password(location, value):
        return f"{path_of(_without_odd_name(location))}: this value is not allowed: {fault.rule}"
    if not fault.shows_value or isinstance(value, dict):
        return f"{path_of(location)}: {fault.rule}"
    return f"{path_of(location)}: {_shown(value)} is not allowed: {fault.rule}"


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
    if isinstance(location[-1], str) and not re.fullmatch(_HEADER_NAME_PLACE, location[-1]):
        return location[:-1]
    return location
