"""kill -9 at any moment: the file stays whole, the next run completes, no text is embedded twice."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import apsw
import pytest

from recallite.index.extension import VectorExtension
from recallite.index.rows import fetch
from recallite.testing.behaviours import Delay
from recallite.testing.provider_server import PLANTED_KEY, ProviderServer
from recallite.testing.transcripts import append, compaction, dialogue, write_transcript

KILLS = 50


@pytest.mark.slow
def test_fifty_kills_lose_nothing_and_pay_for_nothing_twice(lab) -> None:
    rng = random.Random(11)
    with ProviderServer(dims=64) as server:
        lab.memory_search = {
            "provider": "openai",
            "model": "loopback",
            "remote": {"baseUrl": server.url, "maxItemsPerRequest": 8},
        }
        for number in range(400):
            lab.note(f"memory/{number}.md", f"# Note {number}\n\n" + f"Sentence {number} of a note. " * 60)
        server.next(*[Delay(0.02)] * 100_000)
        paid: set[bytes] = set()
        for turn in range(KILLS):
            lab.note(f"memory/edited-{turn}.md", f"edit of turn {turn}")
            process = _start(lab)
            _wait_for_lease(lab, process)
            time.sleep(rng.random() * 0.6)
            process.send_signal(signal.SIGKILL)
            process.wait()
            sent = [text for request in server.seen for text in request.texts]
            server.forget()
            _check_whole(lab.settings.index_path)
            again = [text for text in sent if _hash(text) in paid]
            assert not again, f"paid for again after kill {turn}: {again[:2]}"
            paid |= _cached(lab.settings.cache_path)

        done = _start(lab)
        done.wait(timeout=120)
        last = [text for request in server.seen for text in request.texts]

    assert done.returncode == 0, (lab.root / "output.txt").read_text()
    assert not [text for text in last if _hash(text) in paid]
    assert len(last) == len(set(last))
    status = lab.memory().status()
    assert status.files_indexed == 400 + KILLS
    assert status.vectors.indexed == status.chunks > 400
    assert status.unindexed == status.failures == ()
    assert _strays(lab.settings.index_path.parent) == []


@pytest.mark.slow
def test_a_growing_session_outlives_kills(lab, make_lab) -> None:
    rng = random.Random(5)
    lab.memory_search = {
        "provider": "openai",  # without a key: by keyword
        "sources": ["sessions"],
        "experimental": {"sessionMemory": True},
        "cache": {"enabled": False},
    }
    path = write_transcript(lab.sessions, "a.jsonl", dialogue(20_000))
    for turn in range(8):
        process = _start(lab, key="")
        _wait_for_lease(lab, process)
        time.sleep(rng.random() * 0.7)
        process.send_signal(signal.SIGKILL)
        process.wait()
        _check_whole(lab.settings.index_path)
        append(path, dialogue(500, first=20_000 + 500 * turn))
        if turn == 5:
            append(path, compaction())
        elif turn == 6:
            path.write_bytes(path.read_bytes()[:-300_000])
    _start(lab, key="").wait(timeout=120)
    lab.model = None

    assert lab.session_chunks() == lab.session_chunks_made_anew(make_lab)


def _start(lab, *, key: str = PLANTED_KEY) -> subprocess.Popen[bytes]:
    _ = lab.settings
    command = [sys.executable, "-m", "recallite.cli.main", "--config", str(lab.root / "openclaw.json"), "index"]
    env = {**os.environ, "OPENCLAW_STATE_DIR": str(lab.root / "state"), "OPENAI_API_KEY": key}
    with (lab.root / "output.txt").open("wb") as output:
        return subprocess.Popen(command, env=env, stdout=output, stderr=output)


def _wait_for_lease(lab, process: subprocess.Popen[bytes]) -> None:
    """Until the process has begun to write; its start-up takes a second in which a kill proves nothing."""
    from recallite.work.sqlite import SqliteQueue, queue_path

    path = queue_path(lab.settings.state_dir)
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline and process.poll() is None:
        if path.exists() and path.stat().st_size > 0:
            queue = SqliteQueue(path)
            try:
                if str(process.pid) in (queue.holder("main") or "").split(":"):
                    return
            finally:
                queue.close()
        time.sleep(0.01)


def _check_whole(path: Path) -> None:
    """Integrity, and equal numbers of chunks, keyword rows, and vectors plus waiting chunks."""
    if not path.exists() or path.stat().st_size == 0:
        return
    connection = apsw.Connection(str(path))
    VectorExtension().load(connection)
    try:
        if connection.execute("PRAGMA user_version").fetchall() == [(0,)]:
            return
        assert fetch(connection, "PRAGMA integrity_check") == [("ok",)]
        for (generation,) in fetch(connection, "SELECT id FROM generations"):
            table = f"chunks_fts_{generation}"
            connection.execute(f"INSERT INTO {table}({table}, rank) VALUES ('integrity-check', 0)")
            [(chunks,)] = fetch(
                connection,
                "SELECT count(*) FROM chunks c JOIN files f ON f.id = c.file_id WHERE f.generation = ?",
                (generation,),
            )
            assert fetch(connection, f"SELECT count(*) FROM {table}_docsize") == [(chunks,)]
        for space, vec0, filling in fetch(
            connection, "SELECT id, vec0, EXISTS (SELECT 1 FROM meta WHERE key = 'fill:' || id) FROM spaces"
        ):
            [(waiting,)] = fetch(connection, "SELECT count(*) FROM pending WHERE space = ?", (space,))
            vectors = fetch(connection, f"SELECT count(*) FROM chunks_vec_{space}_rowids")[0][0] if vec0 else 0
            if not filling:
                assert vectors + waiting == fetch(connection, "SELECT count(*) FROM chunks")[0][0]
    finally:
        connection.close()


def _hash(text: str) -> bytes:
    import hashlib

    return hashlib.sha256(text.encode()).digest()


def _cached(path: Path) -> set[bytes]:
    if not path.exists() or path.stat().st_size == 0:
        return set()
    connection = apsw.Connection(str(path))
    try:
        return {bytes(row[0]) for row in fetch(connection, "SELECT hash FROM vectors")}
    except apsw.SQLError:
        return set()
    finally:
        connection.close()


def _strays(directory: Path) -> list[str]:
    known = {f"main{kind}.sqlite{suffix}" for kind in ("", ".cache") for suffix in ("", "-wal", "-shm")}
    return [path.name for path in directory.iterdir() if path.name not in known]
