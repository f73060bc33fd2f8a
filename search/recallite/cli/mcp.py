"""Serve an agent's memory to MCP clients: on standard input and output, or over HTTP to programs on this machine."""

from __future__ import annotations

import argparse
import sys
from importlib.util import find_spec

from recallite.cli.output import add_agent
from recallite.errors import RecalliteError

DEFAULT_PORT = 8765


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--http", action="store_true", help=f"serve HTTP on 127.0.0.1 (port {DEFAULT_PORT})")
    parser.add_argument("--port", type=port_number, metavar="N", help="another port, 0 for a free one; implies --http")
    parser.add_argument(
        "--session", metavar="KEY", help="session key of the conversation, such as agent:main:discord:channel:1"
    )
    add_agent(parser)


def run(args: argparse.Namespace) -> int:
    if find_spec("mcp") is None:
        raise RecalliteError("the mcp package is not installed: pip install 'recallite[mcp]'")
    from recallite.client import MemorySearch
    from recallite.tools.calls import MemoryTools
    from recallite.tools.server import serve_http, serve_stdio

    with MemorySearch(args.agent, config=args.config) as memory:
        tools = MemoryTools(memory, session_key=args.session)
        if not tools.enabled:
            print(f"recallite: agent {memory.agent} has no memory tools (switched off)", file=sys.stderr)
        if args.http or args.port is not None:
            port = DEFAULT_PORT if args.port is None else args.port
            serve_http(
                tools, port, announce=lambda address: print(f"recallite: {address}", file=sys.stderr, flush=True)
            )
        else:
            serve_stdio(tools)
    return 0


def port_number(text: str) -> int:
    """For argparse: a TCP port, or 0."""
    if not text.isdecimal() or int(text) > 65_535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port (0 to 65535)")
    return int(text)
