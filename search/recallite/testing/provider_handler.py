"""The sockets of `ProviderServer`: reads requests, and answers or fails as it is told."""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event
from typing import Protocol, cast
from urllib.parse import urlsplit

from recallite.testing import behaviours as told
from recallite.testing.batch_service import BatchAnswer, BatchService
from recallite.testing.protocols import Answered, Problem, SeenRequest, WireProtocol

_JSON = "application/json"


class Plan(Protocol):
    """What the handler asks of the server."""

    key: str | None
    protocol: WireProtocol
    closing: Event
    batches: BatchService | None
    latency_seconds: float

    def connected(self) -> None: ...
    def transferred(self, *, received: int = 0, sent: int = 0) -> None: ...
    def take(self, request: SeenRequest) -> told.Behaviour | None: ...
    def problem_with(self, texts: Sequence[str]) -> Problem | None: ...
    def answers(self, request: SeenRequest, spoil: told.BadVectors | None) -> list[Answered]: ...


class ProviderHTTPServer(ThreadingHTTPServer):
    """Threads that hang do not hold up the end of the test."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 64
    plan: Plan


class ProviderHandler(BaseHTTPRequestHandler):
    """One connection; HTTP/1.1, so that clients can keep it open."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # head and body are two writes: 40 ms each answer otherwise
    server: ProviderHTTPServer

    def setup(self) -> None:
        super().setup()
        self.server.plan.connected()

    def do_GET(self) -> None:
        self._handle("GET")

    def do_DELETE(self) -> None:
        self._handle("DELETE")

    def do_POST(self) -> None:
        self._handle("POST")

    def _handle(self, method: str) -> None:
        plan = self.server.plan
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        plan.transferred(received=len(raw))
        asked = self._request(raw)
        if plan.batches is not None and (answer := plan.batches.answer(method, asked, raw, plan.key)) is not None:
            try:
                self._answer_batch(answer)
            except OSError:
                self.close_connection = True
            return
        request = plan.protocol.read(asked, plan.key)
        if isinstance(request, Problem):
            self._refuse(request)
            return
        behaviour = plan.take(request)
        try:
            self._behave(request, behaviour)
        except OSError:
            self.close_connection = True  # the client has gone

    def log_message(self, format: str, *args: object) -> None:
        """Silent: tests read the counts."""

    def _answer_batch(self, answer: BatchAnswer) -> None:
        if answer.breaks_off:
            self._break_off()
        else:
            self._send(answer.status, answer.body)

    def _request(self, raw: bytes) -> SeenRequest:
        try:
            body = json.loads(raw)
        except ValueError:
            body = None
        headers = {name.lower(): value for name, value in self.headers.items()}
        address = urlsplit(self.path)
        return SeenRequest(
            path=address.path,
            query=address.query,
            headers=headers,
            texts=[],
            body=body if isinstance(body, dict) else {},
            through_proxy=not self.path.startswith("/"),
        )

    def _behave(self, request: SeenRequest, behaviour: told.Behaviour | None) -> None:
        match behaviour:
            case told.Status():
                self._refuse(Problem(behaviour.status, behaviour.code, behaviour.message), _waits(behaviour))
            case told.Hang(seconds):
                self.server.plan.closing.wait(seconds)
                self._break_off()
            case told.Disconnect(half_way):
                self._disconnect(request, half_way)
            case told.Html(status):
                page = b"<!DOCTYPE html><html><body>Bad gateway</body></html>"
                self._send(status, page, content_type="text/html")
            case told.NullBody():
                self._send(200, b"null")
            case told.RawBody(body, status):
                self._send(status, body)
            case told.Drip():
                self._drip(self._true_reply(request), behaviour)
            case told.Delay(seconds):
                self.server.plan.closing.wait(seconds)
                self._answer(request, None)
            case told.Hold(release):
                while not release.wait(0.05) and not self.server.plan.closing.is_set():
                    continue
                self._answer(request, None)
            case told.BadVectors():
                self._answer(request, behaviour)
            case None:
                self._answer(request, None)

    def _answer(self, request: SeenRequest, spoil: told.BadVectors | None) -> None:
        plan = self.server.plan
        if plan.latency_seconds:
            plan.closing.wait(plan.latency_seconds)
        if problem := plan.problem_with(request.texts):
            self._refuse(problem)
        else:
            self._send(200, plan.protocol.reply(request, plan.answers(request, spoil)))

    def _true_reply(self, request: SeenRequest) -> bytes:
        plan = self.server.plan
        return plan.protocol.reply(request, plan.answers(request, None))

    def _refuse(self, problem: Problem, headers: Mapping[str, str] | None = None) -> None:
        self._send(problem.status, self.server.plan.protocol.problem(problem), headers=headers)

    def _send(
        self,
        status: int,
        body: bytes,
        *,
        content_type: str = _JSON,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
        self.server.plan.transferred(sent=len(body))

    def _drip(self, body: bytes, drip: told.Drip) -> None:
        lines = ["HTTP/1.1 200 OK", f"Content-Type: {_JSON}", f"Content-Length: {len(body)}", "", ""]
        head = "\r\n".join(lines).encode("ascii")
        if drip.where == "body":
            self.wfile.write(head)
            head = b""
        for byte in head + body:
            if self.server.plan.closing.wait(drip.interval_seconds):
                break
            self.wfile.write(bytes([byte]))
        self.close_connection = True

    def _disconnect(self, request: SeenRequest, half_way: bool) -> None:
        if half_way:
            body = self._true_reply(request)
            self.send_response(200)
            self.send_header("Content-Type", _JSON)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[: len(body) // 2])
        self._break_off()

    def _break_off(self) -> None:
        """With a reset, not a polite end, so that the client cannot take it for a short answer."""
        self.close_connection = True
        linger = struct.pack("ii", 1, 0)
        cast(socket.socket, self.connection).setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)


def _waits(status: told.Status) -> dict[str, str]:
    headers = {}
    if status.retry_after is not None:
        headers["Retry-After"] = str(status.retry_after)
    if status.retry_after_ms is not None:
        headers["Retry-After-Ms"] = str(status.retry_after_ms)
    return headers
