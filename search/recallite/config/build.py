"""The tree that the intake has cleaned as groups of checked values, all faults collected."""

from __future__ import annotations

from typing import Final

from recallite.config.faults import Fault, Location, Refused, a_list, an_object
from recallite.config.groups import AnyGroup, Group, Key, keys_of, maker
from recallite.config.problems import path_of


class _Faulty:
    """Stands for a value that was noted as faulty and is left out."""


_FAULTY: Final = _Faulty()
_MISSING = Fault("the key is missing", shows_value=False)


class Builder:
    """One pass over the tree. `faults` has what is wrong and where, `given` the path of each key taken.

    A faulty value is left out, and what is required gets a stand-in, so that the rest can be checked too;
    with any fault the result must not be used. A list of groups with a fault anywhere does not count as given.
    """

    def __init__(self) -> None:
        self.faults: list[tuple[Location, Fault]] = []
        self.given: set[str] = set()

    def group(self, tree: object, kind: type[AnyGroup], location: Location = ()) -> AnyGroup:
        """`kind` with the values of `tree`, and defaults for the others."""
        try:
            entries = an_object(tree)
        except Refused as error:
            self._note(error, location)
            return maker(kind)(**_stand_ins(kind, location))
        values = _stand_ins(kind, location)
        for name, key in keys_of(kind).items():
            here = (*location, name)
            if name not in entries:
                if key.required:
                    self.faults.append((here, _MISSING))
                continue
            value = self._value(entries[name], key, here)
            if not isinstance(value, _Faulty):
                values[key.attribute] = value
        return maker(kind)(**values)

    def _value(self, tree: object, key: Key, location: Location) -> object:
        before = len(self.faults)
        try:
            value = self._made(tree, key, location)
        except Refused as error:
            self._note(error, location)
            return _FAULTY
        if key.holds != "many" or len(self.faults) == before:
            self.given.add(path_of(location))
        return value

    def _made(self, tree: object, key: Key, location: Location) -> object:
        if key.holds == "one":
            return self.group(tree, key.group, location)
        if key.holds == "many":
            items = enumerate(a_list(tree))
            return tuple(self.group(item, key.group, (*location, index)) for index, item in items)
        if key.holds == "named":
            named = an_object(tree).items()
            return {name: self.group(item, key.group, (*location, name)) for name, item in named}
        return key.check(tree)

    def _note(self, error: Refused, location: Location) -> None:
        self.faults += [((*location, *fault.at), fault) for fault in error.faults]


def _stand_ins(kind: type[Group], location: Location) -> dict[str, object]:
    """Something that can be told from others for each required key; only lists hold groups with such keys."""
    return {key.attribute: f"entry {location[-1]}" for key in keys_of(kind).values() if key.required}
