"""The file on disk: private, ours or left alone, whole after any crash, small, readable by anyone at any time."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path
from typing import ClassVar

import apsw
import pytest

from recallite.errors import (
    FencedError,
    ForeignIndexError,
    IndexMissingError,
    IndexVersionError,
    LeaseHeldError,
    UnknownAgentError,
)
from recallite.index.extension import VectorExtension
from recallite.work.sqlite import SqliteQueue, queue_path
from recallite_worker.store import open_store
from recallite_worker.sync import sync_agent


def index_files(lab) -> list[Path]:
    return sorted(lab.settings.index_path.parent.iterdir())


def test_files_are_private_whatever_the_umask_is(lab) -> None:
    lab.note("memory/a.md", "text")
    before = os.umask(0o022)
    try:
        lab.index()
        store = open_store(lab.settings.index_path, epoch=1000, extension=VectorExtension())
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in index_files(lab)}
        store.close()
    finally:
        os.umask(before)

    assert {"main.sqlite", "main.sqlite-wal", "main.sqlite-shm", "main.cache.sqlite"} <= modes.keys()
    assert set(modes.values()) == {0o600}
    assert stat.S_IMODE(lab.settings.index_path.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(queue_path(lab.settings.state_dir).stat().st_mode) == 0o600


def test_asking_creates_nothing(lab) -> None:
    with pytest.raises(IndexMissingError, match="recallite index"):
        lab.search("x")
    status = lab.memory().status()
    lab.memory().get("memory/a.md")

    assert status.health == "empty"
    assert not (lab.root / "state").exists()


def test_an_unknown_agent_is_an_error_and_creates_nothing(lab) -> None:
    from recallite import MemorySearch

    _ = lab.settings
    with pytest.raises(UnknownAgentError, match="main"):
        MemorySearch("nobody", config=lab.root / "openclaw.json")

    assert not (lab.root / "state").exists()


@pytest.mark.parametrize(
    ("content", "remedy"),
    [
        (b"SQLite format 3\0" + b"\0" * 4080, "recallite adopt"),
        (b"not a database at all", "is no database and is left as it is: set store.path to another file"),
        (b"x", "is no database and is left as it is: set store.path to another file"),
    ],
)
def test_a_foreign_file_is_left_alone_and_the_remedy_named(lab, content: bytes, remedy: str) -> None:
    lab.note("memory/a.md", "text")
    path = lab.settings.index_path
    path.parent.mkdir(parents=True)
    path.write_bytes(content)

    outcome = lab.index()

    assert isinstance(outcome.error, ForeignIndexError)
    assert remedy in str(outcome.error)
    with pytest.raises(ForeignIndexError, match=remedy):
        lab.search("text")
    assert lab.memory().status().health == "failed"
    assert path.read_bytes() == content
    assert [p.name for p in index_files(lab)] == ["main.sqlite"]


@pytest.mark.parametrize("beside", [True, False])
def test_a_foreign_database_with_a_log_is_not_touched(lab, beside: bool) -> None:
    lab.note("memory/a.md", "text")
    path = lab.settings.index_path
    path.parent.mkdir(parents=True)
    theirs = apsw.Connection(str(path))
    theirs.execute("PRAGMA journal_mode=WAL; CREATE TABLE theirs(x); INSERT INTO theirs VALUES (1)").fetchall()
    if not beside:
        theirs.close()
    before = {p.name: (p.read_bytes(), p.stat().st_mtime_ns) for p in index_files(lab)}

    for command in ("index", "search x", "status", "compact"):
        lab.run(*command.split(), check=False)
    assert isinstance(lab.index().error, ForeignIndexError)

    assert {p.name: (p.read_bytes(), p.stat().st_mtime_ns) for p in index_files(lab)} == before
    assert (f"{path.name}-wal" in before) == beside
    theirs.close()


def test_an_index_of_a_newer_version_is_left_alone(lab) -> None:
    lab.note("memory/a.md", "text")
    lab.index()
    connection = apsw.Connection(str(lab.settings.index_path))
    connection.execute("PRAGMA user_version = 99")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    connection.close()

    assert isinstance(lab.index().error, IndexVersionError)
    with pytest.raises(IndexVersionError, match="update recallite"):
        lab.search("text")


def test_readers_keep_working_while_the_index_is_rebuilt(lab) -> None:
    for number in range(300):
        lab.note(f"memory/{number}.md", f"note {number} about quokka")
    lab.index()
    memory, stop, seen = lab.memory(), threading.Event(), []

    def read() -> None:
        while not stop.is_set():
            reply = memory.search("quokka", max_results=200)
            seen.append(len(reply.hits))

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    lab.index(rebuild=True)
    stop.set()
    for thread in threads:
        thread.join()

    assert set(seen) == {200}
    assert len(seen) > 2


def test_the_log_stays_small_while_a_reader_loops(lab) -> None:
    for number in range(1500):
        lab.note(f"memory/{number}.md", f"note {number} " + "with some text " * 60)
    lab.index(embedders=lambda settings: (None, "none"))
    memory, stop, sizes = lab.memory(), threading.Event(), []
    log = Path(f"{lab.settings.index_path}-wal")

    def read() -> None:
        while not stop.is_set():
            memory.search("text note")
            sizes.append(log.stat().st_size)

    thread = threading.Thread(target=read)
    thread.start()
    lab.index(rebuild=True)
    stop.set()
    thread.join()

    assert max(sizes) < 64 * 2**20
    lab.index()
    assert log.stat().st_size == 0


def test_two_writers_do_not_meet(lab) -> None:
    lab.note("memory/a.md", "text")
    lab.index()
    queue = SqliteQueue(queue_path(lab.settings.state_dir))
    lease = queue.lease("main")

    with pytest.raises(LeaseHeldError, match="main"):
        sync_agent(lab.settings, queue, embedders=lab.embedders)

    queue.release(lease)
    queue.close()


def test_a_late_writer_is_refused_by_the_index_itself(lab) -> None:
    lab.note("memory/a.md", "text")
    lab.index()
    path = lab.settings.index_path
    late = open_store(path, epoch=50, extension=VectorExtension())
    new = open_store(path, epoch=51, extension=VectorExtension())

    with pytest.raises(FencedError), late.transaction() as connection:
        connection.execute("DELETE FROM chunks")

    late.close()
    new.close()
    assert lab.memory().status().chunks == 1


def test_a_lost_queue_does_not_lock_the_index(lab) -> None:
    lab.note("memory/a.md", "one")
    for _ in range(5):
        lab.index()
    for file in queue_path(lab.settings.state_dir).parent.iterdir():
        file.unlink()
    lab.note("memory/b.md", "two")

    assert lab.index().error is None
    assert lab.memory().status().files_indexed == 2


def test_the_directory_does_not_change_by_a_search(lab) -> None:
    lab.note("memory/a.md", "the word is quokka")
    lab.index()

    def state() -> dict[str, tuple[bytes, int]]:
        return {p.name: (p.read_bytes(), p.stat().st_mtime_ns) for p in index_files(lab)}

    before = state()
    for command in (["search", "quokka"], ["search", "***"], ["status"], ["get", "memory/a.md"]):
        lab.run(*command, check=False)

    assert state() == before


def test_an_index_whose_log_files_are_gone_is_still_read(lab) -> None:
    lab.note("memory/a.md", "the word is quokka")
    lab.index()
    for suffix in ("-wal", "-shm"):
        Path(f"{lab.settings.index_path}{suffix}").unlink()
    before = [p.name for p in index_files(lab)]

    found = lab.run("search", "quokka").stdout

    assert "memory/a.md:1-1" in found
    assert [p.name for p in index_files(lab)] == before


def test_one_process_may_search_first_and_write_then(lab) -> None:
    lab.note("memory/a.md", "the word is quokka")
    lab.index()
    memory = lab.memory()
    assert memory.search("quokka").hits

    lab.note("memory/b.md", "another quokka")
    assert lab.index().error is None

    assert len(memory.search("quokka").hits) == 2


class TestWithoutTheExtension:
    OFF: ClassVar = {"store": {"vector": {"enabled": False}}}
    WRONG: ClassVar = {"store": {"vector": {"extensionPath": "/nowhere/vec0.so"}}}

    def test_a_wrong_path_is_named_as_it_is_set(self, lab) -> None:
        lab.memory_search = self.WRONG
        lab.note("memory/a.md", "the word is quokka")
        lab.index()
        missing = lab.memory().status().vectors.reason
        text = lab.note("vec0.so", "no library")
        lab.memory_search = {"store": {"vector": {"extensionPath": str(text)}}}
        wrong = lab.memory().status().vectors.reason

        assert missing.startswith(
            "store.vector.extensionPath /nowhere/vec0.so cannot be loaded: there is no such file;"
        )
        assert f"{text} cannot be loaded: it is no library for this machine;" in wrong

    @pytest.mark.parametrize("setting", [OFF, WRONG])
    def test_all_works_and_the_reason_is_told(self, lab, setting) -> None:
        lab.memory_search = setting
        lab.note("memory/a.md", "the word is quokka")
        lab.note("memory/b.md", "something else entirely")
        lab.index()

        reply = lab.search("quokka word")
        state = lab.memory().status().vectors

        assert reply.mode == "hybrid" and reply.hits[0].path == "memory/a.md"
        assert reply.hits[0].score > 0.5
        assert state.engine == "numpy" and state.indexed == 2
        assert "extensionPath" in str(state.reason) or "enabled" in str(state.reason)

    def test_vectors_move_in_later_and_nothing_is_embedded_again(self, lab) -> None:
        lab.memory_search = self.OFF
        lab.note("memory/a.md", "the word is quokka")
        lab.index()
        lab.memory_search = {}
        lab.settings.cache_path.unlink()

        outcome = lab.index()

        assert outcome.texts_embedded == 0
        assert lab.memory().status().vectors.state == "ready"
        assert lab.search("quokka").mode == "hybrid"

    def test_a_reader_without_it_reads_what_a_writer_with_it_wrote(self, lab) -> None:
        for number in range(60):
            lab.note(f"memory/{number}.md", f"note {number} of subject {number % 7}")
        lab.index()
        with_it = lab.search("subject 3", max_results=50, min_score=0, explain=True)
        lab.memory_search = self.OFF

        without = lab.search("subject 3", max_results=50, min_score=0, explain=True)

        assert [hit.chunk_id for hit in with_it.hits] == [hit.chunk_id for hit in without.hits]
        cosines = [hit.parts.cosine for hit in without.hits]
        assert [hit.parts.cosine for hit in with_it.hits] == pytest.approx(cosines, abs=1e-4)

    def test_writing_without_it_over_an_index_made_with_it_serves_no_ghosts(self, lab) -> None:
        lab.note("memory/a.md", "first quokka")
        lab.note("memory/b.md", "second wombat")
        lab.index()
        lab.memory_search = self.OFF
        lab.note("memory/a.md", "now it is about numbats")
        lab.index()

        paths = [hit.snippet for hit in lab.search("first quokka", min_score=0).hits]
        status = lab.memory().status()
        lab.memory_search = {}
        lab.index()

        assert "first quokka" not in paths
        assert status.vectors.indexed == 2
        assert lab.memory().status().vectors.indexed == 2
        assert lab.memory().status().health == "ok"


def test_a_long_lived_reader_of_a_restored_file_sees_later_writes(lab) -> None:
    lab.note("memory/a.md", "first quokka")
    lab.run("index", check=False)
    for suffix in ("-wal", "-shm"):
        Path(f"{lab.settings.index_path}{suffix}").unlink()
    from recallite import MemorySearch

    with MemorySearch(settings=lab.settings) as memory:
        assert memory.search("quokka").hits
        (lab.workspace / "memory/a.md").unlink()
        lab.note("memory/b.md", "second wombat")
        lab.run("index", check=False)

        assert [hit.path for hit in memory.search("wombat").hits if "wombat" in hit.snippet] == ["memory/b.md"]
        assert not [hit for hit in memory.search("first quokka").hits if "quokka" in hit.snippet]


def test_a_foreign_database_at_the_caches_path_is_left_alone(lab) -> None:
    lab.note("memory/a.md", "text")
    lab.settings.cache_path.parent.mkdir(parents=True)
    connection = apsw.Connection(str(lab.settings.cache_path))
    connection.execute("CREATE TABLE theirs(x); INSERT INTO theirs VALUES (1)")
    connection.close()
    before = lab.settings.cache_path.read_bytes()

    outcome = lab.index()

    assert isinstance(outcome.error, ForeignIndexError)
    assert lab.settings.cache_path.read_bytes() == before


def test_all_settings_of_a_writer_are_in_force(lab, tmp_path) -> None:
    """apsw runs the statements of a text only up to the first one that answers, until its answer is read."""
    from recallite_worker.batch_store import BatchStore
    from recallite_worker.cache import EmbeddingCache

    lab.note("memory/a.md", "one")
    lab.index()
    store = open_store(lab.settings.index_path, epoch=99, extension=VectorExtension())
    cache, jobs = EmbeddingCache(tmp_path / "c.sqlite"), BatchStore(tmp_path / "b.sqlite")
    found = {}
    for name, connection in (("index", store.connection), ("cache", cache._connection), ("jobs", jobs._connection)):
        pragmas = ("journal_mode", "synchronous")
        found[name] = [connection.execute(f"PRAGMA {pragma}").fetchall()[0][0] for pragma in pragmas]
    limit = store.connection.execute("PRAGMA secure_delete").fetchall()[0][0]
    store.close()
    cache.close()
    jobs.close()

    assert found == {"index": ["wal", 1], "cache": ["wal", 1], "jobs": ["wal", 2]}
    assert limit == 1
