"""Which files of an extra path are left out: `exclude` globs, `.gitignore` and `.ignore` files.

Patterns have the meaning of gitignore(5), which a test checks against git itself.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from recallite.filenames import as_text

IGNORE_FILES = (".gitignore", ".ignore")

_CLASSES = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "blank": r" \t",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": r"\x21-\x7e",
    "lower": "a-z",
    "print": r"\x20-\x7e",
    "punct": r"\x21-\x2f\x3a-\x40\x5b-\x60\x7b-\x7e",
    "space": r" \t\n\r\f\v",
    "upper": "A-Z",
    "xdigit": "0-9A-Fa-f",
}


@dataclass(frozen=True, slots=True)
class RefusedLine:
    """A line that cannot be a pattern, and is passed over."""

    file: Path | None
    """None for the setting `exclude`."""
    fault: str
    """Which line it is, and why it is no pattern."""

    @property
    def reason(self) -> str:
        return f"{self.fault}; it is passed over"


class IgnoreRules:
    """The rules in force in one directory; `enter` gives those of a directory below it.

    The last pattern that matches an entry decides, and a deeper file over those above it. What lies in a
    directory that is left out cannot be had back: nobody looks there.
    """

    def __init__(self, exclude: Sequence[str] = ()) -> None:
        self._exclude, reasons = _patterns(exclude, "pattern")
        self._layers: tuple[tuple[int, tuple[_Pattern, ...]], ...] = ()
        self.refused = tuple(RefusedLine(None, reason) for reason in reasons)
        """Lines that were read to make this very object and cannot be patterns."""

    def enter(self, directory: Path, parts: tuple[str, ...], names: Sequence[str]) -> IgnoreRules:
        """The rules inside `directory`: its entries are `names`, and it lies at `parts` below the root.

        Gives this object itself when the directory has no rules of its own.
        """
        files = [directory / name for name in IGNORE_FILES if name in names]
        found = [(file, _patterns(_lines(file), "line")) for file in files]
        if not any(patterns or reasons for _, (patterns, reasons) in found):
            return self
        below = IgnoreRules()
        below._exclude = self._exclude
        below._layers = (*self._layers, *((len(parts), patterns) for _, (patterns, _) in found))
        below.refused = tuple(RefusedLine(file, reason) for file, (_, reasons) in found for reason in reasons)
        return below

    def ignores(self, parts: tuple[str, ...], *, is_dir: bool) -> bool:
        """Whether the entry at `parts` below the root is left out. Directories above it must be asked for first."""
        return self._leaves_out(tuple(map(as_text, parts)), is_dir=is_dir)

    def _leaves_out(self, parts: tuple[str, ...], *, is_dir: bool) -> bool:
        if _verdict(self._exclude, parts, is_dir):
            return True
        for depth, patterns in reversed(self._layers):
            verdict = _verdict(patterns, parts[depth:], is_dir)
            if verdict is not None:
                return verdict
        return False

    def holds(self, path: str) -> bool:
        """Whether a pattern matches the file of this index path, or a folder that it lies in."""
        parts = tuple(part for part in path.split("/") if part)
        folders = (parts[:end] for end in range(1, len(parts)))
        return any(self._leaves_out(each, is_dir=True) for each in folders) or self._leaves_out(parts, is_dir=False)


@dataclass(frozen=True, slots=True)
class _Pattern:
    """One line: what it matches, and what that means."""

    regex: re.Pattern[str]
    leaves_out: bool
    """False for a line that begins with `!`."""
    only_dirs: bool
    whole_path: bool
    """Whether the path from the file's directory on is matched, or the last name of it."""


def _verdict(patterns: Sequence[_Pattern], parts: tuple[str, ...], is_dir: bool) -> bool | None:
    path = "/".join(parts)
    for pattern in reversed(patterns):
        text = path if pattern.whole_path else parts[-1]
        if (is_dir or not pattern.only_dirs) and pattern.regex.fullmatch(text):
            return pattern.leaves_out
    return None


