"""The example agent, against a chat server on this machine that answers as a model does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "agent.py"
if not EXAMPLE.exists():
    pytest.skip("the tests run without the repository around them", allow_module_level=True)


class ChatModel(BaseHTTPRequestHandler):
    """First asks for memory_search, then answers with what the tool returned."""

    seen: list[dict[str, Any]]

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.seen.append(request)
        last = request["messages"][-1]
        message: dict[str, Any] = {"role": "assistant", "content": None}
        if last["role"] == "user":
            function = {"name": "memory_search", "arguments": json.dumps({"query": last["content"]})}
            message["tool_calls"] = [{"id": "call_1", "type": "function", "function": function}]
        else:
            message["content"] = json.loads(last["content"])["results"][0]["snippet"]
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        body = json.dumps(
            {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
        ).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        """Say nothing."""


def test_the_example_answers_from_the_notes(lab: Any) -> None:
    lab.model = None
    lab.memory_search = {"provider": "builtin"}
    lab.note("MEMORY.md", "- The printer is on VLAN 30.\n")
    lab.index()
    ChatModel.seen = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), ChatModel)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    env = {
        **os.environ,
        "OPENCLAW_STATE_DIR": str(lab.root / "state"),
        "OPENCLAW_CONFIG_PATH": str(lab.root / "openclaw.json"),
        "OPENAI_API_KEY": "sk-test",
        "OPENAI_BASE_URL": f"http://127.0.0.1:{server.server_port}/v1",
        "NO_PROXY": "127.0.0.1",
    }
    try:
        command = [sys.executable, str(EXAMPLE), "where is the printer?"]
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120)
    finally:
        server.shutdown()
        server.server_close()

    assert done.returncode == 0, done.stderr
    assert "VLAN 30" in done.stdout and "Source: MEMORY.md#L1" in done.stdout
    first, second = ChatModel.seen
    assert [tool["function"]["name"] for tool in first["tools"]] == ["memory_search", "memory_get"]
    assert "memory_search" in first["messages"][0]["content"]
    assert second["messages"][-1]["tool_call_id"] == "call_1"


def test_it_is_about_twenty_lines() -> None:
    code = [line for line in EXAMPLE.read_text("utf-8").splitlines() if line.strip()]

    assert len(code) <= 22
