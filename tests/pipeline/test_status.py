"""What status says, and that its health follows from it."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path

import pytest

from recallite import MemorySearch, RecalliteError
from recallite.types import IndexStatus

STAYS = "what is indexed of it stays as it is"


def said(status: IndexStatus, words: str) -> bool:
    return any(words in problem for problem in status.problems)


def test_a_missing_workspace_is_a_problem(lab) -> None:
    lab.note("memory/a.md", "quokka")
    lab.index()
    lab.workspace.rename(lab.root / "elsewhere")
    gone = lab.memory().status()
    lab.index()

    after = lab.memory().status()

    for status in (gone, after):
        assert status.files_indexed == 1
        assert status.health == "degraded"
        assert status.problems == (f"the workspace {lab.workspace} does not exist: {STAYS}",)


@pytest.mark.parametrize("which", ["workspace", "memory"])
def test_a_file_where_a_folder_should_be_is_a_problem(make_lab, which: str) -> None:
    lab = make_lab()
    lab.workspace.rmdir()
    if which == "memory":
        lab.workspace.mkdir()
    file = lab.workspace / "memory" if which == "memory" else lab.workspace
    file.write_text("a file")

    indexed = lab.run("index", check=False)
    status = lab.run("status", check=False)

    assert indexed.returncode == status.returncode == 3
    assert f"{file} is not a directory" in indexed.stdout and f"{file} is not a directory" in status.stdout


def test_a_missing_extra_path_is_a_problem(lab) -> None:
    lab.note("memory/a.md", "quokka")
    lab.memory_search = {"extraPaths": [str(lab.root / "nowhere")]}
    lab.index()

    status = lab.memory().status()

    assert status.health == "degraded"
    assert status.problems == (f"the extra path {lab.root / 'nowhere'} does not exist: {STAYS}",)


def test_a_folder_of_notes_that_is_a_symlink_is_a_problem(lab) -> None:
    lab.note("memory/a.md", "quokka")
    lab.index()
    notes = lab.workspace / "memory"
    notes.rename(lab.root / "elsewhere")
    notes.symlink_to(lab.root / "elsewhere")
    lab.index()

    status = lab.memory().status()

    assert (status.health, status.files_indexed) == ("degraded", 1)
    assert len(status.problems) == 1 and f"{notes} is a symlink, which is not followed: {STAYS}" in status.problems[0]


def test_a_folder_that_cannot_be_read_is_a_problem_and_keeps_its_rows(lab, monkeypatch) -> None:
    lab.note("memory/a.md", "quokka")
    lab.index()
    real = os.scandir

    def scandir(path):
        if Path(path) == lab.workspace / "memory":
            raise PermissionError(13, "Permission denied")  # root may read all: the mode alone stops nobody
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    lab.index()

    status = lab.memory().status()

    assert status.health == "degraded"
    assert status.problems == ("memory cannot be read: what is indexed of it stays as it is",)
    assert status.chunks == 1


def test_another_model_in_the_settings_is_a_problem(lab) -> None:
    lab.note("memory/a.md", "quokka")
    lab.index()
    lab.model = "test-32"

    before = lab.memory().status()
    lab.index()

    assert before.health == "stale"
    assert said(before, "holds vectors of test/test-64, the settings ask for test/test-32: run `recallite index`")
    assert lab.memory().status().health == "ok"


def test_a_model_after_none_is_a_problem(lab) -> None:
    lab.note("memory/a.md", "quokka")
    lab.model = None
    lab.index()
    lab.model = "test-64"

    before = lab.memory().status()
    lab.index()

    assert said(before, "holds no vectors, the settings ask for test/test-64")
    assert lab.memory().status().health == "ok"


def test_other_chunk_settings_are_a_problem(lab) -> None:
    lab.note("memory/a.md", "quokka")
    lab.index()
    lab.memory_search = {"chunking": {"tokens": 200, "overlap": 20}}

    before = lab.memory().status()
    lab.index()

    assert before.health == "stale"
    assert said(before, "chunks of 400 tokens with 80 of overlap, the settings ask for 200 with 20")
    assert lab.memory().status().health == "ok"


def test_an_edit_of_the_same_size_with_its_time_put_back_is_seen(lab) -> None:
    note = lab.note("memory/a.md", "quokka")
    info = note.stat()
    _wait_for_the_clock(note)
    lab.index()
    assert lab.memory().status().health == "ok"

    note.write_text("wombat")
    os.utime(note, ns=(info.st_atime_ns, info.st_mtime_ns))

    status = lab.memory().status()

    assert status.unindexed == ("memory/a.md",)
    assert status.health == "stale"


def _wait_for_the_clock(note: Path) -> None:
    """Until the note is older than the grain of file times: before that its change time is not trusted."""
    probe = note.with_name("probe.txt")
    while True:
        probe.write_text("x")
        if probe.stat().st_ctime_ns - note.stat().st_ctime_ns > 40_000_000:
            return


def test_a_damaged_index_is_told_with_the_remedy(lab) -> None:
    for number in range(40):
        lab.note(f"memory/{number}.md", f"note {number} " * 500)
    lab.index()
    path = lab.settings.index_path
    lab.close()
    data = bytearray(path.read_bytes())
    data[16384:] = b"\xa5" * (len(data) - 16384)
    for beside in path.parent.glob(f"{path.name}-*"):
        beside.unlink()
    path.write_bytes(data)

    done = lab.run("status", check=False)

    assert done.returncode == 1
    assert "Memory of main: failed" in done.stdout
    assert "recallite index" in done.stdout
    assert "Traceback" not in done.stderr


def test_a_damaged_queue_is_a_problem(lab) -> None:
    lab.note("memory/a.md", "quokka")
    lab.index()
    queue = lab.settings.state_dir / "recallite/queue.sqlite"
    for beside in queue.parent.glob("queue.sqlite-*"):
        beside.unlink()
    queue.write_bytes(b"no database" * 1000)

    status = lab.memory().status()

    assert status.health == "degraded"
    assert said(status, "the work queue")
    assert said(status, "begun anew by `recallite index`")


def test_an_agent_that_is_switched_off_is_no_problem(lab) -> None:
    lab.note("memory/a.md", "quokka")
    lab.memory_search = {"enabled": False}

    done = lab.run("status")
    status = lab.real_status()

    assert status.health == "ok" and status.unindexed == ()
    assert len(status.problems) == 1
    assert said(status, "memory search is switched off for this agent (memorySearch.enabled)")
    assert "switched off" in done.stdout and "recallite index" not in done.stdout.partition("Watcher")[0]
    assert lab.run("index").stdout == "main: memory search is switched off (memorySearch.enabled)\n"


def test_one_is_told_in_the_singular(lab) -> None:
    lab.memory_search = {"provider": "openai"}  # without a key
    lab.note("memory/a.md", "quokka")
    lab.run("index", check=False)
    lab.note("memory/b.md", "wombat")
    lab.note("memory/c.md", b"\0\1\2")

    told = lab.run("index", check=False).stdout
    lab.note("memory/d.md", "numbat")
    shown = lab.run("status", check=False).stdout

    assert "main: 2 files, 2 chunks, 0 vectors; this run: 1 file written" in told
    assert "1 file waits to be indexed" in shown
    assert not re.search(r"\b1 [a-z]+s\b(?! open)", told + shown.partition("Workspace")[0])


def test_a_memory_without_tools_is_switched_off(lab) -> None:
    settings = replace(lab.settings, tools_enabled=False)  # plugins.slots.memory is "none"

    with MemorySearch(settings=settings) as memory:
        with pytest.raises(RecalliteError, match=r"switched off .*plugins\.slots\.memory"):
            memory.search("quokka")
        with pytest.raises(RecalliteError, match="switched off"):
            memory.get("MEMORY.md")
        assert said(memory.status(), "plugins.slots.memory")


@pytest.mark.parametrize("folder", ["./memory", "memory/", "memory/sub/..", "memory"])
def test_a_folder_may_be_written_in_several_ways(lab, folder: str) -> None:
    lab.note("MEMORY.md", "quokka")
    lab.note("memory/a.md", "quokka")
    lab.index()

    assert lab.paths("quokka", folder=folder) == ["memory/a.md"]
    assert lab.paths("quokka", folder=str(lab.workspace / folder)) == ["memory/a.md"]
    assert sorted(lab.paths("quokka", folder=".")) == ["MEMORY.md", "memory/a.md"]
    assert sorted(lab.paths("quokka", folder=str(lab.workspace))) == ["MEMORY.md", "memory/a.md"]


@pytest.mark.skipif(os.sep != "/", reason="a name cannot have a backslash here")
def test_a_backslash_in_a_name_is_taken_as_it_is_when_there_is_such_a_note(lab) -> None:
    lab.note("memory/back\\slash.md", "with a backslash")
    lab.note("memory/plain.md", "plain")

    assert lab.memory().get("memory/back\\slash.md").text == "with a backslash"
    assert lab.memory().get("memory\\plain.md").text == "plain"
    with pytest.raises(RecalliteError):
        lab.memory().get("memory\\..\\..\\secret.md")
