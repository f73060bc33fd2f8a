"""Features whose keys are understood but which this version does not have.

A row removed from `UNBUILT` opens the feature: nothing else in the configuration has to change.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Set
from typing import get_args

from recallite.config.groups import Group, leaves
from recallite.config.schema_memory import Backend
from recallite.config.schema_search import Provider, Source
from recallite.config.values import one_of

_PROVIDER = "memorySearch.provider"

UNBUILT: dict[str, str] = {
    "memorySearch.multimodal.*": "indexing of images and audio",
    "memory.backend=qmd": "the qmd backend",
    "memory.qmd.*": "the qmd backend",
}
"""From a key to what it would do. `key.*` is every key below, `key=value` that value alone; otherwise any
value but the default is refused. A provider's row holds for `memorySearch.fallback` too."""

_CHOICES = {
    _PROVIDER: get_args(Provider),
    "memorySearch.sources": get_args(Source),
    "memory.backend": get_args(Backend),
}


def refusals(section: Group, name: str, *, place: str, given: Set[str]) -> list[str]:
    """A line for each key of `section` that asks for what is not built.

    `name` is the section in the table, `place` where it is in the file, `given` the keys in the file.
    """
    defaults = _defaults(type(section), name)
    lines = []
    for key, value in leaves(section, f"{name}."):
        at = f"{place}.{key}" if place else key
        if at not in given or value == defaults[key]:
            continue
        if key_row := _key_row(key):
            lines.append(f"{at}: {_not_available(key_row)}; {_remedy(defaults[key])}")
        elif row := _value_row(key, value):
            lines.append(f"{at}: {_not_available(row)}; use {one_of(_available(key))}")
    return lines


@functools.cache
def _defaults(group: type[Group], name: str) -> dict[str, object]:
    return dict(leaves(group(), f"{name}."))


def is_unbuilt(key: str) -> bool:
    """Whether `key` can only have its default in this version."""
    return _key_row(key) is not None


def built_providers() -> tuple[str, ...]:
    """The embedding providers of this version."""
    return tuple(_available(_PROVIDER))


def _key_row(key: str) -> str | None:
    return next((row for row in _rows_of(key) if row in UNBUILT), None)


def _rows_of(key: str) -> Iterator[str]:
    yield key
    parts = key.split(".")
    for end in range(len(parts) - 1, 0, -1):
        yield ".".join([*parts[:end], "*"])


def _value_row(key: str, value: object) -> str | None:
    key = _PROVIDER if key == "memorySearch.fallback" else key
    values = value if isinstance(value, tuple) else (value,)
    return next((row for row in (f"{key}={item}" for item in values) if row in UNBUILT), None)


def _available(key: str) -> list[str]:
    choices: tuple[str, ...] = _CHOICES[_PROVIDER if key == "memorySearch.fallback" else key]
    return [choice for choice in choices if _value_row(key, choice) is None]


def _not_available(row: str) -> str:
    return f"{UNBUILT[row]} is not available in this version"


def _remedy(default: object) -> str:
    if isinstance(default, bool | int | float | str):
        return f"remove the key or set it to {json.dumps(default)}"
    return "remove the key"
