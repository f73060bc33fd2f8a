"""Which files are an agent's memory."""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path

import pytest

from recallite.workspace import Scan, scan_memory
from recallite.workspace.files import find_memory_file


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    root = tmp_path / "workspace"
    (root / "memory").mkdir(parents=True)
    return root


def write(root: Path, *paths: str) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(path)


def both_ways(workspace: Path, extra: list[Path] | None = None, exclude: list[str] | None = None) -> Scan:
    """The walk, after checking that looking at each path alone gives the same answer."""
    scan = scan_memory(workspace, extra or [], exclude or [])
    for path, found in scan.files.items():
        assert find_memory_file(path, workspace, extra or [], exclude or []) == found
    for root in [workspace, *(extra or [])]:
        for file in root.rglob("*") if root.is_dir() else []:
            name = str(file.relative_to(workspace)) if file.is_relative_to(workspace) else str(file)
            if name not in scan.files:
                assert find_memory_file(name, workspace, extra or [], exclude or []) is None, name
    return scan


def test_notes_are_found_in_their_places_only(workspace: Path) -> None:
    write(workspace, "MEMORY.md", "memory/a.md", "memory/deep/er/b.MD", "notes.md", "memory/c.txt", "other/d.md")

    assert sorted(both_ways(workspace).files) == ["MEMORY.md", "memory/a.md", "memory/deep/er/b.MD"]


@pytest.mark.parametrize("name", [".git", "node_modules", ".venv", "venv", "__pycache__", ".tox", ".hidden"])
def test_such_directories_are_passed_over(workspace: Path, name: str) -> None:
    write(workspace, f"memory/{name}/a.md", "memory/b.md")

    assert sorted(both_ways(workspace).files) == ["memory/b.md"]


def test_symlinks_are_left_out_and_named(workspace: Path, tmp_path: Path) -> None:
    write(tmp_path, "outside/secret.md")
    (workspace / "memory/link.md").symlink_to(tmp_path / "outside/secret.md")
    (workspace / "memory/folder").symlink_to(tmp_path / "outside")
    (workspace / "MEMORY.md").symlink_to(tmp_path / "outside/secret.md")
    (workspace / "memory/loop").symlink_to(workspace / "memory")

    scan = both_ways(workspace)

    assert scan.files == {}
    assert sorted(s.path for s in scan.skipped) == ["MEMORY.md", "memory/folder", "memory/link.md", "memory/loop"]
    assert all("symlink" in s.reason for s in scan.skipped)


def test_the_workspace_itself_may_be_a_symlink(workspace: Path, tmp_path: Path) -> None:
    write(workspace, "memory/a.md")
    (tmp_path / "vault").symlink_to(workspace)

    assert sorted(scan_memory(tmp_path / "vault").files) == ["memory/a.md"]


def test_extra_paths_are_walked_and_named(workspace: Path, tmp_path: Path) -> None:
    write(tmp_path, "extra/a.md", "extra/sub/b.md", "extra/c.txt", "one.md")
    write(workspace, "docs/d.md")

    scan = both_ways(workspace, [tmp_path / "extra", tmp_path / "one.md", workspace / "docs", tmp_path / "missing"])

    extra = str(tmp_path / "extra")
    assert sorted(scan.files) == sorted([f"{extra}/a.md", f"{extra}/sub/b.md", str(tmp_path / "one.md"), "docs/d.md"])
    assert [(s.path, s.reason) for s in scan.skipped] == [(str(tmp_path / "missing"), "extra path is missing")]


def test_an_extra_path_over_the_notes_adds_nothing_twice(workspace: Path) -> None:
    write(workspace, "MEMORY.md", "memory/a.md", "b.md")

    assert sorted(scan_memory(workspace, [workspace]).files) == ["MEMORY.md", "b.md", "memory/a.md"]


def test_ignore_files_and_globs_rule_in_extra_paths(workspace: Path, tmp_path: Path) -> None:
    write(tmp_path, "x/keep.md", "x/drop.md", "x/build/a.md", "x/sub/drop.md", "x/sub/back.md", "x/LICENSE.md")
    (tmp_path / "x/.gitignore").write_text("build/\ndrop.md\nback.md\n")
    (tmp_path / "x/sub/.ignore").write_text("!back.md\n")

    scan = both_ways(workspace, [tmp_path / "x"], ["LICENSE*"])

    assert sorted(Path(p).name for p in scan.files) == ["back.md", "keep.md"]


def test_two_names_of_one_file_give_one_entry(workspace: Path) -> None:
    write(workspace, "memory/a.md")
    os.link(workspace / "memory/a.md", workspace / "memory/b.md")

    assert sorted(scan_memory(workspace).files) == ["memory/a.md"]


def test_composed_and_decomposed_names_are_opened_as_they_are(workspace: Path) -> None:
    name = unicodedata.normalize("NFD", "memory/café.md")
    write(workspace, name)

    [found] = both_ways(workspace).files.values()

    assert found.location.read_text() == name


def test_a_deep_tree_does_not_end_the_walk(workspace: Path) -> None:
    path = "memory/" + "d/" * 900 + "a.md"
    write(workspace, path)

    assert sorted(scan_memory(workspace).files) == [path]


def test_an_unreadable_directory_is_named_and_keeps_its_rows(workspace: Path, monkeypatch) -> None:
    write(workspace, "memory/locked/a.md", "memory/b.md")
    real = os.scandir

    def scandir(path):
        if str(path).endswith("locked"):
            raise PermissionError(13, "Permission denied")  # root may read all: the mode alone stops nobody
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)

    scan = scan_memory(workspace)

    assert scan.unreadable == ["memory/locked"]
    assert sorted(scan.files) == ["memory/b.md"]


def test_a_missing_workspace_has_no_files(tmp_path: Path) -> None:
    assert scan_memory(tmp_path / "nowhere") == Scan()


def test_a_named_pipe_is_not_read(workspace: Path) -> None:
    os.mkfifo(workspace / "memory/pipe.md")

    scan = both_ways(workspace)

    assert scan.files == {}
    assert scan.skipped[0].reason == "not a regular file"
