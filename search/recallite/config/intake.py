"""Our part of the file's tree: other programs' keys left out, `${VARIABLES}` replaced, strangers reported."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from typing import Final

from recallite.config.groups import Group, Key, SharedGroup, keys_of
from recallite.config.parse import Table
from recallite.filenames import as_text

_VARIABLE = r"\$(\$?)\{([A-Z_][A-Z0-9_]*)\}"
_PLAIN_KEY = re.compile(r"[A-Za-z0-9_$-]{1,60}")
_NEAR = 0.9
"""How alike a key of another program must be to one of ours to be taken for a slip."""


class _Fault:
    """Stands for a value that was reported and is left out."""


_FAULT: Final = _Fault()


def join(path: str, key: str | int) -> str:
    """The path of `key` below `path`, as error messages write it."""
    if isinstance(key, int):
        return f"{path}[{key}]"
    shown = key if _PLAIN_KEY.fullmatch(key) else json.dumps(key[:60])
    return f"{path}.{shown}" if path else shown


def _join_if_plain(path: str, key: str) -> str:
    # In `headers` someone may write a whole header line, key included, as the name.
    return join(path, key) if _PLAIN_KEY.fullmatch(key) else path


class Intake:
    """One pass over the tree. `problems` has a line for each fault, `faulty` the paths they are at."""

    def __init__(self, env: Mapping[str, str], *, providers: Collection[str]) -> None:
        self.problems: list[str] = []
        self.faulty: set[str] = set()
        self._env = env
        self._providers = providers

    def group(self, raw: object, model: type[Group], path: str = "") -> object:
        """What of `raw` belongs to `model`; a value that is no object is passed on as it is."""
        if not isinstance(raw, Table):
            return raw
        keys = keys_of(model)
        shared = issubclass(model, SharedGroup)
        taken: dict[str, object] = {}
        for key, value in raw.items():
            here = join(path, key)
            if key not in keys:
                self._stranger(key, keys, here, shared=shared)
                continue
            if key in raw.repeated:
                self._report(here, "the key is given twice")
            result = self._value(value, keys[key], here)
            if not isinstance(result, _Fault):
                taken[key] = result
        return taken

    def _value(self, raw: object, key: Key, path: str) -> object:
        if key.holds == "value" or raw is None:
            return self._plain(raw, path)
        if key.holds == "many" and isinstance(raw, list):
            return [self.group(item, key.group, join(path, index)) for index, item in enumerate(raw)]
        if key.holds == "named" and isinstance(raw, Table):
            names = [name for name in raw if name in self._providers]
            return {name: self.group(raw[name], key.group, join(path, name)) for name in names}
        return self.group(raw, key.group, path) if key.holds == "one" else raw

    def _plain(self, raw: object, path: str) -> object:
        if raw is None:
            return self._report(path, "null is not a value here; remove the key")
        if isinstance(raw, str):
            return self._text(raw, path)
        if isinstance(raw, list):
            items = [self._plain(item, join(path, index)) for index, item in enumerate(raw)]
            return _FAULT if any(isinstance(item, _Fault) for item in items) else items
        if isinstance(raw, Table):
            if raw.repeated:
                self._report(path, "a key is given twice")
            entries = {key: self._plain(value, _join_if_plain(path, key)) for key, value in raw.items()}
            return _FAULT if any(isinstance(value, _Fault) for value in entries.values()) else entries
        return raw

    def _text(self, text: str, path: str) -> str | _Fault:
        missing: list[str] = []

        def replace(match: re.Match[str]) -> str:
            escaped, name = match.groups()
            if escaped:
                return match[0][1:]
            if name not in self._env:
                missing.append(name)
            return as_text(self._env.get(name, ""))

        result = re.sub(_VARIABLE, replace, text) if "$" in text else text
        for name in dict.fromkeys(missing):
            self._report(path, f"the environment variable {name} is not set")
        if not missing and any("\ud800" <= char <= "\udfff" for char in result):
            self._report(path, "the text holds a broken Unicode escape (half a pair)")
        return _FAULT if path in self.faulty else result

    def _stranger(self, key: str, keys: Collection[str], path: str, *, shared: bool) -> None:
        if not shared:
            hint = _hint(key, keys, cutoff=0.6)
            self._report(path, f"unknown key;{hint} (allowed: {', '.join(sorted(keys))})")
        elif key == "memorySearch":
            self._report(path, "memorySearch belongs to agents.defaults.memorySearch; move it there")
        elif key == "$include":
            self._report(path, "other files cannot be included; write their keys into this one")
        elif hint := _hint(key, keys, cutoff=_NEAR):
            # Left alone, the slip would silently switch off a whole section.
            self._report(path, f"unknown key;{hint}")

    def _report(self, path: str, problem: str) -> _Fault:
        self.problems.append(f"{path}: {problem}")
        self.faulty.add(path)
        return _FAULT


def _hint(key: str, keys: Collection[str], *, cutoff: float) -> str:
    import difflib  # only errors need it

    known = {_folded(name): name for name in keys}
    swapped = [name for name in known if sorted(name) == sorted(_folded(key))]
    near = swapped or difflib.get_close_matches(_folded(key), known, n=1, cutoff=cutoff)
    return f' did you mean "{known[near[0]]}"?' if near else ""


def _folded(key: str) -> str:
    return key.casefold().replace("_", "").replace("-", "")
