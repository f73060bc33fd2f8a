"""Which files of an extra path are left out: `exclude` globs, `.gitignore` and `.ignore` files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

IGNORE_FILES = (".gitignore", ".ignore")


class IgnoreRules:
    """The rules in force in one directory; `enter` gives those of a directory below it.

    Patterns have git's meaning. A later, deeper file decides over an earlier one, as in git.
    """

    def __init__(self, exclude: Sequence[str] = ()) -> None:
        self._exclude = _spec(exclude) if exclude else None
        self._layers: tuple[tuple[int, GitIgnoreSpec], ...] = ()

    def enter(self, directory: Path, parts: tuple[str, ...], names: Sequence[str]) -> IgnoreRules:
        """The rules inside `directory`: its entries are `names`, and it lies at `parts` below the root."""
        found = [(len(parts), _spec(_lines(directory / name))) for name in IGNORE_FILES if name in names]
        if not found:
            return self
        below = IgnoreRules()
        below._exclude = self._exclude
        below._layers = (*self._layers, *found)
        return below

    def ignores(self, parts: tuple[str, ...], *, is_dir: bool) -> bool:
        """Whether the entry at `parts` below the root is left out."""
        suffix = "/" if is_dir else ""
        if self._exclude is not None and self._exclude.match_file("/".join(parts) + suffix):
            return True
        for depth, spec in reversed(self._layers):
            verdict = spec.check_file("/".join(parts[depth:]) + suffix).include
            if verdict is not None:
                return verdict
        return False


def _spec(patterns: Iterable[str]) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec  # imported here: a search never needs it

    return GitIgnoreSpec.from_lines(patterns)


def _lines(file: Path) -> list[str]:
    try:
        if file.is_symlink():
            return []
        return file.read_text("utf-8", errors="replace").splitlines()
    except OSError:
        return []
