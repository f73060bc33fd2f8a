"""`recallite`: find the command, parse its arguments, run it, report errors."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Protocol

from recallite.cli.output import NEW_LINE, accept_any_text, visible

BUILT_IN = {
    "search": ("recallite.cli.search", "search an agent's memory"),
    "get": ("recallite.cli.get", "print a note, or some of its lines"),
    "status": ("recallite.cli.status", "compare the index with the files"),
    "doctor": ("recallite.cli.doctor", "try out what an agent's memory needs, each provider included"),
    "eval": ("recallite.cli.evaluate", "measure the search with your own questions"),
    "remember": ("recallite.cli.remember", "append a fact to MEMORY.md, or a note to today's log"),
    "mcp": ("recallite.cli.mcp", "serve an agent's memory to MCP clients"),
    "config": ("recallite.cli.config", "show the resolved settings and where they come from"),
}
ENTRY_POINTS = "recallite.commands"
"""Further commands join through this entry point group; each names a module like those of this package."""

EXIT_OK, EXIT_FAILED, EXIT_USAGE, EXIT_DEGRADED = 0, 1, 2, 3


class Command(Protocol):
    """What a command's module offers."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, args: argparse.Namespace) -> int: ...


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code (0 fine, 1 failed, 2 wrong usage, 3 degraded). Raises KeyboardInterrupt."""
    arguments = joined_queries(sys.argv[1:] if argv is None else argv)
    accept_any_text(sys.stdout, sys.stderr)
    try:
        parser = _parser(arguments)
        args = parser.parse_args(arguments)
        if args.command is None:
            parser.print_help()
            return EXIT_USAGE
        return _run(args)
    except BrokenPipeError:
        _drop_output()  # its reader is gone (`recallite search … | head`): nothing is left to say to it
        return EXIT_OK


def _run(args: argparse.Namespace) -> int:
    from recallite.errors import RecalliteError

    command: Command = args.module
    try:
        code = command.run(args)
        sys.stdout.flush()
        return code
    except (RecalliteError, OSError) as error:
        if isinstance(error, BrokenPipeError):
            raise
        print(f"recallite: {visible(str(error), keep=NEW_LINE)}", file=sys.stderr)
        _drop_output()
        return EXIT_FAILED
    except Exception as error:
        if type(error).__module__ != "apsw":  # not imported here: a command may need no database
            raise
        text = f"a database cannot be used ({type(error).__name__}: {error})"
        print(f"recallite: {visible(text)}: `recallite status` says which, and what to do", file=sys.stderr)
        return EXIT_FAILED


def _drop_output() -> None:
    """What could not be written is not tried again when the process ends."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parser(arguments: Sequence[str]) -> argparse.ArgumentParser:
    """Only the command that was asked for is imported; all of them for help."""
    parser = argparse.ArgumentParser(prog="recallite", description="Searchable memory for AI agents.")
    parser.add_argument("--version", action="version", version=f"recallite {_version()}")
    parser.add_argument("--config", metavar="FILE", help="configuration file (default: openclaw.json as found)")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    asked = command_in(arguments)
    if asked in BUILT_IN:
        module, summary = BUILT_IN[asked]
        _add(commands, asked, import_module(module), summary)
        return parser
    for name, (module, summary) in BUILT_IN.items():
        _add(commands, name, import_module(module), summary)
    for name, command in _further_commands():
        summary = (command.__doc__ or "").strip().split("\n")[0].rstrip(".")
        _add(commands, name, command, summary[:1].lower() + summary[1:])
    return parser


def command_in(arguments: Sequence[str]) -> str | None:
    """The command, as argparse will find it: the first argument that is no option, nor the value of --config."""
    waiting = iter(arguments)
    for argument in waiting:
        if not argument.startswith("-") or argument == "-":
            return argument
        if argument == "--":
            return next(waiting, None)
        if argument in ("-h", "--help"):
            return None
        if "--config".startswith(argument):
            next(waiting, None)
    return None


def joined_queries(arguments: Sequence[str]) -> list[str]:
    """`--query`, `-x` as `--query=-x`: argparse takes a text that begins with a dash for an option."""
    joined: list[str] = []
    if command_in(arguments) != "search":
        return list(arguments)
    waiting = iter(arguments)
    for argument in waiting:
        if argument == "--":
            return [*joined, argument, *waiting]
        text = next(waiting, None) if argument == "--query" else None
        joined.append(argument if text is None else f"{argument}={text}")
    return joined


def _further_commands() -> list[tuple[str, Command]]:
    from importlib.metadata import entry_points

    commands: list[tuple[str, Command]] = []
    for entry in sorted(entry_points(group=ENTRY_POINTS), key=lambda entry: entry.name):
        try:
            commands.append((entry.name, entry.load()))
        except (ImportError, AttributeError) as error:
            # One package that is broken must not take the commands of the others along.
            print(f"recallite: the command {entry.name} cannot be loaded: {error}", file=sys.stderr)
    return commands


def _add(
    commands: argparse._SubParsersAction[argparse.ArgumentParser], name: str, command: object, summary: str
) -> None:
    parser = commands.add_parser(name, help=summary, description=(getattr(command, "__doc__", "") or "").strip())
    module: Command = command  # type: ignore[assignment]  # a module has the protocol's two functions
    module.add_arguments(parser)
    parser.set_defaults(module=module)


def _version() -> str:
    from recallite import __version__

    return __version__


if __name__ == "__main__":
    from recallite.cli.entry import run

    sys.exit(run())
