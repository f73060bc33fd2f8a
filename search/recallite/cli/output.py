"""What commands print: JSON for programs, and arguments that several commands share."""

from __future__ import annotations

import argparse
import io
import json
import math
import re
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from recallite.types import Fallback


NEW_LINE = "\n"
MOST_RESULTS = 200
"""MAX_CANDIDATES of the search, whose modules a command's arguments do not load."""
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def accept_any_text(*streams: TextIO) -> None:
    """From now on a character that a stream's encoding does not have is written as `\\u4e2d` and ends nothing."""
    for stream in streams:
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def visible(text: str, *, keep: str = "") -> str:
    """Control characters as `\\x1b`: a file's name must not move the cursor. Those in `keep` stay."""
    return _CONTROL.sub(lambda found: found[0] if found[0] in keep else _escape(found[0]), text)


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def add_agent(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--agent", metavar="ID", help="agent (default: the default agent)")


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")


def print_json(value: DataclassInstance | list[Any] | dict[str, Any]) -> None:
    """One JSON document; characters of all scripts as they are, or as JSON's escapes where that cannot be."""
    plain = value if isinstance(value, list | dict) else asdict(value)
    text = json.dumps(plain, ensure_ascii=False, indent=2)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(plain, indent=2)
    print(text)


def fallback_json(fallback: Fallback | None) -> dict[str, str] | None:
    """As the documented replies have it: from and reason."""
    return None if fallback is None else {"from": fallback.from_provider, "reason": fallback.reason}


def positive_int(text: str) -> int:
    """For argparse: a whole number of at least 1."""
    number = _whole_number(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return number


def result_count(text: str) -> int:
    """For argparse: how many results, 1 to MOST_RESULTS."""
    number = _whole_number(text)
    if not 1 <= number <= MOST_RESULTS:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 to {MOST_RESULTS}")
    return number


def _whole_number(text: str) -> int:
    """0, which is never allowed, for what is none."""
    try:
        return int(text)
    except ValueError:
        return 0


def fraction(text: str) -> float:
    """For argparse: a number between 0 and 1."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0.0 <= number <= 1.0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number between 0 and 1")
    return number
