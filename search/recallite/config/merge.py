"""One agent's `memorySearch` over the defaults', leaf by leaf, with a note of where each value came from."""

from __future__ import annotations

from collections.abc import Set

from recallite.config.groups import AnyGroup, Group, attributes, maker
from recallite.config.schema_search import FIRST_AUTOMATIC_PROVIDER, MemorySearchConfig

ADDED_UP = frozenset({"extraPaths", "exclude"})
"""Lists to which an agent adds; all other values of an agent replace those of the defaults."""

PROVIDER_BOUND = frozenset(
    {"model", "outputDimensionality"}
    | {f"remote.{key}" for key in ("baseUrl", "apiKey", "headers", "sameModel", "maxItemsPerRequest")}
)
"""What belongs to one provider. An agent that chooses another provider than the defaults does not inherit
these: the key of one must not be sent to the other, whose models have other names besides."""


def merge(
    defaults: MemorySearchConfig, own: MemorySearchConfig, *, own_origin: str, given: Set[str]
) -> tuple[MemorySearchConfig, dict[str, str]]:
    """The merged settings, and from each dotted key to "default", "agents.defaults" or `own_origin`.

    `own_origin` is also the agent's place in the file, and `given` has the paths of the keys that are there.
    """
    inherited_provider = defaults.provider or FIRST_AUTOMATIC_PROVIDER
    other_provider = own.provider is not None and own.provider != inherited_provider
    merging = _Merging(own_origin, given, PROVIDER_BOUND if other_provider else frozenset())
    return merging.group(defaults, own, ""), merging.origins


class _Merging:
    def __init__(self, own_origin: str, given: Set[str], not_inherited: Set[str]) -> None:
        self.origins: dict[str, str] = {}
        self._own_origin = own_origin
        self._given = given
        self._not_inherited = not_inherited

    def group(self, defaults: AnyGroup, own: AnyGroup, prefix: str) -> AnyGroup:
        values: dict[str, object] = {}
        for key, attribute in attributes(type(own)):
            lower, upper = getattr(defaults, attribute), getattr(own, attribute)
            if isinstance(upper, Group):
                values[attribute] = self.group(lower, upper, f"{prefix}{key}.")
            else:
                values[attribute] = self._value(lower, upper, f"{prefix}{key}")
        return maker(type(own))(**values)

    def _value(self, lower: object, upper: object, key: str) -> object:
        in_defaults = self._is_given("agents.defaults", key) and key not in self._not_inherited
        in_own = self._is_given(self._own_origin, key)
        if in_own and in_defaults and key in ADDED_UP and isinstance(lower, tuple) and isinstance(upper, tuple):
            self.origins[key] = f"agents.defaults + {self._own_origin}"
            return tuple(dict.fromkeys((*lower, *upper)))
        if in_defaults and not in_own:
            self.origins[key] = "agents.defaults"
            return lower
        self.origins[key] = self._own_origin if in_own else "default"
        return upper

    def _is_given(self, place: str, key: str) -> bool:
        return f"{place}.memorySearch.{key}" in self._given
