"""What a group of keys is, and how to find the keys in it: their names, what each holds, their values."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Literal, TypeVar, get_args, get_origin

import msgspec

from recallite.config.faults import Check
from recallite.config.values import choice

AnyGroup = TypeVar("AnyGroup", bound="Group")
Holds = Literal["value", "one", "many", "named"]


class Group(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A group of keys that is ours alone: a key it does not know is an error.

    A field's annotation says what its key holds: another group, a tuple of groups, groups by name in a
    dict, or a value, annotated with its check. A second note is the key's description.
    """


class SharedGroup(Group, frozen=True, kw_only=True):
    """A group of keys that other programs use too: keys it does not know are left to them."""


class Key(msgspec.Struct, frozen=True, kw_only=True):
    """One key of a group."""

    attribute: str
    required: bool
    description: str | None
    holds: Holds = "value"
    group: type[Group] = Group
    """What it holds one, many or some by name of, if it holds no value."""
    check: Check = str
    """Makes the value that it holds from what the file has; raises Refused."""


@functools.cache
def keys_of(group: type[Group]) -> Mapping[str, Key]:
    """The keys of `group` as the file spells them, in the order of its fields."""
    return {field.encode_name: _key(field) for field in msgspec.structs.fields(group)}


def _key(field: msgspec.structs.FieldInfo) -> Key:
    hint, notes = _split(field.type)
    description = next((note for note in notes if isinstance(note, str)), None)
    key = Key(attribute=field.name, required=field.required, description=description)
    if nesting := _nesting(hint):
        return msgspec.structs.replace(key, holds=nesting[0], group=nesting[1])
    return msgspec.structs.replace(key, check=_check(field.type))


def _nesting(hint: object) -> tuple[Holds, type[Group]] | None:
    kinds: dict[object, Holds] = {tuple: "many", dict: "named"}
    holds = kinds.get(get_origin(hint), "one")
    for inner in get_args(hint) if holds != "one" else (hint,):
        if isinstance(inner, type) and issubclass(inner, Group):
            return holds, inner
    return None


def _check(hint: object) -> Check:
    """The check that the annotation of a value carries; a Literal is its own."""
    hint, notes = _split(hint)
    for note in notes:
        if callable(note):
            check: Check = note
            return check
    if get_origin(hint) is Literal:
        return choice(*get_args(hint))
    return _check(next(inner for inner in get_args(hint) if inner is not type(None)))


def _split(hint: object) -> tuple[object, tuple[object, ...]]:
    if get_origin(hint) is not Annotated:
        return hint, ()
    inner, *notes = get_args(hint)
    return inner, tuple(notes)


def leaves(group: Group, prefix: str = "") -> Iterator[tuple[str, object]]:
    """Every key below `group` that holds a value, as (dotted key, value); lists count as values."""
    for key, attribute in attributes(type(group)):
        value = getattr(group, attribute)
        if isinstance(value, Group):
            yield from leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def attributes(group: type[Group]) -> Iterator[tuple[str, str]]:
    """Each key of `group` with its attribute; unlike `keys_of` without a look at any annotation."""
    return zip(group.__struct_encode_fields__, group.__struct_fields__, strict=True)


def maker(group: type[AnyGroup]) -> Callable[..., AnyGroup]:
    """The class as a function of keywords that are known at run time only."""
    return group
