"""Folders that come, go, are links, are shared, or hold what the settings leave out."""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Rig

    from recallite_producer.service import ProducerService


def modes(service: ProducerService) -> dict[str, str]:
    return {folder.path: folder.mode for folder in service.health().folders}


def test_a_root_that_is_deleted_and_made_anew(rig: Rig) -> None:
    (rig.memory / "a.md").write_text("old")
    rig.start()
    shutil.rmtree(rig.memory)
    rig.memory.mkdir()
    (rig.memory / "a.md").write_text("new")
    written = time.monotonic()

    rig.expect_scan()
    # The producer may meet all of it at once, so that one scan is enough; but none from before the text was there.
    rig.until(lambda: rig.sender.scanned_at["main"] > written or "memory/a.md" in rig.sender.paths())
    rig.sender.clear()
    (rig.memory / "b.md").write_text("text")
    rig.expect("memory/b.md")


def test_a_root_that_is_moved_away_and_replaced(rig: Rig) -> None:
    rig.start()
    rig.memory.rename(rig.root / "old")
    rig.memory.mkdir()

    rig.expect_scan()
    rig.sender.clear()
    (rig.root / "old" / "a.md").write_text("a ghost")
    rig.expect_nothing_else()


def test_a_whole_workspace_that_is_deleted_and_made_anew(rig: Rig) -> None:
    service = rig.start()
    shutil.rmtree(rig.workspace())
    rig.until(lambda: set(modes(service).values()) == {"missing"})
    rig.memory.mkdir(parents=True)
    rig.until(lambda: set(modes(service).values()) == {"events"})

    rig.sender.clear()
    (rig.memory / "a.md").write_text("text")
    rig.expect("memory/a.md")


def test_a_root_that_is_made_later(make_rig: Callable[..., Rig]) -> None:
    rig = make_rig(memory_search={"extraPaths": ["../library"]})
    rig.memory.rmdir()
    service = rig.start()
    missing = [folder for folder in service.health().folders if folder.mode == "missing"]
    assert [(folder.reason) for folder in missing] == ["does not exist"] * 2
    (rig.memory / "sub").mkdir(parents=True)
    (rig.memory / "sub" / "a.md").write_text("text")
    (rig.root / "library").mkdir()

    rig.until(lambda: set(modes(service).values()) == {"events"})
    rig.expect_scan()
    rig.sender.clear()
    (rig.memory / "sub" / "b.md").write_text("text")
    (rig.root / "library" / "c.md").write_text("text")
    rig.expect("memory/sub/b.md", str(rig.root / "library" / "c.md"))


def test_a_workspace_that_is_a_symlink(make_rig: Callable[..., Rig]) -> None:
    rig = make_rig()
    rig.workspace().rename(rig.root / "real")
    rig.workspace().symlink_to("real")
    rig.start()
    (rig.root / "real" / "memory" / "a.md").write_text("text")
    (rig.root / "real" / "MEMORY.md").write_text("text")

    rig.expect("memory/a.md", "MEMORY.md")

    (rig.root / "other" / "memory").mkdir(parents=True)
    rig.workspace().unlink()
    rig.workspace().symlink_to("other")
    rig.expect_scan()
    rig.sender.clear()
    (rig.root / "other" / "memory" / "b.md").write_text("text")
    rig.expect("memory/b.md")


def test_a_notes_folder_that_is_a_symlink_is_not_followed(rig: Rig) -> None:
    (rig.root / "outside").mkdir()
    rig.memory.rmdir()
    rig.memory.symlink_to(rig.root / "outside")
    service = rig.start()

    [notes] = [folder for folder in service.health().folders if folder.path == str(rig.memory)]
    assert (notes.mode, notes.reason) == ("missing", "is a symlink, which is not followed")


