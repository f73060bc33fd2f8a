"""A real HTTP server for one large file: ranges, tags, redirects, and connections that break off on command."""

from __future__ import annotations

import hashlib
import threading
from collections import deque
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class FileServer:
    """`with FileServer(content) as server:` serves the bytes at any address below `server.url`."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.requests: list[tuple[str, str | None]] = []
        """Path and Range of each request."""
        self.authorizations: list[str | None] = []
        self.breaks: deque[int] = deque()
        """Bytes after which each of the next replies breaks off."""
        self.status: int | None = None
        """Answer every request with this status instead."""
        self.sha256: str | None = None
        """What the server claims, as a hub does; by default the truth."""
        self.pause = threading.Event()
        self.pause.set()
        """While it is cleared, replies stop before their last byte."""
        self._http = _Server(("127.0.0.1", 0), _Handler)
        self._http.files = self
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    @property
    def etag(self) -> str:
        return f'"{hashlib.md5(self.content, usedforsecurity=False).hexdigest()}"'

    def __enter__(self) -> FileServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.pause.set()
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    files: FileServer


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        files = self.server.files
        wanted = self.headers.get("Range")
        files.requests.append((self.path, wanted))
        files.authorizations.append(self.headers.get("Authorization"))
        if files.status is not None:
            self.send_error(files.status)
        elif "/resolve/" in self.path:  # as a hub does: the file lies elsewhere
            self.send_response(302)
            self.send_header("Location", f"{files.url}/cdn/file")
            self.send_header("X-Linked-Etag", f'"{files.sha256 or hashlib.sha256(files.content).hexdigest()}"')
            self.send_header("Content-Length", "0")
            self.end_headers()
        else:
            self._send(files, wanted)

    def _send(self, files: FileServer, wanted: str | None) -> None:
        start = 0
        if wanted is not None and self.headers.get("If-Range") == files.etag:
            start = int(wanted.removeprefix("bytes=").rstrip("-"))
        if start >= len(files.content):
            self.send_error(416)
            return
        body = files.content[start:]
        self.send_response(206 if start else 200)
        self.send_header("ETag", files.etag)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        try:
            if files.breaks:
                self.wfile.write(body[: files.breaks.popleft()])
                self.close_connection = True
                self.connection.close()
                return
            self.wfile.write(body[:-1])
            self.wfile.flush()
            files.pause.wait(30)
            self.wfile.write(body[-1:])
        except OSError:
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        """Silent: tests read the lists."""
