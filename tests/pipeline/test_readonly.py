"""A search in another process, on a disk that it cannot write: it answers and changes no byte."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest

from recallite import MemorySearch
from recallite.errors import IndexUnusableError
from recallite.testing.behaviours import Hold
from recallite.testing.provider_server import PLANTED_KEY, ProviderServer

CAN_MOUNT = (
    shutil.which("unshare") is not None
    and subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode == 0
)
needs_mount = pytest.mark.skipif(not CAN_MOUNT, reason="needs unshare(1) and the right to mount, as root has")

SCRIPT = """
import json, sys
from recallite import MemorySearch
with MemorySearch(config=sys.argv[1]) as memory:
    reply = memory.search("quokka", max_results=200)
    print(json.dumps({"mode": reply.mode, "hits": len(reply.hits), "pending": reply.pending_vectors}))
"""


def search_read_only(lab) -> dict[str, object]:
    """Search in a mount namespace in which the state directory is read-only."""
    state = lab.root / "state"
    command = (
        f"mount --bind '{state}' '{state}' && mount -o remount,bind,ro '{state}' && "
        f"! touch '{state}/probe' 2>/dev/null && exec '{sys.executable}' -c '{SCRIPT}' '{lab.root}/openclaw.json'"
    )
    env = {**os.environ, "OPENCLAW_STATE_DIR": str(state), "OPENAI_API_KEY": PLANTED_KEY}
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", command], env=env, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    answer: dict[str, object] = json.loads(done.stdout)
    return answer


def tree(root: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in root.rglob("*") if path.is_file()}


@needs_mount
def test_during_indexing(lab) -> None:
    import threading

    with ProviderServer() as server:
        lab.memory_search = {
            "provider": "openai",
            "model": "loopback",
            "remote": {"baseUrl": server.url, "maxItemsPerRequest": 10},
        }
        for number in range(100):
            lab.note(f"memory/{number}.md", f"quokka number {number}")
        release = threading.Event()
        held = Hold(release)
        server.next(Hold(_set()), *[held] * 20)
        process = subprocess.Popen(
            [sys.executable, "-m", "recallite.cli.main", "--config", str(_config(lab)), "index"],
            env={**os.environ, "OPENCLAW_STATE_DIR": str(lab.root / "state"), "OPENAI_API_KEY": PLANTED_KEY},
        )
        _until(lambda: server.requests >= 3)

        before = tree(lab.root / "state" / "memory")
        answer = search_read_only(lab)
        after = tree(lab.root / "state" / "memory")
        release.set()

        assert process.wait(60) == 0
    assert answer["hits"] == 100
    assert answer["pending"] == 90
    assert after == before


@needs_mount
def test_after_the_writer_has_gone(lab) -> None:
    lab.note("memory/a.md", "quokka")
    lab.index()
    before = tree(lab.root / "state")

    answer = search_read_only(lab)

    assert answer["hits"] == 1
    assert tree(lab.root / "state") == before


@needs_mount
def test_after_the_writer_was_killed(lab) -> None:
    lab.note("memory/a.md", "quokka")
    script = (
        "import os, sys\n"
        "from recallite import load_settings\n"
        "from recallite_worker.store import IndexStore\n"
        "IndexStore.close = lambda self: os._exit(9)\n"
        "from recallite.work import SCAN\n"
        "from recallite.work.sqlite import SqliteQueue, queue_path\n"
        "from recallite_worker.sync import sync_agent\n"
        "agent = load_settings(sys.argv[1]).agent(None)\n"
        "queue = SqliteQueue(queue_path(agent.state_dir))\n"
        "queue.mark(agent.agent, [SCAN])\n"
        "sync_agent(agent, queue, embedders=lambda settings: (None, 'none'))\n"
    )
    env = {**os.environ, "OPENCLAW_STATE_DIR": str(lab.root / "state")}
    killed = subprocess.run([sys.executable, "-c", script, str(_config(lab))], env=env, check=False)
    assert killed.returncode == 9
    assert Path(f"{lab.settings.index_path}-wal").stat().st_size > 0
    before = tree(lab.root / "state")

    answer = search_read_only(lab)

    assert answer["hits"] == 1
    assert tree(lab.root / "state") == before


@pytest.fixture
def open_lab(make_lab) -> Iterator[object]:
    """A lab in a folder that every user may enter."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield make_lab(f"{folder}/lab", memory_search={"provider": "openai"})  # without a key


@contextmanager
def without_rights() -> Iterator[None]:
    """As a user whom a file's mode stops, as it does not stop root."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.parametrize("closed", ["main.sqlite", "main.sqlite-wal", "."])
def test_what_may_not_be_read_is_an_error_of_ours_that_names_the_right(open_lab, closed: str) -> None:
    lab = open_lab
    lab.note("memory/a.md", "quokka")
    lab.run("index", check=False)
    folder = lab.settings.index_path.parent
    for path in (folder, *folder.iterdir()):
        path.chmod(0o755 if path.is_dir() else 0o644)
    if closed.endswith("-wal"):
        (folder / closed).write_bytes(_log_of(lab))
    memory = lab.memory()
    assert memory.search("quokka").hits and memory.status().chunks == 1  # all is imported now
    lab.close()
    settings = lab.settings
    (folder / closed).chmod(0)

    try:
        with without_rights(), MemorySearch(settings=settings) as memory:
            with pytest.raises(IndexUnusableError, match="read permission") as raised:
                memory.search("quokka")
            status = memory.status()
    finally:
        (folder / closed).chmod(0o755)

    assert str(lab.settings.index_path) in str(raised.value)
    assert status.health == "failed"
    assert "read permission" in status.problems[0] and "move" not in status.problems[0]


def test_a_log_without_its_shared_memory_needs_a_writer(lab) -> None:
    lab.note("memory/a.md", "quokka")
    lab.run("index", check=False)
    Path(f"{lab.settings.index_path}-wal").write_bytes(_log_of(lab))
    Path(f"{lab.settings.index_path}-shm").unlink()

    with pytest.raises(IndexUnusableError, match=r"no -shm file .* run `recallite index`"):
        lab.search("quokka")
    lab.run("index", check=False)

    assert lab.search("quokka").hits


def _log_of(lab) -> bytes:
    """The write-ahead log as a writer leaves it that is killed."""
    copy = lab.root / "copy.sqlite"
    shutil.copy(lab.settings.index_path, copy)
    connection = apsw.Connection(str(copy))
    connection.execute("INSERT INTO meta VALUES ('note', 1)")
    log = Path(f"{copy}-wal").read_bytes()
    connection.close()
    return log


def _config(lab) -> Path:
    _ = lab.settings
    return lab.root / "openclaw.json"


def _set():
    import threading

    event = threading.Event()
    event.set()
    return event


def _until(condition) -> None:
    import time

    deadline = time.monotonic() + 90
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)
