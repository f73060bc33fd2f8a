"""What a model sends as arguments → values. Models send numbers as text, null for nothing, JSON as one string."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any


class BadArgument(ValueError):
    """An argument that a tool cannot use; the message says which, and what it must be."""


def read_arguments(sent: object, known: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments by the names in `known`; those that are null or blank are left out.

    `sent` is a mapping or the JSON text of one. `max_results` is taken for `maxResults`.
    """
    if isinstance(sent, str):
        try:
            sent = json.loads(sent) if sent.strip() else {}
        except (ValueError, RecursionError):
            raise BadArgument("the arguments are not JSON") from None
    if sent is None:
        sent = {}
    if not isinstance(sent, Mapping):
        raise BadArgument("the arguments must be a JSON object")
    given = {_camel(str(name)): value for name, value in sent.items()}
    if unknown := sorted(set(given) - set(known)):
        raise BadArgument(f"unknown argument {shown(unknown[0])}; there are {', '.join(known)}")
    return {name: value for name, value in given.items() if value is not None and value != ""}


def text_of(arguments: Mapping[str, Any], name: str) -> str:
    """A required text."""
    value = arguments.get(name)
    if isinstance(value, str) and value.strip():
        return value
    raise BadArgument(f"{name} required" if value is None or isinstance(value, str) else f"{name} must be a text")


def number_of(arguments: Mapping[str, Any], name: str, *, low: float, high: float | None = None) -> float | None:
    """A number, or a text that is one; None where it is not given."""
    value = arguments.get(name)
    if value is None:
        return None
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise BadArgument(f"{name} is {shown(value)}: it must be a number")
    if number < low or (high is not None and number > high):
        bounds = f"at least {low:g}" if high is None else f"between {low:g} and {high:g}"
        raise BadArgument(f"{name} is {shown(value)}: it must be {bounds}")
    return number


def whole_of(arguments: Mapping[str, Any], name: str) -> int | None:
    """A whole number from 1; a fraction is cut off."""
    number = number_of(arguments, name, low=1)
    return int(number) if number is not None else None


def _camel(name: str) -> str:
    return re.sub(r"_([a-z])", lambda found: found[1].upper(), name)


def shown(value: object) -> str:
    """What a model sent, short enough for a message."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # a number of thousands of digits, or lists in lists without end
        text = f"of type {type(value).__name__}"
    return text if len(text) <= 40 else f"{text[:40]}…"
