"""The kinds of value a key can hold: each a type with the check that makes it from what the file has."""

from __future__ import annotations

import math
import os
import re
import unicodedata
from collections.abc import Callable
from datetime import timedelta
from typing import Annotated, TypeVar

from recallite.config.faults import Fault, Refused, a_list, refused

Item = TypeVar("Item")

MAX_INT = 2**53 - 1
"""The largest whole number that every JSON reader keeps exact."""

# Patterns are compiled when they are first used: most files need few of them.
_DURATION_PART = r"(\d+(?:\.\d+)?)(ms|s|m|h|d)"
_DURATION_SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86_400}
_MAX_DURATION_SECONDS = 3650 * 86_400
_SIZE = r"(\d{1,99})\s*(b|kb|mb|gb)?"
_SIZE_FACTOR = {"": 1, "b": 1, "kb": 1024, "mb": 1024**2, "gb": 1024**3}
_WINDOWS_PATH = r"[A-Za-z]:[\\/]|\\\\"


def choice(*allowed: str) -> Callable[[object], str]:
    """A check for one of `allowed`."""

    def check(value: object) -> str:
        if not isinstance(value, str) or value not in allowed:
            raise refused(f"must be {one_of(allowed)}")
        return value

    return check


def one_of(values: tuple[str, ...] | list[str]) -> str:
    """`"a"`, or `one of "a", "b"`."""
    quoted = ", ".join(f'"{value}"' for value in values)
    return quoted if len(values) == 1 else f"one of {quoted}"


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise refused("must be true or false")
    return value


def _whole_from(low: int) -> Callable[[object], int]:
    def check(value: object) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            raise refused("must be a whole number")
        if value < low:
            raise refused(f"must be at least {low}")
        if value > MAX_INT:
            raise refused(f"must be at most {MAX_INT}")
        return value

    return check


def _number(value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise refused("must be a number")
    try:
        number = float(value)
    except OverflowError:
        raise refused("must be a number") from None
    if not math.isfinite(number):
        raise refused("must be a finite number")
    return number


def _fraction(value: object) -> float:
    number = _number(value)
    if not 0 <= number <= 1:
        raise refused("must be between 0 and 1")
    return number


def _positive_seconds(value: object) -> float:
    number = _number(value)
    if not 0 < number <= 86_400:
        raise refused("must be greater than 0 and at most 86400")
    return number


def _price(value: object) -> float:
    number = _number(value)
    if number < 0:
        raise refused("must be at least 0")
    return number


def a_string(value: object) -> str:
    """`value`, which must be a string."""
    if not isinstance(value, str):
        raise refused("must be a string")
    return value


def _filled(value: object) -> str:
    text = a_string(value).strip()
    if not text:
        raise refused("must not be empty")
    return text


def _text(value: object) -> str:
    text = _filled(value)
    if _has_control_characters(text):
        raise refused("must not contain control characters")
    return text


def _has_control_characters(text: str) -> bool:
    return any(unicodedata.category(char) == "Cc" for char in text)


def path_problem(text: str, *, posix: bool = os.name == "posix") -> str | None:
    """Why `text` cannot be a path on this machine, or None."""
    if _has_control_characters(text):
        return "must not contain control characters (in JSON a backslash is written twice)"
    if posix and re.match(_WINDOWS_PATH, text):
        return "a Windows path means nothing on this machine; write /home/me/notes (under WSL: /mnt/c/...)"
    if text.startswith("~") and text[1:2] not in ("", "/", "\\"):
        return "~ stands for your own home only (~/notes); write the full path"
    return None


def _path(value: object) -> str:
    text = _filled(value)
    if problem := path_problem(text):
        raise refused(problem)
    return text


def _file_path(value: object) -> str:
    text = _path(value)
    if re.split(r"[\\/]", text)[-1] in ("", ".", "..", "~"):
        raise refused("must name a file, not a folder")
    return text


def _time_zone(value: object) -> str:
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError  # 9 ms that most files do not need

    text = _text(value)
    try:
        ZoneInfo(text)
    except (ValueError, OSError, ZoneInfoNotFoundError):
        raise refused('must be a time zone that this machine knows, such as "Europe/Berlin"') from None
    return text


def _model_path(value: object) -> str:
    text = a_string(value).strip()
    return text if text.startswith(("hf:", "http:", "https:")) else _path(text)


def _duration(value: object) -> timedelta:
    readable = isinstance(value, int | float | str) and not isinstance(value, bool)
    text = str(value).strip().lower() if readable else ""
    if re.fullmatch(r"\d+(?:\.\d+)?", text):
        text += "m"
    if not re.fullmatch(f"(?:{_DURATION_PART})+", text):
        raise refused('must be a duration such as "5m", "90s" or "1h30m"; a bare number counts minutes')
    seconds = sum(float(count) * _DURATION_SECONDS[unit] for count, unit in re.findall(_DURATION_PART, text))
    if seconds > _MAX_DURATION_SECONDS:
        raise refused("must be at most 3650d")
    return timedelta(seconds=seconds)


def _size(value: object) -> int:
    if isinstance(value, str) and (match := re.fullmatch(_SIZE, value.strip(), re.IGNORECASE)):
        return _count(int(match[1]) * _SIZE_FACTOR[(match[2] or "").lower()])
    if isinstance(value, bool) or not isinstance(value, int):
        raise refused('must be a number of bytes or a size such as "2mb"')
    return _count(value)


def list_of(item: Callable[[object], Item], *, may_be_empty: bool = True) -> Callable[[object], tuple[Item, ...]]:
    """A check for a list whose items pass the check `item`; repetitions are left out."""

    def check(value: object) -> tuple[Item, ...]:
        items: list[Item] = []
        faults: list[Fault] = []
        for index, each in enumerate(a_list(value)):
            try:
                items.append(item(each))
            except Refused as error:
                faults += [Fault(fault.rule, (index, *fault.at), fault.shows_value) for fault in error.faults]
        if faults:
            raise Refused(*faults)
        if not items and not may_be_empty:
            raise refused("must name at least one")
        return tuple(dict.fromkeys(items))

    return check


_count = _whole_from(0)

Flag = Annotated[bool, _flag]
Count = Annotated[int, _count]
"""A whole number from 0."""
Positive = Annotated[int, _whole_from(1)]
"""A whole number from 1."""
ChunkTokens = Annotated[int, _whole_from(16)]
Fraction = Annotated[float, _fraction]
Seconds = Annotated[float, _positive_seconds]
Price = Annotated[float, _price]
Text = Annotated[str, _text]
TimeZone = Annotated[str, _time_zone]
"""A name of the IANA time zone database."""
Prompt = Annotated[str, a_string]
"""Text of any shape, line breaks included."""
PathText = Annotated[str, _path]
FilePathText = Annotated[str, _file_path]
ModelPath = Annotated[str, _model_path]
"""A path, or the address of a model file."""
Paths = Annotated[tuple[str, ...], list_of(_path)]
Texts = Annotated[tuple[str, ...], list_of(_text)]
Duration = Annotated[timedelta, _duration]
ByteSize = Annotated[int, _size]
