"""The text of the configuration file as a tree of Python values."""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path

from recallite.errors import ConfigError

_JSON5_ERROR = r"<string>:(\d+) (.*) at column (\d+)"


class Table(dict[str, object]):
    """An object of the file that remembers which of its keys were given more than once."""

    repeated: tuple[str, ...] = ()

    @classmethod
    def of(cls, pairs: list[tuple[str, object]]) -> Table:
        table = cls(pairs)
        if len(table) < len(pairs):
            keys = [key for key, _ in pairs]
            table.repeated = tuple(key for key in table if keys.count(key) > 1)
        return table


def read_tree(file: Path, *, named_by: str | None) -> Table:
    """The content of `file`; an empty tree if it is absent and nobody named it.

    Raises ConfigError if the file cannot be read or is neither JSON nor JSON5.
    """
    try:
        if not stat.S_ISREG(file.stat().st_mode) and not file.is_dir():
            raise ConfigError(file, ["it is a pipe, a device or a socket: name a file"])  # to read it may never end
        data = file.read_bytes()
    except FileNotFoundError:
        if named_by is None and not file.is_symlink():
            return Table()
        who = f" (named by {named_by})" if named_by else ""
        raise ConfigError(file, [f"the file does not exist{who}"]) from None
    except OSError as error:
        raise ConfigError(file, [f"the file cannot be read: {error.strerror}"]) from error
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:  # holds the whole file, secrets included: never chained
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(file, [f"line {line}: the file is not UTF-8; save it as UTF-8"]) from None
    tree = _parse(text, file)
    if not isinstance(tree, Table):
        raise ConfigError(file, ["the file must hold one object: { ... }"])
    return tree


def _parse(text: str, file: Path) -> object:
    if not text.strip():
        raise ConfigError(file, ["the file is empty; write {} if there is nothing to set"])
    try:
        return json.loads(text, object_pairs_hook=Table.of, parse_float=_number)
    except RecursionError:
        raise ConfigError(file, ["the file is nested too deeply"]) from None
    except ValueError:
        return _parse_json5(text, file)


def _parse_json5(text: str, file: Path) -> object:
    # Written in Python, at some 25 KB a second: loaded and used only where the standard module refuses.
    import json5

    try:
        return json5.loads(text, object_pairs_hook=lambda pairs: Table.of(list(pairs)), parse_float=_number)
    except RecursionError:
        raise ConfigError(file, ["the file is nested too deeply"]) from None
    except ValueError as error:
        raise ConfigError(file, [_syntax_problem(str(error))]) from None


def _number(text: str) -> int | float:
    # JSON knows one kind of number: 1e5 and 6.0 are whole.
    number = float(text)
    return int(number) if number.is_integer() else number


def _syntax_problem(message: str) -> str:
    match = re.fullmatch(_JSON5_ERROR, message, re.DOTALL)
    if match is None:
        return f"syntax error: {message}"
    line, what, column = match.groups()
    what = " ".join(what.replace("\n", "\\n").split())
    return f"line {line}, column {column}: syntax error: {what[:1].lower()}{what[1:]}"
