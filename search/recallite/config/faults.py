"""What is wrong with a value, before it is put into words for people."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

Check = Callable[[object], object]
"""Makes a value from what the file has; raises Refused."""
Location = tuple[int | str, ...]
"""The keys and list indices that lead to a value."""


class Fault(msgspec.Struct, frozen=True):
    """What a value must be and is not; `at` leads to it from the value that was checked."""

    rule: str
    at: Location = ()
    shows_value: bool = True
    """False where the value would say nothing that the rule does not say."""


class Refused(Exception):
    """A value that its key cannot have."""

    def __init__(self, *faults: Fault) -> None:
        self.faults = faults
        super().__init__(*(fault.rule for fault in faults))


def refused(rule: str) -> Refused:
    """The error for a value that breaks one rule."""
    return Refused(Fault(rule))


def a_list(value: object) -> list[object]:
    """`value`, which must be a list."""
    if not isinstance(value, list):
        raise Refused(Fault("must be a list", shows_value=False))
    return value


def an_object(value: object) -> dict[str, object]:
    """`value`, which must be an object of the file."""
    if not isinstance(value, dict):
        raise Refused(Fault("must be an object", shows_value=False))
    return value
