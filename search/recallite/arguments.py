"""What a program hands to the library: a value of the wrong kind is refused in words, before anything is done."""

from __future__ import annotations

import operator

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
    if number < least:
        raise ValueError(f"{name} is {number}, it must be at least {least}")
    return number
