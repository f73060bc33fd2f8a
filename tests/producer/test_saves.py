"""Every way in which a note can be saved, moved or removed is noticed, and nothing else is."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from recallite.workspace import read_excerpt, scan_memory

if TYPE_CHECKING:
    from conftest import Rig


def test_a_new_note(rig: Rig) -> None:
    rig.start()
    (rig.memory / "a.md").write_text("new")

    rig.expect("memory/a.md")
    rig.expect_nothing_else("memory/a.md")


def test_an_append(rig: Rig) -> None:
    (rig.memory / "a.md").write_text("one\n")
    rig.start()
    with (rig.memory / "a.md").open("a") as file:
        file.write("two\n")

    rig.expect("memory/a.md")


@pytest.mark.parametrize("name", ["MEMORY.md", "memory.md"])
def test_the_curated_memory(rig: Rig, name: str) -> None:
    rig.start()
    (rig.workspace() / "notes.md").write_text("not memory")
    (rig.workspace() / name).write_text("curated")

    rig.expect(name)
    rig.expect_nothing_else(name)


def test_a_save_by_temporary_file_and_rename(rig: Rig) -> None:
    (rig.memory / "a.md").write_text("old")
    rig.start()
    draft = rig.memory / ".a.md.swp-1"
    draft.write_text("new")
    draft.replace(rig.memory / "a.md")

    rig.expect("memory/a.md")
    rig.expect_nothing_else("memory/a.md")


def test_a_note_that_is_renamed_into_place_from_outside(rig: Rig) -> None:
    rig.start()
    outside = rig.root / "draft.md"
    outside.write_text("new")
    outside.replace(rig.memory / "a.md")

    rig.expect("memory/a.md")


def test_a_rename_marks_both_names(rig: Rig) -> None:
    (rig.memory / "old.md").write_text("text")
    rig.start()
    (rig.memory / "old.md").rename(rig.memory / "new.md")

    rig.expect("memory/old.md", "memory/new.md")


def test_a_save_as_vim_does_it_with_a_backup(rig: Rig) -> None:
    (rig.memory / "a.md").write_text("old")
    rig.start()
    (rig.memory / "a.md").rename(rig.memory / "a.md~")
    (rig.memory / "a.md").write_text("new")
    (rig.memory / "a.md~").unlink()

    rig.expect("memory/a.md")
    rig.expect_nothing_else("memory/a.md")


def test_a_note_that_is_removed_or_moved_away(rig: Rig) -> None:
    for name in ("removed.md", "moved.md"):
        (rig.memory / name).write_text("text")
    rig.start()
    (rig.memory / "removed.md").unlink()
    (rig.memory / "moved.md").rename(rig.root / "elsewhere.md")

    rig.expect("memory/removed.md", "memory/moved.md")


def test_an_edit_that_restores_size_and_time(rig: Rig) -> None:
    note = rig.memory / "a.md"
    note.write_text("one")
    before = note.stat()
    rig.start()
    note.write_text("two")
    os.utime(note, ns=(before.st_atime_ns, before.st_mtime_ns))

    rig.expect("memory/a.md")


def test_folders_made_and_written_to_at_once(rig: Rig) -> None:
    """Each note is marked, or a scan is asked for after it was written."""
    rig.start()
    for number in range(100):
        folder = rig.memory / f"{number}" / "b" / "c"
        folder.mkdir(parents=True)
        (folder / "note.md").write_text("text")
    rig.expect_scan()
    rig.sender.clear()
    for number in range(100):
        (rig.memory / f"{number}" / "b" / "c" / "note.md").write_text("later")

    rig.expect(*[f"memory/{number}/b/c/note.md" for number in range(100)])


def test_a_burst_of_folders_is_a_few_scans(rig: Rig) -> None:
    rig.start()
    for number in range(300):
        (rig.memory / f"{number}").mkdir()
        (rig.memory / f"{number}" / "a.md").write_text("text")
    rig.expect(*[f"memory/{number}/a.md" for number in range(300)])
    (rig.memory / "last").mkdir()
    rig.until(lambda: rig.sender.sent[-1][1] == "*", what="the scan for the last one")

    assert 1 <= rig.sender.scans() <= 10


def test_a_folder_moved_in_is_scanned_and_watched(rig: Rig) -> None:
    outside = rig.root / "outside"
    outside.mkdir()
    (outside / "a.md").write_text("text")
    rig.start()
    outside.rename(rig.memory / "inside")

    rig.expect("memory/inside/a.md")
    rig.expect_scan()
    rig.sender.clear()
    (rig.memory / "inside" / "b.md").write_text("text")
    rig.expect("memory/inside/b.md")


def test_a_folder_moved_out_is_scanned_and_watched_no_more(rig: Rig) -> None:
    (rig.memory / "inside").mkdir()
    (rig.memory / "inside" / "a.md").write_text("text")
    rig.start()
    (rig.memory / "inside").rename(rig.root / "outside")

    rig.expect_scan()
    rig.sender.clear()
    (rig.root / "outside" / "a.md").write_text("a ghost")
    rig.expect_nothing_else()


def test_a_folder_that_leaves_and_returns_is_watched(rig: Rig) -> None:
    (rig.memory / "inside").mkdir()
    rig.start()
    (rig.memory / "inside").rename(rig.root / "outside")
    (rig.root / "outside").rename(rig.memory / "inside")

    rig.expect_scan()
    rig.sender.clear()
    (rig.memory / "inside" / "a.md").write_text("text")
    rig.expect("memory/inside/a.md")


def test_a_name_used_again_after_its_folder_was_moved_out(rig: Rig) -> None:
    """watchdog 7.1 alone loses the thread that reads the events of all folders, and looks alive."""
    service = rig.start()
    for name in ("first", "second"):
        (rig.memory / "d").mkdir()
        (rig.memory / "d" / f"{name}.md").write_text("text")
        rig.expect(f"memory/d/{name}.md")  # so it is watched
        if name == "first":
            (rig.memory / "d").rename(rig.root / "outside")
    rig.sender.clear()
    shutil.rmtree(rig.memory / "d")
    rig.expect("memory/d/second.md")
    shutil.rmtree(rig.root / "outside")

    rig.sender.clear()
    (rig.memory / "a.md").write_text("text")
    rig.expect("memory/a.md")
    assert service.health().restarts == 0


def test_a_renamed_folder_is_scanned_and_watched(rig: Rig) -> None:
    (rig.memory / "old").mkdir()
    (rig.memory / "old" / "a.md").write_text("text")
    rig.start()
    (rig.memory / "old").rename(rig.memory / "new")

    rig.expect("memory/old/a.md", "memory/new/a.md")
    rig.expect_scan()
    rig.sender.clear()
    (rig.memory / "new" / "b.md").write_text("text")
    rig.expect("memory/new/b.md")


def test_a_hidden_folder_that_is_shown(rig: Rig) -> None:
    rig.start()
    (rig.memory / ".x").mkdir()
    (rig.memory / ".x").rename(rig.memory / "x")
    (rig.memory / "x" / "a.md").write_text("text")

    rig.expect("memory/x/a.md")


def test_what_lies_behind_symlinks_gives_nothing(rig: Rig) -> None:
    outside = rig.root / "outside"
    outside.mkdir()
    (outside / "a.md").write_text("text")
    (rig.memory / "folder").symlink_to(outside)
    (rig.memory / "note.md").symlink_to(outside / "a.md")
    rig.start()
    (outside / "a.md").write_text("changed")
    (outside / "b.md").write_text("new")

    rig.expect_nothing_else()


def test_skipped_folders_and_other_files_give_nothing(rig: Rig) -> None:
    for folder in (".git", "node_modules", ".obsidian"):
        (rig.memory / folder / "deep").mkdir(parents=True)
    rig.start()
    for folder in (".git", "node_modules", ".obsidian"):
        (rig.memory / folder / "a.md").write_text("text")
        (rig.memory / folder / "deep" / "a.md").write_text("text")
        (rig.memory / folder / "new").mkdir()
    (rig.memory / "picture.png").write_bytes(b"\x89PNG")
    (rig.memory / os.fsdecode(b"caf\xe9.md")).write_text("a name that is not UTF-8")

    rig.expect_nothing_else()


def test_our_own_reads_give_nothing(rig: Rig) -> None:
    for number in range(20):
        (rig.memory / f"{number}.md").write_text("text")
    settings = rig.settings().agent(None)
    rig.start()
    for number in range(20):
        read_excerpt(f"memory/{number}.md", rig.workspace())
    scan_memory(settings.workspace, settings.extra_paths)
    subprocess.run(["ls", "-lR", str(rig.workspace())], check=True, capture_output=True)

    rig.expect_nothing_else()


def test_a_burst_of_3000_files(make_rig: Callable[..., Rig]) -> None:
    rig = make_rig(debounce_ms=1_000)
    service = rig.start()
    for number in range(3_000):
        (rig.memory / f"{number}.md").write_text("text")

    rig.until(lambda: len(set(rig.sender.paths())) == 3_000, seconds=20, what="3000 marks")
    assert service.health().restarts == 0
    assert any(lane == "backfill" for _, _, lane in rig.sender.sent), "a burst must not go before others' edits"
    assert rig.sender.calls < 100


def test_steady_edits_use_no_more_descriptors(rig: Rig) -> None:
    rig.start()
    (rig.memory / "a.md").write_text("first")
    rig.expect("memory/a.md")
    before = len(list(Path("/proc/self/fd").iterdir()))
    for number in range(500):
        (rig.memory / f"{number % 10}.md").write_text(str(number))
        draft = rig.memory / "draft"
        draft.write_text(str(number))
        draft.replace(rig.memory / "a.md")
    rig.expect(*[f"memory/{number}.md" for number in range(10)])

    assert abs(len(list(Path("/proc/self/fd").iterdir())) - before) <= 5
