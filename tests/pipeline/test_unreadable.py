"""What cannot be read now keeps what is indexed of it and is named; only what is surely gone is removed."""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from recallite.testing.transcripts import append, user, write_transcript

STAYS = "what is indexed of it stays as it is"
_READ_ALL = (1, 2)
"""CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH: by them root reads whatever the modes say."""
_DROP_FROM_BOUNDS = 24
_libc = ctypes.CDLL(None, use_errno=True)


def as_anybody() -> None:
    """In a child that is about to be started: let modes count, also for root."""
    if os.geteuid() == 0:
        for capability in _READ_ALL:
            _libc.prctl(_DROP_FROM_BOUNDS, capability, 0, 0, 0)


@pytest.fixture
def noted(lab):
    lab.memory_search = {
        "provider": "openai",
        "sources": ["memory", "sessions"],
        "experimental": {"sessionMemory": True},
        "extraPaths": [str(lab.root / "extra")],
    }
    lab.model = None
    lab.note("MEMORY.md", "quokka in the root")
    lab.note("memory/a.md", "wombat in a file")
    lab.note("memory/sub/b.md", "numbat in a folder")
    lab.note("../extra/c.md", "dugong in an extra path")
    write_transcript(lab.sessions, "s.jsonl", user("okapi in a session"))
    run(lab, "index")
    return lab


WORDS = ("quokka", "wombat", "numbat", "dugong", "okapi")


def run(lab, *arguments: str):
    return lab.run(*arguments, check=False, before_start=as_anybody)


def found(lab) -> set[str]:
    return {word for word in WORDS if lab.search(word).hits}


@pytest.fixture
def locked() -> Callable[[Path, int], None]:
    changed: list[tuple[Path, int]] = []

    def lock(path: Path, mode: int) -> None:
        changed.append((path, path.stat().st_mode))
        path.chmod(mode)

    yield lock
    for path, mode in reversed(changed):
        path.chmod(mode)


@pytest.mark.parametrize("force", [(), ("--force",)], ids=["index", "force"])
@pytest.mark.parametrize(
    ("place", "mode", "named"),
    [
        ("workspace/memory/a.md", 0, "memory/a.md: cannot be read: Permission denied; what was indexed of it stays"),
        ("workspace/MEMORY.md", 0, "MEMORY.md: cannot be read: Permission denied; what was indexed of it stays"),
        ("state/agents/main/sessions/s.jsonl", 0, "sessions/s.jsonl: cannot be read: Permission denied; what was"),
        ("workspace/memory/sub", 0, f"memory/sub cannot be read: {STAYS}"),
        ("workspace/memory/sub", 0o444, f"memory/sub/b.md cannot be read: {STAYS}"),
        ("workspace/memory", 0, f"memory cannot be read: {STAYS}"),
        ("workspace", 0, f"memory cannot be read: {STAYS}"),
        ("extra", 0, f"extra cannot be read: {STAYS}"),
        ("state/agents/main/sessions", 0, f"sessions cannot be read: {STAYS}"),
    ],
)
def test_what_cannot_be_read_stays_and_is_named(noted, locked, place, mode, named, force) -> None:
    locked(noted.root / place, mode)

    first = run(noted, "index", *force)
    second = run(noted, "index")

    for done in (first, second):
        assert named in done.stdout
    assert found(noted) == set(WORDS)
    assert named in run(noted, "status").stdout


def test_what_can_be_read_again_is_read_anew(noted, locked) -> None:
    note, folder, session = (
        noted.workspace / "memory/a.md",
        noted.workspace / "memory/sub",
        noted.sessions / "s.jsonl",
    )
    for path in (note, folder, session):
        locked(path, 0)
    run(noted, "index", "--force")
    for path, mode in ((note, 0o600), (folder, 0o700), (session, 0o600)):
        path.chmod(mode)
    note.write_text("aardvark in a file")
    append(session, user("a tapir as well"))

    done = run(noted, "index")

    assert "cannot be read" not in done.stdout
    assert found(noted) == set(WORDS) - {"wombat"}
    assert noted.paths("aardvark") == ["memory/a.md"] and noted.paths("tapir") == ["sessions/s.jsonl"]
    assert noted.real_status().failures == ()


def test_a_hit_in_a_file_that_cannot_be_read_may_be_stale(noted, locked) -> None:
    note = noted.workspace / "memory/a.md"
    note.write_text("something else")
    locked(note, 0)
    run(noted, "index")

    assert [hit.stale for hit in noted.search("wombat").hits] == [True]


