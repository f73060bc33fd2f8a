"""`recallite mcp` with the official client, over both transports, as a process of its own."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters

pytestmark = pytest.mark.slow


@pytest.fixture
def noted(lab: Any) -> Any:
    lab.memory_search = {"provider": "builtin"}
    lab.model = None
    lab.note("MEMORY.md", "# Memory\n\n- The printer is on VLAN 30.\n")
    lab.note("memory/2026-02-10.md", "# Day\n\nCodeword ZEBRA-7731.\n")
    lab.index()
    return lab


def command(lab: Any, *arguments: str) -> tuple[list[str], dict[str, str]]:
    _ = lab.settings
    program = [sys.executable, "-m", "recallite.cli.main", "--config", str(lab.root / "openclaw.json")]
    return [*program, "mcp", *arguments], {**os.environ, "OPENCLAW_STATE_DIR": str(lab.root / "state")}


def ask(server: Any, *calls: tuple[str, dict[str, Any]]) -> tuple[Any, list[Any], list[Any]]:
    """The client's view: instructions, tools, and the results of `calls`."""

    async def talk() -> tuple[Any, list[Any], list[Any]]:
        with anyio.fail_after(60):
            async with Client(server) as client:
                listed = await client.list_tools()
                results = [await client.call_tool(name, arguments) for name, arguments in calls]
                return client.instructions, list(listed.tools), results

    return anyio.run(talk)


def over_stdio(lab: Any, *calls: tuple[str, dict[str, Any]], arguments: tuple[str, ...] = ()) -> Any:
    program, env = command(lab, *arguments)
    return ask(StdioServerParameters(command=program[0], args=program[1:], env=env), *calls)


@contextmanager
def http_server(lab: Any, *arguments: str) -> Iterator[str]:
    """The address of a server on a free port; it is ended by SIGTERM, as a service manager does."""
    program, env = command(lab, "--port", "0", *arguments)
    process = subprocess.Popen(program, env=env, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    watchdog = threading.Timer(60, process.kill)
    watchdog.start()
    try:
        assert process.stderr is not None
        lines = []
        for line in process.stderr:
            lines.append(line)
            if "http://" in line:
                break
        assert lines and "http://" in lines[-1], lines
        yield lines[-1].split()[-1]
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)
    finally:
        watchdog.cancel()
        process.kill()
        process.communicate()


CALLS = (
    ("memory_search", {"query": "ZEBRA-7731", "maxResults": 1}),
    ("memory_get", {"path": "MEMORY.md", "from": 3, "lines": 1}),
    ("memory_get", {"path": "../openclaw.json"}),
    ("memory_search", {"query": "x", "maxResults": "none"}),
)


def check(answers: tuple[Any, list[Any], list[Any]]) -> None:
    instructions, tools, (found, excerpt, refused, wrong) = answers
    assert "memory_search" in instructions
    assert [tool.name for tool in tools] == ["memory_search", "memory_get"]
    assert tools[0].input_schema["required"] == ["query"]
    assert tools[0].annotations.read_only_hint is True
    assert not found.is_error
    assert found.structured_content["results"][0]["path"] == "memory/2026-02-10.md"
    assert json.loads(found.content[0].text) == found.structured_content
    assert excerpt.structured_content == {"text": "- The printer is on VLAN 30.\n", "path": "MEMORY.md"}
    assert refused.is_error and "'..'" in refused.structured_content["error"]
    assert wrong.is_error and "must be a number" in wrong.structured_content["error"]


def test_over_standard_input_and_output(noted: Any) -> None:
    check(over_stdio(noted, *CALLS))


def test_over_http(noted: Any) -> None:
    with http_server(noted) as address:
        check(ask(address, *CALLS))
        check(ask(address, *CALLS))


def by_line(lab: Any, *lines: str) -> list[dict[str, Any]]:
    """What the server answers to these lines after the handshake, up to the answer to a last ping."""
    opening = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    sent = [
        json.dumps({"jsonrpc": "2.0", "id": "first", "method": "initialize", "params": opening}),
        json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        *lines,
    ]
    program, env = command(lab)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(program, env=env, encoding="utf-8", **pipes) as process:
        watchdog = threading.Timer(60, process.kill)
        watchdog.start()
        try:
            assert process.stdin is not None and process.stdout is not None
            process.stdin.write("\n".join(sent) + "\n")
            process.stdin.flush()
            answers = [json.loads(process.stdout.readline()) for _ in range(1 + sum(bool(line) for line in lines))]
            process.stdin.close()
            assert process.wait(30) == 0
        finally:
            watchdog.cancel()
            process.kill()
    assert answers[0]["id"] == "first"
    return answers[1:]


SEARCH = '{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "memory_search", "arguments": %s}}'


def test_a_line_that_is_no_message_is_answered(noted: Any) -> None:
    parse = {"code": -32700, "message": "the line is not JSON"}
    form = {"code": -32600, "message": "not a JSON-RPC message"}

    expected = [
        ("{bad", parse, None),
        ("[" * 100_000, parse, None),
        ('{"half": "\\ud83d"', parse, None),
        ("[]", form, None),
        ('{"jsonrpc": "2.0", "id": 5, "method": 7}', form, 5),
        ('{"jsonrpc": "2.0", "id": "x", "method": "\\ud83d", "params": [1]}', form, "x"),
    ]

    answers = by_line(noted, "", *(line for line, _, _ in expected))

    assert answers == [{"jsonrpc": "2.0", "id": id_, "error": error} for _, error, id_ in expected]


