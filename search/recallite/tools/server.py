"""An MCP server with the tools of one agent, over stdio or over HTTP on this machine only.

Only this module and `lines` import the `mcp` package; `recallite mcp` runs it.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable
from typing import Any

import anyio
import anyio.to_thread
import mcp_types as types
import uvicorn
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings

from recallite import __version__
from recallite.tools.calls import MemoryTools
from recallite.tools.lines import AnsweringStream

LOOPBACK = "127.0.0.1"
PATH = "/mcp"


def mcp_server(tools: MemoryTools) -> Server[Any]:
    """The server; it lists no tool when the agent has none. Searches run in threads, several at once."""

    async def list_tools(
        context: ServerRequestContext[Any], parameters: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(
            tools=[
                types.Tool(
                    name=schema["name"],
                    description=schema["description"],
                    input_schema=schema["inputSchema"],
                    annotations=types.ToolAnnotations(read_only_hint=True, open_world_hint=False),
                )
                for schema in tools.schemas("mcp")
            ]
        )

    async def call_tool(
        context: ServerRequestContext[Any], parameters: types.CallToolRequestParams
    ) -> types.CallToolResult:
        result = await anyio.to_thread.run_sync(tools.call, parameters.name, parameters.arguments)
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=json.dumps(result, ensure_ascii=False))],
            structured_content=result,
            is_error="error" in result,
        )

    return Server(
        "recallite",
        version=__version__,
        instructions=tools.instructions() or None,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def serve_stdio(tools: MemoryTools) -> None:
    """Serve one client on standard input and output, until it closes them."""

    async def serve() -> None:
        server = mcp_server(tools)
        async with stdio_server() as (read, write):
            await server.run(AnsweringStream(read, write), write, server.create_initialization_options())

    anyio.run(serve)


def serve_http(tools: MemoryTools, port: int, *, announce: Callable[[str], None]) -> None:
    """Serve on the loopback address until SIGINT or SIGTERM; `announce` is given the address of the endpoint.

    Port 0 takes a free one. Requests must name this very address as their Host and, if they come from a web
    page, as their Origin: a page of another site, or a name that was made to lead here, is refused.
    Raises OSError when the port is taken.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        if os.name == "posix":  # elsewhere the option lets two programs share a port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((LOOPBACK, port))
        except OSError as error:
            raise OSError(f"port {port} of {LOOPBACK} cannot be used: {error.strerror}") from error
        port = listener.getsockname()[1]
        names = [f"{host}:{port}" for host in (LOOPBACK, "localhost")]
        security = TransportSecuritySettings(allowed_hosts=names, allowed_origins=[f"http://{name}" for name in names])
        app = mcp_server(tools).streamable_http_app(
            streamable_http_path=PATH, json_response=True, stateless_http=True, transport_security=security
        )
        config = uvicorn.Config(app, log_level="warning", access_log=False, timeout_graceful_shutdown=5)
        listener.listen()
        announce(f"http://{LOOPBACK}:{port}{PATH}")
        uvicorn.Server(config).run(sockets=[listener])