@pytest.mark.parametrize("force", [(), ("--force",)], ids=["index", "force"])
@pytest.mark.parametrize("place", ["workspace", "extra"])
def test_a_folder_of_the_settings_that_is_not_there_keeps_its_text(noted, place: str, force) -> None:
    (noted.root / place).rename(noted.root / "elsewhere")

    first = run(noted, "index", *force)
    noted.sync("memory/a.md", str(noted.root / "extra/c.md"))
    second = run(noted, "index")

    for done in (first, second):
        assert f"{noted.root / place} does not exist: {STAYS}" in done.stdout
    assert found(noted) == set(WORDS)
    (noted.root / "elsewhere").rename(noted.root / place)
    assert "does not exist" not in run(noted, "index").stdout
    assert found(noted) == set(WORDS)


@pytest.mark.parametrize("force", [(), ("--force",)], ids=["index", "force"])
@pytest.mark.parametrize(
    ("place", "indexed", "remedy"),
    [
        ("workspace/memory", "memory/a.md", "name its target in memorySearch.extraPaths"),
        ("extra", "extra/c.md", "name its target in memorySearch.extraPaths instead"),
        ("state/agents/main/sessions", "sessions/s.jsonl", "put the folder itself there"),
    ],
)
def test_a_folder_of_the_settings_that_became_a_symlink_keeps_its_text(noted, place, indexed, remedy, force) -> None:
    folder = noted.root / place
    folder.rename(noted.root / "elsewhere")
    folder.symlink_to(noted.root / "elsewhere")

    first = run(noted, "index", *force)
    noted.sync(str(noted.root / indexed) if place == "extra" else indexed)
    second = run(noted, "index")
    status = run(noted, "status")

    for done in (first, second, status):
        problem = next(line for line in done.stdout.splitlines() if "which is not followed" in line)
        assert f"{folder} is a symlink, which is not followed: {STAYS}; " in problem and problem.endswith(remedy)
    assert found(noted) == set(WORDS)
    folder.unlink()
    (noted.root / "elsewhere").rename(folder)
    assert "symlink" not in run(noted, "index").stdout
    assert found(noted) == set(WORDS)


def test_a_symlink_deeper_in_the_notes_is_left_out_and_lets_its_text_go(noted) -> None:
    folder = noted.workspace / "memory/sub"
    folder.rename(noted.root / "elsewhere")
    folder.symlink_to(noted.root / "elsewhere")

    done = run(noted, "index")

    assert "left out: memory/sub: symlink: links are not followed" in done.stdout
    assert found(noted) == set(WORDS) - {"numbat"}


@pytest.mark.parametrize("place", ["workspace", "extra"])
def test_an_empty_folder_in_the_place_of_a_lost_one_lets_its_text_go(noted, place: str) -> None:
    (noted.root / place).rename(noted.root / "elsewhere")
    (noted.root / place).mkdir()

    run(noted, "index")

    assert found(noted) == ({"dugong", "okapi"} if place == "workspace" else set(WORDS) - {"dugong"})


def test_an_extra_path_that_is_taken_out_of_the_settings_lets_its_text_go(noted) -> None:
    (noted.root / "extra").rename(noted.root / "elsewhere")
    noted.memory_search["extraPaths"] = []

    assert "does not exist" not in run(noted, "index").stdout

    assert found(noted) == set(WORDS) - {"dugong"}


@pytest.mark.parametrize("way", ["rights of the file", "rights of its folder", "folder lost"])
def test_the_numbers_of_index_and_status_fit_each_other(noted, locked, way: str) -> None:
    if way == "rights of the file":
        locked(noted.workspace / "memory/sub/b.md", 0)
    elif way == "rights of its folder":
        locked(noted.workspace / "memory/sub", 0)
    else:
        (noted.root / "extra").rename(noted.root / "elsewhere")

    done = run(noted, "index")
    status = run(noted, "status").stdout

    on_disk = 5 if way == "rights of the file" else 4
    assert done.stdout.startswith("main: 5 files, 5 chunks")
    assert f"5 indexed, {on_disk} on disk, 1 kept that cannot be read now, 5 chunks" in status
    assert "1 indexed, 1 found, 0 below" in status


def test_a_note_that_nobody_knows_of_is_not_named(noted, locked) -> None:
    locked(noted.workspace, 0)

    done, status = run(noted, "index"), run(noted, "status")

    for shown in (done.stdout, status.stdout):
        assert f"MEMORY.md cannot be read: {STAYS}" in shown
        assert not re.search(r"(?<!\w)memory\.md", shown)


def test_a_hit_of_a_note_that_cannot_be_read_says_that_it_may_be_so(noted, locked) -> None:
    locked(noted.workspace / "memory/a.md", 0)
    run(noted, "index")

    assert (
        "memory/a.md:1-1  (changed since it was indexed, or cannot be read now)"
        in run(noted, "search", "wombat").stdout
    )


def test_a_folder_of_indexes_that_may_not_be_entered_is_told_once(noted, locked) -> None:
    folder = noted.settings.index_path.parent
    locked(folder, 0)

    done = run(noted, "index")

    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert str(noted.settings.index_path) in line and "Permission denied" in line and "Errno" not in line
