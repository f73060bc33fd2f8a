"""Damage costs the file that has it, and is told: an index, a cache, a queue, vectors."""

from __future__ import annotations

import time
from pathlib import Path

import apsw
import pytest

from recallite import MemorySearch
from recallite.errors import IndexDamagedError, IndexUnusableError
from recallite.index.connection import IndexReader
from recallite.index.damage import found_damage
from recallite.work.sqlite import queue_path


def index_files(lab) -> list[Path]:
    return sorted(lab.settings.index_path.parent.iterdir())


@pytest.mark.parametrize("page", [0, 1, 2, 5, "all"])
def test_a_damaged_index_is_moved_aside_and_rebuilt_without_paying_again(lab, page: int | str) -> None:
    for number in range(50):
        lab.note(f"memory/{number}.md", f"note {number} " + "with some text " * 50)
    lab.index()
    path = lab.settings.index_path
    with path.open("r+b") as file:
        if page == "all":
            file.seek(16384)
            file.write(b"\0" * (path.stat().st_size - 16384))
        elif page == 0:
            file.seek(100)
            file.write(b"\0" * 16000)
        else:
            file.seek(int(page) * 16384)
            file.write(b"\0" * 16384)

    outcome = lab.index()

    assert outcome.error is None
    assert outcome.texts_embedded == 0
    assert lab.memory().status().health == "ok"
    assert lab.paths("note 7")
    assert [p for p in index_files(lab) if ".damaged-" in p.name]


def test_searching_a_damaged_index_says_so(lab) -> None:
    for number in range(50):
        lab.note(f"memory/{number}.md", f"note {number} " + "with some text " * 50)
    lab.index()
    path = lab.settings.index_path
    with path.open("r+b") as file:
        file.seek(16384)
        file.write(b"\xff" * (path.stat().st_size - 16384))

    with pytest.raises(IndexDamagedError, match="recallite index"):
        lab.search("note 7")


@pytest.fixture
def large(lab):
    """An index of some hundred pages, found by keyword, and without log files beside it."""
    lab.memory_search = {"provider": "openai"}  # without a key
    for number in range(200):
        words = " ".join(f"word{(number * 37 + k * 11) % 4999}" for k in range(400))
        lab.note(f"memory/{number}.md", f"quokka{number} {words}")
    lab.run("index", check=False)
    for suffix in ("-wal", "-shm"):
        Path(f"{lab.settings.index_path}{suffix}").unlink()
    return lab


