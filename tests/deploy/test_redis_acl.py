"""A worker and a producer get by with the rights that the ACL file gives them."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from recallite.testing.redis_server import RedisServer

ACL = Path(__file__).parents[2] / "deploy" / "redis" / "users.acl"
PASSWORD = "test-password"


class GuardedRedis(RedisServer):
    """The test's Redis with the project's users; on a TCP port, as an address with a user needs one."""

    def __init__(self, port: int) -> None:
        super().__init__()
        self.port = port
        users = self.directory / "users.acl"
        users.write_text(ACL.read_text().replace("PASSWORD_SHA256", hashlib.sha256(PASSWORD.encode()).hexdigest()))
        self.more_arguments = ["--aclfile", str(users), "--port", str(port), "--bind", "127.0.0.1"]

    @property
    def url(self) -> str:
        return f"redis://recallite:{PASSWORD}@127.0.0.1:{self.port}/0"

    @property
    def client_url(self) -> str:
        return self.url


def free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_an_edit_is_indexed_through_a_guarded_redis(tmp_path: Path) -> None:
    import redis

    from recallite import MemorySearch, load_settings
    from recallite.errors import IndexUnusableError
    from recallite.work.connect import open_dispatch

    (tmp_path / "notes/memory").mkdir(parents=True)
    (tmp_path / "notes/memory/a.md").write_text("the quokka")
    config = tmp_path / "openclaw.json"
    config.write_text(
        f'{{"agents": {{"defaults": {{"workspace": "{tmp_path}/notes", "memorySearch": {{"provider": "openai"}}}}}}}}'
    )
    with GuardedRedis(free_port()) as server:
        env = {**os.environ, "OPENCLAW_STATE_DIR": str(tmp_path / "state"), "RECALLITE_BROKER_URL": server.url}
        env.pop("OPENAI_API_KEY", None)
        with (tmp_path / "worker.log").open("wb") as log:
            command = [sys.executable, "-m", "recallite.cli.main", "--config", str(config), "worker"]
            worker = subprocess.Popen(command, env=env, stdout=log, stderr=log)
        try:
            settings = load_settings(config, env=env)
            dispatch = open_dispatch(settings, server.url, agents=settings.agent_ids)
            dispatch.sweep()
            found = ()
            deadline = time.monotonic() + 40
            while not found and time.monotonic() < deadline:
                with MemorySearch(settings=settings.agent()) as memory:
                    try:
                        found = memory.search("quokka").hits
                    except IndexUnusableError:
                        time.sleep(0.1)
            health = [sys.executable, "-m", "recallite.cli.main", "--config", str(config), "health"]
            while subprocess.run(health, env=env, capture_output=True).returncode and time.monotonic() < deadline:
                time.sleep(0.5)
            dispatch.close()
        finally:
            worker.terminate()
            worker.wait(30)
        log_text = (tmp_path / "worker.log").read_text()

        assert found, log_text
        assert "NoPermission" not in log_text and "NOPERM" not in log_text
        assert PASSWORD not in log_text
        with pytest.raises(redis.exceptions.NoPermissionError):
            redis.Redis.from_url(server.url).flushall()
        with pytest.raises(redis.exceptions.NoPermissionError):
            redis.Redis.from_url(server.url).get("somebody-elses-key")
        with pytest.raises(redis.exceptions.AuthenticationError):
            redis.Redis(port=server.port).ping()
