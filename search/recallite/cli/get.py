"""Print a note of an agent's memory, or some of its lines.

A note that is not there, and lines past its end, are empty text and no error: why it is empty stands on standard error.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from recallite.cli.output import add_agent, add_json, positive_int, print_json, visible
from recallite.wording import counted

if TYPE_CHECKING:
    from recallite.client import MemorySearch


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", help="as search prints it, such as memory/2026-02-10.md")
    parser.add_argument("--from", dest="from_line", type=positive_int, metavar="LINE", help="first line")
    parser.add_argument("--lines", type=positive_int, metavar="N", help="number of lines")
    add_agent(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    from recallite.client import MemorySearch

    with MemorySearch(args.agent, config=args.config) as memory:
        excerpt = memory.get(args.path, from_line=args.from_line, lines=args.lines)
        if not excerpt.text:
            _explain(memory, args.path, excerpt.path, args.from_line or 1)
    if args.json:
        print_json(excerpt)
    else:
        sys.stdout.write(excerpt.text)
        if excerpt.text and not excerpt.text.endswith("\n"):
            sys.stdout.write("\n")
    return 0


def _explain(memory: MemorySearch, asked: str, name: str, first_line: int) -> None:
    """Say why there is no text."""
    from recallite.workspace import LineMap, note_exists

    settings = memory.settings
    if not note_exists(asked, settings.workspace, settings.extra_paths):
        lost = "" if settings.workspace.is_dir() else f": the workspace {settings.workspace} is not there"
        print(visible(f"recallite: no note {name}{lost}"), file=sys.stderr)
        return
    whole = memory.get(asked).text
    lines = len(LineMap(whole)) if whole else 0
    if not whole:
        print(visible(f"recallite: {name} is empty"), file=sys.stderr)
    elif first_line > lines:
        print(visible(f"recallite: {name} has {counted(lines, 'line')}"), file=sys.stderr)
