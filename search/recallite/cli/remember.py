"""Append a fact to an agent's MEMORY.md, or with --today a note to the log of the day."""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict

from recallite.cli.output import add_agent, add_json, print_json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("words", nargs="*", metavar="TEXT", help="what to write; - reads standard input")
    parser.add_argument("--today", action="store_true", help="write to memory/YYYY-MM-DD.md, not to MEMORY.md")
    add_agent(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    from recallite.config import load_settings
    from recallite.memory.notes import append_to_log, remember

    if not args.words:
        print("recallite: nothing to write: recallite remember TEXT", file=sys.stderr)
        return 2
    text = sys.stdin.read() if args.words == ["-"] else " ".join(args.words)
    text = text.encode("utf-8", errors="surrogateescape").decode("utf-8", errors="replace")
    settings = load_settings(args.config).agent(args.agent)
    written = append_to_log(settings, text) if args.today else remember(settings, text)
    if args.json:
        print_json(asdict(written))
    else:
        print(f"{written.path}:{written.start_line}-{written.end_line}")
    return 0
