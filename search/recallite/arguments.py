"""What a program hands to the library: a value of the wrong kind is refused in words, before anything is done."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from datetime import date, datetime
from pathlib import PurePath

from recallite.config import AgentSettings, Settings


def agent_settings(value: object) -> AgentSettings:
    """The settings of one agent. Raises TypeError for anything else, such as those of all agents."""
    if isinstance(value, AgentSettings):
        return value
    given = "those of all agents" if isinstance(value, Settings) else f"{type(value).__name__}"
    raise TypeError(f"settings must be the settings of one agent, load_settings().agent('main'), not {given}")


def a_text(value: object, name: str) -> str:
    """A text, blank or not. Raises TypeError."""
    if isinstance(value, str):
        return value
    raise TypeError(f"{name} must be a text (str), not {type(value).__name__}")


def a_count(value: object, name: str, *, least: int = 0) -> int:
    """A whole number from `least`; 3.0 is one. Raises TypeError for what is no number, ValueError for another."""
    number = a_whole_number(value, name)
    if number < least:
        raise ValueError(f"{name} is {number}, it must be at least {least}")
    return number


def a_whole_number(value: object, name: str) -> int:
    """Any whole number; 3.0 is one. Raises TypeError for what is no number, ValueError for another."""
    if isinstance(value, float):
        if not value.is_integer():
            raise ValueError(f"{name} is {value}, it must be a whole number")
        value = int(value)
    try:
        number = operator.index(value)  # type: ignore[arg-type]  # that it may not fit is what is tried
    except TypeError:
        number = None
    if number is None or isinstance(value, bool):
        raise TypeError(f"{name} must be a whole number, not {type(value).__name__}")
    return number


def a_share(value: object, name: str) -> float:
    """A number from 0 to 1. Raises TypeError, ValueError."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name} must be a number, not {type(value).__name__}")
    if not 0.0 <= value <= 1.0:
        raise ValueError(f"{name} is {value}, it must be between 0 and 1")
    return float(value)


def some_texts(value: object, name: str) -> tuple[str, ...]:
    """Texts in a list or another collection; a text alone is none. Raises TypeError."""
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise TypeError(f"{name} must be a list of texts, not {type(value).__name__}")
    return tuple(a_text(each, f"each of {name}") for each in value)


def a_place(value: object, name: str) -> str:
    """A path, as a text or a Path. Raises TypeError."""
    if isinstance(value, str | PurePath):
        return str(value)
    raise TypeError(f"{name} must be a path, a text or a Path, not {type(value).__name__}")


def a_day(value: object, name: str) -> date:
    """A date without a time. Raises TypeError."""
    if isinstance(value, date) and not isinstance(value, datetime):
        return value
    raise TypeError(f"{name} must be a date, not {type(value).__name__}")


def yes_or_no(value: object, name: str) -> bool:
    """Raises TypeError for what is neither True nor False."""
    if isinstance(value, bool):
        return value
    raise TypeError(f"{name} must be True or False, not {type(value).__name__}")
