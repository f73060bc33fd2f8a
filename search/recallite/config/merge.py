"""One agent's `memorySearch` over the defaults', leaf by leaf, with a note of where each value came from."""

from __future__ import annotations

from collections.abc import Collection
from typing import TypeVar

from pydantic import BaseModel

from recallite.config.schema import keys_of, nested
from recallite.config.schema_search import FIRST_AUTOMATIC_PROVIDER, MemorySearchConfig

AnyGroup = TypeVar("AnyGroup", bound=BaseModel)

ADDED_UP = frozenset({"extraPaths", "exclude"})
"""Lists to which an agent adds; all other values of an agent replace those of the defaults."""

PROVIDER_BOUND = frozenset(
    {"model", "outputDimensionality"}
    | {f"remote.{key}" for key in ("baseUrl", "apiKey", "headers", "sameModel", "maxItemsPerRequest")}
)
"""What belongs to one provider. An agent that chooses another provider than the defaults does not inherit
these: the key of one must not be sent to the other, whose models have other names besides."""


def merge(
    defaults: MemorySearchConfig, own: MemorySearchConfig, *, own_origin: str
) -> tuple[MemorySearchConfig, dict[str, str]]:
    """The merged settings, and from each dotted key to "default", "agents.defaults" or `own_origin`."""
    inherited_provider = defaults.provider or FIRST_AUTOMATIC_PROVIDER
    other_provider = own.provider is not None and own.provider != inherited_provider
    origins: dict[str, str] = {}
    merging = _Merging(own_origin, PROVIDER_BOUND if other_provider else (), origins)
    return merging.group(defaults, own, ""), origins


class _Merging:
    def __init__(self, own_origin: str, not_inherited: Collection[str], origins: dict[str, str]) -> None:
        self._own_origin = own_origin
        self._not_inherited = not_inherited
        self._origins = origins

    def group(self, defaults: AnyGroup, own: AnyGroup, prefix: str) -> AnyGroup:
        values: dict[str, object] = {}
        given: set[str] = set()
        for key, (name, field) in keys_of(type(own)).items():
            dotted = f"{prefix}{key}"
            lower, upper = getattr(defaults, name), getattr(own, name)
            if nested(field):
                values[name] = self.group(lower, upper, f"{dotted}.")
                given |= {name} & (defaults.model_fields_set | own.model_fields_set)
                continue
            in_defaults = name in defaults.model_fields_set and dotted not in self._not_inherited
            in_own = name in own.model_fields_set
            given |= {name} if in_own or in_defaults else set()
            if in_own and in_defaults and dotted in ADDED_UP:
                values[name] = tuple(dict.fromkeys((*lower, *upper)))
                self._origins[dotted] = f"agents.defaults + {self._own_origin}"
            elif in_defaults and not in_own:
                values[name] = lower
                self._origins[dotted] = "agents.defaults"
            else:
                values[name] = upper
                self._origins[dotted] = self._own_origin if in_own else "default"
        return type(own).model_construct(_fields_set=given, **values)
