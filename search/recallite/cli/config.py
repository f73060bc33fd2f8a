"""`recallite config`: every setting of an agent, and where its value comes from."""

from __future__ import annotations

import argparse

from recallite.cli.output import NEW_LINE, print_json, visible


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.add_argument("--agent", metavar="ID", help="the agent; without it the default agent")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Print the settings of `args.agent`; secrets appear as "set"."""
    from recallite.config import load_settings
    from recallite.config.report import as_data, as_text, report

    found = report(load_settings(args.config).agent(args.agent))
    if args.json:
        print_json(as_data(found))
    else:
        print(visible(as_text(found), keep=NEW_LINE))
    return 0
