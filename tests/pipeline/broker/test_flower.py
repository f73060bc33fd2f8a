"""Flower out of the box, seen in a real browser: readable names, progress, and nothing that is secret."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
import urllib.request
from pathlib import Path

import pytest

from recallite.testing.behaviours import Delay
from recallite.testing.provider_server import PLANTED_KEY
from recallite.work import SCAN

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(BROWSER is None, reason="needs a browser: apt install chromium")

OPTIONS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--virtual-time-budget=4000",
    "--window-size=1500,640",
]


def browse(url: str, profile: Path, *options: str) -> str:
    """The page as the browser has it after its scripts ran."""
    assert BROWSER is not None
    command = [BROWSER, *OPTIONS, f"--user-data-dir={profile}", *(options or ("--dump-dom",)), url]
    return subprocess.run(command, capture_output=True, text=True, timeout=90, check=True).stdout


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(condition, seconds: float = 40) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as reply:
            return bool(reply.status == 200)
    except OSError:
        return False


@pytest.mark.slow
def test_names_and_progress_are_shown_and_secrets_are_not(make_cluster, provider, tmp_path) -> None:
    cluster = make_cluster(provider=provider)
    for number in range(1500):
        cluster.note(f"memory/hidden-path-{number}.md", f"a very private quokka {number}")
    provider.next(*[Delay(0.3)] * 1000)
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with (tmp_path / "flower.log").open("wb") as log:
        flower = subprocess.Popen(
            cluster.command("flower", "--port", str(port)), env=cluster.env, stdout=log, stderr=log
        )
    try:
        cluster.worker("backfill", "--lane", "backfill")
        cluster.wait_ready()
        wait_for(lambda: answers(f"{url}/workers"))
        dispatch = cluster.dispatch()
        dispatch.dirty("main", [SCAN], lane="backfill")
        wait_for(lambda: provider.requests >= 25)

        pages = {name: browse(f"{url}/{name}", tmp_path / "profile") for name in ("workers", "broker")}
        deadline = time.monotonic() + 60
        while "PROGRESS" not in (pages := {**pages, "tasks": browse(f"{url}/tasks", tmp_path / "profile")})["tasks"]:
            assert time.monotonic() < deadline, "no task showed its progress"
        api = urllib.request.Request(f"{url}/api/tasks")
        with pytest.raises(OSError, match="401"):
            urllib.request.urlopen(api, timeout=5)
        if picture := os.environ.get("RECALLITE_FLOWER_PICTURE"):
            browse(f"{url}/tasks", tmp_path / "profile", f"--screenshot={picture}")
        dispatch.close()
    finally:
        flower.terminate()
        flower.wait(20)

    assert "recallite.backfill.sync_agent" in pages["tasks"]
    assert "PROGRESS" in pages["tasks"] and "vectors done" in pages["tasks"]
    assert "texts embedded" in pages["tasks"], "what a finished slice did"
    assert "backfill@test" in pages["workers"]
    for page in (*pages.values(), (tmp_path / "flower.log").read_text()):
        assert PLANTED_KEY not in page
        assert "quokka" not in page and "hidden-path" not in page


def test_flower_is_not_opened_to_others_without_a_password(make_cluster) -> None:
    cluster = make_cluster()

    done = subprocess.run(
        cluster.command("flower", "--address", "0.0.0.0"), env=cluster.env, capture_output=True, text=True, timeout=60
    )

    assert done.returncode == 1
    assert "RECALLITE_FLOWER_AUTH" in done.stderr
