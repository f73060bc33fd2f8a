"""What commands print: JSON for programs, and arguments that several commands share."""

from __future__ import annotations

import argparse
import json
import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def add_agent(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--agent", metavar="ID", help="agent (default: the default agent)")


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")


def print_json(value: DataclassInstance | list[Any] | dict[str, Any]) -> None:
    """One JSON document; characters of all scripts as they are."""
    plain = value if isinstance(value, list | dict) else asdict(value)
    print(json.dumps(plain, ensure_ascii=False, indent=2))


def positive_int(text: str) -> int:
    """For argparse: a whole number of at least 1."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return number


def fraction(text: str) -> float:
    """For argparse: a number between 0 and 1."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0.0 <= number <= 1.0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number between 0 and 1")
    return number
