"""Print a note of an agent's memory, or some of its lines."""

from __future__ import annotations

import argparse
import sys

from recallite.cli.output import add_agent, add_json, positive_int, print_json


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
    if args.json:
        print_json(excerpt)
    else:
        sys.stdout.write(excerpt.text)
        if excerpt.text and not excerpt.text.endswith("\n"):
            sys.stdout.write("\n")
    return 0
