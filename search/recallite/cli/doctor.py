"""Try out what an agent's memory needs, and say what to do where it fails.

Each provider in use is asked to embed two words, through the client that indexing uses. Nothing is written. The exit
code is 0 when all is well, 3 with warnings, 1 when something failed.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict

from recallite.cli.output import add_agent, add_json, print_json, visible

_EXIT = {"ok": 0, "warning": 3, "failed": 1}
_WORST_FIRST = (1, 3, 0)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_agent(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    from recallite.config import load_settings
    from recallite.diagnosis import diagnose

    settings = load_settings(args.config)
    checks = []
    if not args.json:
        print(f"{'config':11} {'ok':8} {visible(str(settings.config_file or 'no file: all defaults'))}")
    for check in diagnose(settings.agent(args.agent)):
        checks.append(check)
        if not args.json:
            print(f"{check.name:11} {check.outcome:8} {visible(check.text)}", flush=True)
    if args.json:
        print_json([asdict(check) for check in checks])
    return min((_EXIT[check.outcome] for check in checks), key=_WORST_FIRST.index)
