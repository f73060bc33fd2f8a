"""The kinds of value a key can hold, each with the sentence that a wrong value is answered with."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable
from datetime import timedelta
from typing import Annotated, Self, TypeVar
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, Strict
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

Number = TypeVar("Number", int, float)

MAX_INT = 2**53 - 1
"""The largest whole number that every JSON reader keeps exact."""

_DURATION_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_DURATION_SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86_400}
_MAX_DURATION_SECONDS = 3650 * 86_400
_SIZE = re.compile(r"(\d+)\s*(b|kb|mb|gb)?", re.IGNORECASE)
_SIZE_FACTOR = {"": 1, "b": 1, "kb": 1024, "mb": 1024**2, "gb": 1024**3}
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE = re.compile(r"[\t\x20-\x7e]*")
_KEY = re.compile(r"[\x21-\x7e]*")
_WINDOWS_PATH = re.compile(r"[A-Za-z]:[\\/]|\\\\")


class _Lean(BaseModel):
    # Building validators is most of the import time of a schema this size: they are built on first use.
    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True, defer_build=True)

    @classmethod
    def unset(cls) -> Self:
        """An instance with nothing set, made without building a validator."""
        return cls.model_construct()


class Group(_Lean):
    """A group of keys that is ours alone: a key it does not know is an error."""

    model_config = ConfigDict(extra="forbid")


class SharedGroup(_Lean):
    """A group of keys that other programs use too: keys it does not know are left to them."""

    model_config = ConfigDict(extra="ignore")


def _refuse(sentence: str) -> PydanticCustomError:
    # Braces would be read as a template by pydantic.
    return PydanticCustomError("value", "{sentence}", {"sentence": sentence})


def _between(low: Number, high: Number) -> Callable[[Number], Number]:
    def check(value: Number) -> Number:
        if not low <= value <= high:
            raise _refuse(f"must be between {low} and {high}")
        return value

    return check


def _whole_from(low: int) -> Callable[[int], int]:
    def check(value: int) -> int:
        if value < low:
            raise _refuse(f"must be at least {low}")
        if value > MAX_INT:
            raise _refuse(f"must be at most {MAX_INT}")
        return value

    return check


def _positive_seconds(value: float) -> float:
    if not 0 < value <= 86_400:
        raise _refuse("must be greater than 0 and at most 86400")
    return value


def _not_blank(value: str) -> str:
    text = value.strip()
    if not text:
        raise _refuse("must not be empty")
    if any(unicodedata.category(char) == "Cc" for char in text):
        raise _refuse("must not contain control characters")
    return text


def path_problem(text: str, *, posix: bool = os.name == "posix") -> str | None:
    """Why `text` cannot be a path on this machine, or None."""
    if any(unicodedata.category(char) == "Cc" for char in text):
        return "must not contain control characters (in JSON a backslash is written twice)"
    if posix and _WINDOWS_PATH.match(text):
        return "a Windows path means nothing on this machine; write /home/me/notes (under WSL: /mnt/c/...)"
    if text.startswith("~") and not re.match(r"~(?:[\\/]|$)", text):
        return "~ stands for your own home only (~/notes); write the full path"
    return None


def _path(value: str) -> str:
    text = value.strip()
    if not text:
        raise _refuse("must not be empty")
    if problem := path_problem(text):
        raise _refuse(problem)
    return text


def _file_path(value: str) -> str:
    text = _path(value)
    if re.split(r"[\\/]", text)[-1] in ("", ".", "..", "~"):
        raise _refuse("must name a file, not a folder")
    return text


def _model_path(value: str) -> str:
    return value.strip() if value.strip().startswith(("hf:", "http:", "https:")) else _path(value)


def _url(value: str) -> str:
    text = value.strip()
    try:
        parts = urlsplit(text)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or re.search(r"[\s\x00-\x1f\x7f]", text):
        raise _refuse("must be an http:// or https:// address with a host name")
    if "@" in parts.netloc:
        raise _refuse("must not hold a user name or password; use apiKey or headers")
    if parts.query or parts.fragment:
        raise _refuse("must end with the path, without ? or #")
    return text.rstrip("/")


def sendable_key(text: str) -> bool:
    """True if the trimmed `text` can be put into a request header."""
    return _KEY.fullmatch(text.strip()) is not None


def _api_key(value: SecretStr) -> SecretStr:
    if not sendable_key(value.get_secret_value()):
        raise _refuse("no key has blanks inside, line breaks or non-ASCII characters")
    return value


def _headers(value: dict[str, SecretStr]) -> dict[str, SecretStr]:
    if not all(_HEADER_NAME.fullmatch(name) for name in value):
        raise _refuse("a header's name has characters that are not allowed there")
    if not all(_HEADER_VALUE.fullmatch(text.get_secret_value()) for text in value.values()):
        raise _refuse("a header's value has characters that are not allowed there (line breaks or non-ASCII)")
    if len({name.lower() for name in value}) < len(value):
        raise _refuse("one header is named twice (upper and lower case do not matter)")
    return value


def _duration(value: object) -> timedelta:
    if isinstance(value, timedelta):
        return value
    readable = isinstance(value, int | float | str) and not isinstance(value, bool)
    text = str(value).strip().lower() if readable else ""
    if re.fullmatch(r"\d+(?:\.\d+)?", text):
        text += "m"
    if not re.fullmatch(rf"(?:{_DURATION_PART.pattern})+", text):
        raise _refuse('must be a duration such as "5m", "90s" or "1h30m"; a bare number counts minutes')
    seconds = sum(float(count) * _DURATION_SECONDS[unit] for count, unit in _DURATION_PART.findall(text))
    if seconds > _MAX_DURATION_SECONDS:
        raise _refuse("must be at most 3650d")
    return timedelta(seconds=seconds)


def _size(value: object) -> object:
    if isinstance(value, str) and (match := _SIZE.fullmatch(value.strip())):
        return int(match[1]) * _SIZE_FACTOR[(match[2] or "").lower()]
    if isinstance(value, bool) or not isinstance(value, int):
        raise _refuse('must be a number of bytes or a size such as "2mb"')
    return value


def _without_repeats(value: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(value))


def not_empty(value: tuple[str, ...]) -> tuple[str, ...]:
    """`value` without repetitions; a list that names nothing is refused."""
    if not value:
        raise _refuse("must name at least one")
    return _without_repeats(value)


Flag = Annotated[bool, Strict()]
Count = Annotated[int, Strict(), AfterValidator(_whole_from(0))]
"""A whole number from 0."""
Positive = Annotated[int, Strict(), AfterValidator(_whole_from(1))]
"""A whole number from 1."""
ChunkTokens = Annotated[int, Strict(), AfterValidator(_whole_from(16))]
Fraction = Annotated[float, Strict(), Field(allow_inf_nan=False), AfterValidator(_between(0, 1))]
Seconds = Annotated[float, Strict(), Field(allow_inf_nan=False), AfterValidator(_positive_seconds)]
Text = Annotated[str, Strict(), AfterValidator(_not_blank)]
Prompt = Annotated[str, Strict()]
"""Text of any shape, line breaks included."""
PathText = Annotated[str, Strict(), AfterValidator(_path)]
FilePathText = Annotated[str, Strict(), AfterValidator(_file_path)]
ModelPath = Annotated[str, Strict(), AfterValidator(_model_path)]
"""A path, or the address of a model file."""
Url = Annotated[str, Strict(), AfterValidator(_url)]
ApiKey = Annotated[SecretStr, AfterValidator(_api_key)]
Headers = Annotated[dict[str, SecretStr], AfterValidator(_headers)]
Paths = Annotated[tuple[PathText, ...], AfterValidator(_without_repeats)]
Texts = Annotated[tuple[Text, ...], AfterValidator(_without_repeats)]
Duration = Annotated[timedelta, BeforeValidator(_duration)]
ByteSize = Annotated[int, BeforeValidator(_size), AfterValidator(_whole_from(0))]