def test_status_finds_damage_that_no_count_shows(large) -> None:
    path = large.settings.index_path
    whole = path.read_bytes()
    silent = []
    for page in range(8, len(whole) // 16384, 9):
        path.write_bytes(whole[: page * 16384] + bytes(16384) + whole[(page + 1) * 16384 :])
        with MemorySearch(settings=large.settings) as memory:
            status = memory.status(look_at_queue=False)
        if status.health != "failed" or "run `recallite index`" not in status.problems[0]:
            silent.append(page)

    assert not silent
    assert large.run("status", check=False).returncode == 1


def test_an_index_too_large_to_be_looked_through_is_not_called_damaged(large) -> None:
    reader = IndexReader(large.settings.index_path)
    try:
        with reader.reading() as connection:
            assert found_damage(connection, seconds=0) is None
            assert found_damage(connection) is None
    finally:
        reader.close()


@pytest.mark.parametrize("lost", ["header", "page", "stump", "zeros"])
def test_a_file_whose_beginning_is_lost_is_made_anew(lab, lost: str) -> None:
    lab.note("memory/a.md", "the quokka")
    lab.index()
    path = lab.settings.index_path
    lab.close()
    for suffix in ("-wal", "-shm"):
        Path(f"{path}{suffix}").unlink()
    whole = path.read_bytes()
    left = {
        "header": bytes(100) + whole[100:],
        "page": bytes(16384) + whole[16384:],
        "stump": whole[:60],
        "zeros": bytes(40),
    }[lost]
    path.write_bytes(left)

    with pytest.raises(IndexDamagedError, match="recallite index"):
        lab.search("quokka")
    assert lab.memory().status().health == "failed"
    outcome = lab.index()

    assert outcome.error is None and outcome.texts_embedded == 0
    assert lab.paths("quokka") == ["memory/a.md"]
    assert [p.read_bytes() for p in index_files(lab) if ".damaged-" in p.name] == [left]


def test_garbage_in_the_log_is_told_at_once(lab) -> None:
    lab.note("memory/a.md", "the quokka")
    lab.run("index", "--agent", "main", check=False)
    log = Path(f"{lab.settings.index_path}-wal")
    log.write_bytes(b"\xa5garbage" * 8000)
    began = time.monotonic()

    done = lab.run("search", "quokka", check=False)
    with pytest.raises(IndexUnusableError, match="recallite index"):
        lab.search("quokka")
    status = lab.memory().status()

    assert time.monotonic() - began < 5
    assert done.returncode == 1 and "Traceback" not in done.stderr and "recallite index" in done.stderr
    assert status.health == "failed"
    lab.run("index", check=False)
    assert lab.paths("quokka") == ["memory/a.md"]


def test_any_error_of_sqlite_is_told_with_file_and_remedy(lab) -> None:
    lab.note("memory/a.md", "the quokka")
    lab.index()
    connection = apsw.Connection(str(lab.settings.index_path))
    connection.execute("DROP TABLE spaces; DROP TABLE files")
    connection.close()

    with pytest.raises(IndexUnusableError, match="recallite index") as raised:
        lab.search("quokka")
    done = lab.run("search", "quokka", check=False)

    assert str(lab.settings.index_path) in str(raised.value)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    for command in (["status"], ["index"], ["compact"], ["eval", str(_questions(lab))]):
        assert "Traceback" not in lab.run(*command, check=False).stderr


def _questions(lab) -> Path:
    file: Path = lab.root / "questions.jsonl"
    file.write_text('{"question": "quokka", "answers": ["memory/a.md"]}\n')
    return file


def test_a_damaged_cache_costs_the_cache_only(lab) -> None:
    lab.note("memory/a.md", "first")
    lab.index()
    lab.settings.cache_path.write_bytes(b"garbage" * 4000)
    lab.note("memory/b.md", "second")

    outcome = lab.index()

    assert outcome.error is None
    assert lab.memory().status().health == "ok"


def test_damage_inside_the_cache_leaves_the_index_alone(lab) -> None:
    for number in range(400):
        lab.note(f"memory/{number}.md", f"note {number} " + "with some text " * 50)
    lab.index()
    connection = apsw.Connection(str(lab.settings.cache_path))
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    connection.close()
    path = lab.settings.cache_path
    with path.open("r+b") as file:
        file.seek(4 * 8192)
        file.write(b"\0" * (path.stat().st_size - 4 * 8192))
    for number in range(400):
        lab.note(f"memory/{number}.md", f"changed note {number} " + "with some text " * 50)

    outcome = lab.index()

    assert outcome.error is None
    assert lab.memory().status().health == "ok"
    aside = {p.name.partition(".damaged-")[0] for p in index_files(lab) if ".damaged-" in p.name}
    assert aside == {path.name}


def test_a_garbled_queue_is_begun_anew(lab) -> None:
    lab.note("memory/a.md", "the quokka")
    lab.index()
    path = queue_path(lab.settings.state_dir)
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    path.write_bytes(b"garbage" * 3000)
    lab.note("memory/b.md", "the wombat")

    assert lab.index().error is None
    assert lab.paths("wombat")[0] == "memory/b.md"


def test_damaged_vectors_leave_keyword_search_and_say_so(lab) -> None:
    for number in range(40):
        lab.note(f"memory/{number}.md", f"quokka number {number}")
    lab.index()
    connection = apsw.Connection(str(lab.settings.index_path))
    connection.execute("DELETE FROM chunks_vec_1_vector_chunks00")
    connection.close()

    reply = lab.search("quokka number 7")

    assert reply.mode == "keyword" and "--force" in str(reply.reason)
    assert reply.hits
