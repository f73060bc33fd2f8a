"""The locks of this process's connections stay, whatever else it does with the same files."""

from __future__ import annotations

import collections
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from recallite import MemorySearch

posix_only = pytest.mark.skipif(sys.platform == "win32", reason="only POSIX locks belong to a process")

TRY_TO_LOCK = """
import fcntl, sys
with open(sys.argv[1], "r+b") as file:
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 510, 0x40000002)  # where SQLite's readers hold theirs
    except BlockingIOError:
        print("locked")
"""

WATCHED = """
import os, sys
opened = []
def note(event, arguments):
    if event == "open" and isinstance(arguments[0], (str, bytes, os.PathLike)):
        path, flags = os.fsdecode(arguments[0]), arguments[2]
        if ".sqlite" in path and not flags & os.O_EXCL:
            opened.append(path)
sys.addaudithook(note)
from recallite.cli.main import main
code = main(sys.argv[1:])
print("opened:", opened, file=sys.stderr)
sys.exit(code)
"""


@pytest.fixture(autouse=True)
def _by_keyword(lab) -> None:
    lab.memory_search = {"provider": "openai"}  # without a key


def is_locked(path: Path) -> bool:
    done = subprocess.run([sys.executable, "-c", TRY_TO_LOCK, str(path)], capture_output=True, text=True, check=True)
    return done.stdout.strip() == "locked"


@posix_only
@pytest.mark.parametrize("then", ["second", "status", "thread", "index"])
def test_a_reader_keeps_its_lock(lab, then: str) -> None:
    lab.note("memory/a.md", "the quokka")
    lab.run("index", check=False)
    memory = lab.memory()
    memory.search("quokka")
    assert is_locked(lab.settings.index_path)

    if then == "second":
        lab.search("quokka")
    elif then == "status":
        memory.status()
    elif then == "thread":
        thread = threading.Thread(target=memory.search, args=("quokka",))
        thread.start()
        thread.join()
    else:
        lab.index()
        memory.search("quokka")
        lab.index()

    assert is_locked(lab.settings.index_path)


@posix_only
def test_the_queue_keeps_its_lock(lab) -> None:
    from recallite.work.sqlite import SqliteQueue, queue_path

    path = queue_path(lab.settings.state_dir)
    queue = SqliteQueue(path)
    queue.mark("main", ["a.md"])
    assert is_locked(path)

    other = SqliteQueue(path)
    other.mark("main", ["b.md"])
    other.close()

    assert is_locked(path)
    queue.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_forked_child_takes_locks_of_its_own(lab) -> None:
    lab.note("memory/a.md", "the quokka")
    lab.run("index", check=False)
    memory, bystander = lab.memory(), lab.memory()
    memory.search("quokka")
    bystander.search("quokka")
    searched, told = os.pipe()
    end, ended = os.pipe()
    if (child := os.fork()) == 0:
        try:
            os.write(ended, b"yes" if memory.search("quokka").hits else b"no ")
            os.read(searched, 1)
        finally:
            os._exit(0)
    answer = os.read(end, 3)

    memory.close()
    bystander.close()
    held = is_locked(lab.settings.index_path)
    os.write(told, b"x")
    os.waitpid(child, 0)

    assert answer == b"yes"
    assert held
    assert not is_locked(lab.settings.index_path)


def test_no_command_opens_a_database_but_through_sqlite(lab) -> None:
    lab.note("memory/a.md", "the quokka")
    environment = {**os.environ, "OPENCLAW_STATE_DIR": str(lab.root / "state")}
    config = str(lab.settings.config_file)
    for command in (["index"], ["index", "--force"], ["search", "quokka"], ["status"], ["compact"], ["adopt"]):
        done = subprocess.run(
            [sys.executable, "-c", WATCHED, "--config", config, *command],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

        assert "opened: []" in done.stderr, (command, done.stderr)


def test_many_connections_of_a_process_read_while_another_writes(lab) -> None:
    seen: collections.Counter[str] = collections.Counter()
    stop = threading.Event()
    memory = lab.memory()

    def edit(number: int) -> None:
        for note in range(150):
            words = " ".join(f"w{(note * 31 + number * 7 + k) % 997}" for k in range(800))
            lab.note(f"memory/{note}.md", f"quokka {words}")

    def ask(found: MemorySearch) -> None:
        try:
            seen["hits" if found.search("quokka").hits else "nothing"] += 1
        except Exception as error:
            seen[f"{type(error).__name__}: {error}"] += 1

    def one_thread() -> None:
        while not stop.is_set():
            ask(memory)

    def many_threads() -> None:
        while not stop.is_set():
            thread = threading.Thread(target=ask, args=(memory,))
            thread.start()
            thread.join()

    def many_objects() -> None:
        while not stop.is_set():
            with MemorySearch(settings=settings) as other:
                ask(other)

    settings = lab.settings
    edit(0)
    lab.run("index", check=False)
    threads = [threading.Thread(target=each) for each in (one_thread, many_threads, many_objects)]
    for thread in threads:
        thread.start()
    try:
        for number in range(1, 4):
            edit(number)
            lab.run("index", *(["--force"] if number == 2 else []), check=False)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    memory.search("quokka")

    assert set(seen) == {"hits"}, seen


def test_a_lost_vocabulary_heals_by_itself(lab) -> None:
    lab.note("memory/a.md", "the quokka")
    lab.index()
    memory = lab.memory()
    memory.search("quokka")
    connection = memory._connections.get().reader.connection

    connection.execute("DROP TABLE temp.recallite_vocabulary_1")

    assert memory.search("quokka").hits


def test_an_error_that_ended_the_transaction_is_told_as_it_is(lab) -> None:
    lab.note("memory/a.md", "the quokka")
    lab.index()
    memory = lab.memory()
    memory.search("quokka")
    reader = memory._connections.get().reader

    with pytest.raises(KeyError, match="own"), reader.reading() as connection:
        connection.execute("ROLLBACK")  # as SQLite itself does after some errors
        raise KeyError("own")

    assert memory.search("quokka").hits


HOLD = """
import fcntl, sys
with open(sys.argv[1], "r+b") as file:
    fcntl.lockf(file, fcntl.LOCK_EX)
    print("held", flush=True)
    sys.stdin.read()
"""


@posix_only
def test_a_lock_that_another_process_keeps_makes_no_empty_answer(lab) -> None:
    lab.note("memory/a.md", "quokka")
    lab.index()
    command = [sys.executable, "-c", HOLD, str(lab.settings.index_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()

        done = lab.run("search", "quokka")
        Path(f"{lab.settings.index_path}-wal").write_bytes(b"\x37\x7f\x06\x82" * 20)
        unread = lab.run("search", "quokka", check=False)

        holder.communicate()
    assert "memory/a.md" in done.stdout
    assert unread.returncode == 1 and "main.sqlite" in unread.stderr
