"""Damage costs the file that has it, and is told: an index, a cache, a queue, vectors."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from recallite.errors import (
    IndexDamagedError,
)
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