def test_extra_paths_inside_outside_and_a_single_file(make_rig: Callable[..., Rig]) -> None:
    rig = make_rig(memory_search={"extraPaths": ["docs", "../library", "../single.md"]})
    (rig.workspace() / "docs").mkdir()
    (rig.root / "library" / "deep").mkdir(parents=True)
    rig.start()
    (rig.workspace() / "docs" / "a.md").write_text("text")
    (rig.root / "library" / "deep" / "b.MD").write_text("text")
    (rig.root / "single.md").write_text("text")
    (rig.root / "other.md").write_text("text")

    expected = ["docs/a.md", str(rig.root / "library" / "deep" / "b.MD"), str(rig.root / "single.md")]
    rig.expect(*expected)
    rig.expect_nothing_else(*expected)


def test_what_exclude_and_gitignore_leave_out_gives_nothing(make_rig: Callable[..., Rig]) -> None:
    rig = make_rig(memory_search={"extraPaths": ["../library"], "exclude": ["archive/**"]})
    library = rig.root / "library"
    for folder in ("archive", "build", "kept"):
        (library / folder).mkdir(parents=True)
    (library / ".gitignore").write_text("build/\n")
    rig.start()
    for folder in ("archive", "build", "kept"):
        (library / folder / "a.md").write_text("text")
    (library / "build" / "new").mkdir()

    rig.expect(str(library / "kept" / "a.md"))
    rig.expect_nothing_else(str(library / "kept" / "a.md"))


def test_other_ignore_rules_cause_a_scan(make_rig: Callable[..., Rig]) -> None:
    rig = make_rig(memory_search={"extraPaths": ["../library"]})
    (rig.root / "library").mkdir()
    rig.start()
    (rig.root / "library" / ".gitignore").write_text("*.md\n")

    rig.expect_scan()


def test_agents_share_a_folder_and_its_watch(make_rig: Callable[..., Rig]) -> None:
    rig = make_rig(agents=("one", "two"), memory_search={"extraPaths": ["../library"]})
    (rig.root / "library").mkdir()
    service = rig.start()
    (rig.root / "library" / "a.md").write_text("text")
    (rig.workspace("one") / "memory" / "b.md").write_text("text")

    shared = str(rig.root / "library" / "a.md")
    rig.expect(shared, "memory/b.md", agent="one")
    rig.expect(shared, agent="two")
    assert [f.agents for f in service.health().folders if f.path.endswith("library")] == [("one", "two")]
    assert "memory/b.md" not in rig.sender.paths("two")


def test_one_real_folder_under_two_names(make_rig: Callable[..., Rig]) -> None:
    rig = make_rig()
    (rig.root / "link").symlink_to(rig.root)
    rig.memory_search["extraPaths"] = ["../library", "../link/library"]
    library = rig.root / "library"
    library.mkdir()
    rig.start()
    both = [str(library / "a.md"), str(rig.root / "link" / "library" / "a.md")]
    (library / "a.md").write_text("text")
    rig.expect(*both)

    shutil.rmtree(library)
    library.mkdir()
    rig.expect_scan()
    rig.sender.clear()
    (library / "a.md").write_text("text")
    rig.expect(*both)


@pytest.mark.parametrize("off", ["enabled", "watch"])
def test_what_is_switched_off_is_not_watched(make_rig: Callable[..., Rig], off: str) -> None:
    options = {"memory_search": {"enabled": False}} if off == "enabled" else {"sync": {"watch": False}}
    rig = make_rig(**options)
    service = rig.start(sender=rig.sender)

    assert service.health().folders == ()
    if off == "watch":
        rig.expect_scan()  # of the start
    else:
        assert not service.health().last_scan


def test_no_watch_is_spent_on_skipped_folders(rig: Rig) -> None:
    def watches() -> int:
        count = 0
        for info in list(Path("/proc/self/fdinfo").iterdir()):
            with contextlib.suppress(FileNotFoundError):
                count += sum(line.startswith("inotify") for line in info.read_text().splitlines())
        return count

    for number in range(200):
        (rig.memory / "node_modules" / f"{number}").mkdir(parents=True)
    rig.start()
    assert watches() == 2

    (rig.memory / "seen").mkdir()
    for number in range(50):
        (rig.memory / ".git" / f"{number}").mkdir(parents=True)
    rig.expect_scan()
    (rig.memory / "seen" / "a.md").write_text("text")
    rig.expect("memory/seen/a.md")
    assert watches() == 3