def _patterns(lines: Iterable[str], called: str) -> tuple[tuple[_Pattern, ...], list[str]]:
    """The patterns in `lines`, and a reason for each line that cannot be one."""
    patterns: list[_Pattern] = []
    reasons: list[str] = []
    for number, line in enumerate(lines, 1):
        try:
            pattern = _pattern(line)
        except ValueError as error:
            reasons.append(f"{called} {number}, {line!r}, is no pattern: {error}")
            continue
        if pattern is not None:
            patterns.append(pattern)
    return tuple(patterns), reasons


def _pattern(line: str) -> _Pattern | None:
    """The pattern in a line; None for a blank line or a comment. Raises ValueError for what can match nothing."""
    text = _without_trailing_spaces(line)
    if not text or text.startswith("#"):
        return None
    leaves_out = not text.startswith("!")
    text = text.removeprefix("!")
    only_dirs = text.endswith("/")
    text = text.removesuffix("/")
    if not text:
        raise ValueError("there is no name in it")
    whole_path = "/" in text
    return _Pattern(_regex(text.removeprefix("/")), leaves_out, only_dirs, whole_path)


def _without_trailing_spaces(line: str) -> str:
    text = line.rstrip(" ")
    escapes = len(text) - len(text.rstrip("\\"))
    return text + " " if escapes % 2 and text != line else text


def _regex(glob: str) -> re.Pattern[str]:
    """A glob as git's wildmatch understands it; `*`, `?` and brackets never match a slash, `**` does."""
    regex = ""
    at = 0
    while at < len(glob):
        sign = glob[at]
        if sign == "*":
            part, at = _stars(glob, at)
        elif sign == "[":
            part, at = _bracket(glob, at)
        elif sign == "?":
            part, at = "[^/]", at + 1
        else:
            literal, at = _character(glob, at)
            part = re.escape(literal)
        regex += part
    return re.compile(regex, re.DOTALL)


def _stars(glob: str, at: int) -> tuple[str, int]:
    end = at
    while glob[end : end + 1] == "*":
        end += 1
    alone = at == 0 or glob[at - 1] == "/"
    if end - at < 2 or not alone or glob[end : end + 1] not in ("", "/"):
        return "[^/]*", end
    return (".*", end) if end == len(glob) else ("(?:.*/)?", end + 1)


def _character(glob: str, at: int) -> tuple[str, int]:
    """A character as itself, which a backslash before it says of any."""
    if glob[at] == "\\":
        at += 1
    if at == len(glob):
        raise ValueError("it ends with a backslash" if glob.endswith("\\") else "a bracket is not closed")
    return glob[at], at + 1


def _bracket(glob: str, at: int) -> tuple[str, int]:
    at += 1
    negated = glob[at : at + 1] in ("!", "^")
    at += negated
    members = ""
    while not members or glob[at : at + 1] != "]":
        if at >= len(glob):
            raise ValueError("a bracket is not closed")
        named = re.compile(r"\[:([^]]*):]").match(glob, at)
        if named is not None:
            if named[1] not in _CLASSES:
                raise ValueError(f"there is no class of characters {named[1]!r}")
            members += _CLASSES[named[1]]
            at = named.end()
            continue
        first, at = _character(glob, at)
        last = first
        if glob[at : at + 1] == "-" and glob[at + 1 : at + 2] not in ("", "]"):
            last, at = _character(glob, at + 1)
        if last < first:
            raise ValueError(f"nothing lies between {first!r} and {last!r}")
        members += f"{re.escape(first)}-{re.escape(last)}"
    return (f"[^/{members}]" if negated else f"(?!/)[{members}]"), at + 1


_MOST_BYTES = 1024 * 1024


def _lines(file: Path) -> list[str]:
    """The lines of a regular file, up to a length that no ignore file has; none if it cannot be read."""
    try:
        if not stat.S_ISREG(file.lstat().st_mode):
            return []
        with file.open("rb") as opened:
            data = opened.read(_MOST_BYTES)
    except OSError:
        return []
    # The byte order mark of some editors is no part of the first pattern; file names are decoded like this too.
    text = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", errors="surrogateescape")
    return [line.removesuffix("\r") for line in text.split("\n")]