@pytest.mark.parametrize("half", [r"\ud83d", r"\uDE00", r"\ude00\ud83d", r"\\\ud83d", r"\ud83d\n"])
def test_half_an_emoji_does_not_keep_a_request_from_its_answer(noted: Any, half: str) -> None:
    [found] = by_line(noted, SEARCH % f'{{"query": "ZEBRA-7731 {half}"}}')

    assert found["id"] == 7
    assert found["result"]["structuredContent"]["results"][0]["path"] == "memory/2026-02-10.md"


def test_a_whole_emoji_stays(noted: Any) -> None:
    noted.note("memory/emoji.md", "the \N{GRINNING FACE} note")
    noted.index()

    [found] = by_line(noted, SEARCH % r'{"query": "\ud83d\ude00", "maxResults": 1, "x\ud83d": null}')

    assert "unknown argument" in found["result"]["structuredContent"]["error"]
    [found] = by_line(noted, SEARCH % r'{"query": "\ud83d\ude00", "maxResults": "1\ud83d"}')
    assert "1\N{REPLACEMENT CHARACTER}" in found["result"]["structuredContent"]["error"]


def test_citations_follow_the_session(noted: Any) -> None:
    _, _, [direct] = over_stdio(noted, CALLS[0])
    _, _, [group] = over_stdio(noted, CALLS[0], arguments=("--session", "agent:main:discord:group:1"))

    assert "Source: memory/2026-02-10.md" in direct.structured_content["results"][0]["snippet"]
    assert "Source:" not in group.structured_content["results"][0]["snippet"]


def status(address: str, **headers: str) -> int:
    """What the server answers to a request with these headers."""
    host, port = address.removeprefix("http://").partition("/")[0].split(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=30)
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    sent = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", **headers}
    try:
        connection.request("POST", "/mcp", json.dumps(message), sent)
        return connection.getresponse().status
    finally:
        connection.close()


def test_http_is_for_this_machine_and_for_no_page_of_another_site(noted: Any) -> None:
    with http_server(noted) as address:
        host = address.removeprefix("http://").partition("/")[0]
        port = host.rpartition(":")[2]

        assert address == f"http://127.0.0.1:{port}/mcp"
        assert status(address, Origin=f"http://{host}") not in (403, 421)
        assert status(address, Origin=f"http://localhost:{port}", Host=f"localhost:{port}") not in (403, 421)
        for origin in (
            "http://evil.example",
            "null",
            f"http://{host}.evil.example",
            "http://localhost:1",
            f"https://{host}",
        ):
            assert status(address, Origin=origin) == 403, origin
        for name in ("evil.example", f"evil.example:{port}", "127.0.0.1", f"{host}.evil.example", "localhost:1"):
            assert status(address, Host=name) == 421, name
        if sys.platform == "linux":  # there the whole of 127/8 leads to this machine
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection(("127.0.0.2", int(port)), timeout=30)


def test_a_server_is_for_one_agent(noted: Any) -> None:
    other = noted.root / "other"
    (other / "memory").mkdir(parents=True)
    (other / "memory/secret.md").write_text("Codeword ZEBRA-7731 of the other agent\n")
    noted.config = {
        "agents": {"list": [{"id": "main", "workspace": str(noted.workspace)}, {"id": "b", "workspace": str(other)}]}
    }
    noted.run("index")

    _, _, [mine] = over_stdio(noted, ("memory_search", {"query": "ZEBRA-7731", "maxResults": 50}))
    _, _, [theirs] = over_stdio(noted, ("memory_search", {"query": "ZEBRA-7731"}), arguments=("--agent", "b"))
    _, _, [read] = over_stdio(noted, ("memory_get", {"path": str(other / "memory/secret.md")}))

    assert mine.structured_content["results"][0]["path"] == "memory/2026-02-10.md"
    assert "other agent" not in mine.content[0].text
    assert "other agent" in theirs.content[0].text
    by_command = {name: noted.run("search", "--agent", name, "--json", "ZEBRA-7731").stdout for name in ("main", "b")}
    assert "other agent" in by_command["b"] and "other agent" not in by_command["main"]
    assert "2026-02-10" in by_command["main"] and "2026-02-10" not in by_command["b"]
    assert read.is_error and "outside" in read.structured_content["error"]


@pytest.mark.parametrize("config", [{"plugins": {"slots": {"memory": "none"}}}])
def test_switched_off_it_has_no_tools(noted: Any, config: dict[str, Any]) -> None:
    noted.config = config

    instructions, tools, [found] = over_stdio(noted, ("memory_search", {"query": "x"}))

    assert not instructions and tools == []
    assert found.is_error and "switched off" in found.structured_content["error"]


def test_a_port_that_is_taken_is_said(noted: Any) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        done = noted.run("mcp", "--port", str(port), check=False)

    assert done.returncode == 1
    assert f"port {port}" in done.stderr


def test_an_unknown_agent_is_an_error(noted: Any) -> None:
    done = noted.run("mcp", "--agent", "nobody", check=False)

    assert done.returncode == 1 and "no agent 'nobody'" in done.stderr
