"""Folders without events: the walk sees what the indexer sees."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from recallite_producer.polling import Poller

if TYPE_CHECKING:
    from conftest import Rig


@pytest.fixture
def polled(make_rig: Callable[..., Rig], monkeypatch: pytest.MonkeyPatch) -> Iterator[Rig]:
    """A running producer whose folders are all polled, after its first walk."""
    rig = make_rig(memory_search={"extraPaths": ["../library"], "exclude": ["left-out/**"]})
    (rig.root / "library" / "left-out").mkdir(parents=True)
    (rig.memory / "a.md").write_text("one")
    (rig.memory / "folder").mkdir()
    (rig.memory / "folder" / "b.md").write_text("one")
    monkeypatch.setattr("recallite_producer.watch.mount_points", lambda: {"/": "fuse.sshfs"})
    rig.start()
    rig.expect_scan()
    rig.sender.clear()
    yield rig


def test_new_changed_and_removed_notes(polled: Rig) -> None:
    (polled.memory / "a.md").unlink()
    (polled.memory / "folder" / "b.md").write_text("two, and longer")
    (polled.root / "library" / "c.md").write_text("text")

    polled.expect("memory/a.md", "memory/folder/b.md", str(polled.root / "library" / "c.md"))


def test_an_edit_that_restores_size_and_time(polled: Rig) -> None:
    note = polled.memory / "a.md"
    before = note.stat()
    note.write_text("two")
    os.utime(note, ns=(before.st_atime_ns, before.st_mtime_ns))

    polled.expect("memory/a.md")


def test_a_folder_moved_away_names_its_notes(polled: Rig) -> None:
    (polled.memory / "folder").rename(polled.root / "elsewhere")

    polled.expect("memory/folder/b.md")


def test_nothing_but_notes(polled: Rig) -> None:
    (polled.root / "library" / "left-out" / "d.md").write_text("text")
    (polled.memory / "e.txt").write_text("text")
    (polled.memory / "f.md").symlink_to(polled.memory / "a.md")

    polled.expect_nothing_else()


def test_a_folder_that_cannot_be_listed_for_a_while_is_not_gone(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    (rig.memory / "folder").mkdir()
    (rig.memory / "folder" / "a.md").write_text("text")
    touched: list[str] = []
    poller = Poller(lambda change: touched.append(change.path), seconds=60)
    settings = rig.settings().agent(None)
    poller._compare("main", settings)
    original = os.scandir

    def refuse(path: Path) -> object:
        if Path(path).name == "folder":
            raise PermissionError(13, "Permission denied")
        return original(path)

    with monkeypatch.context() as patch:
        patch.setattr(os, "scandir", refuse)
        poller._compare("main", settings)
    poller._compare("main", settings)

    assert touched == ["*"]
