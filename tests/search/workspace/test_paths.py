"""What memory_get may read, and what it refuses with the reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from recallite.errors import MemoryPathError
from recallite.workspace import read_excerpt


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    root = tmp_path / "workspace"
    (root / "memory/sub").mkdir(parents=True)
    (root / "MEMORY.md").write_text("one\ntwo\nthree\n")
    (root / "memory/a.md").write_text("note a")
    (root / "memory/t.txt").write_text("text")
    (root / "memory/dir.md").mkdir()
    (root / "memory/bin.md").write_bytes(b"\0\1\2")
    (root / "notes.md").write_text("not memory")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret.md").write_text("secret")
    (root / "memory/link.md").symlink_to(tmp_path / "outside/secret.md")
    (root / "memory/linked").symlink_to(tmp_path / "outside")
    (root / ".memory").mkdir()
    (root / ".memory/h.md").write_text("hidden")
    (tmp_path / "extra").mkdir()
    (tmp_path / "extra/x.md").write_text("extra")
    return root


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("MEMORY.md", "one\ntwo\nthree\n"),
        (" MEMORY.md ", "one\ntwo\nthree\n"),
        ("./memory/a.md", "note a"),
        ("memory//a.md", "note a"),
        ("memory\\a.md", "note a"),
        ("memory/none.md", ""),
        ("memory/sub/none.md", ""),
        ("memory/a.md/x.md", ""),
        ("memory.md", ""),
    ],
)
def test_notes_are_read(workspace: Path, path: str, text: str) -> None:
    assert read_excerpt(path, workspace).text == text


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("", "required"),
        ("  ", "required"),
        ("notes.md", "outside"),
        ("memory", "outside"),
        ("memory/", "outside"),
        (".memory/h.md", "outside"),
        ("/etc/passwd", "outside"),
        ("memory/t.txt", "Markdown"),
        ("../outside/secret.md", r"\.\."),
        ("memory/../notes.md", r"\.\."),
        ("memory\\..\\notes.md", r"\.\."),
        ("memory/link.md", "symlink"),
        ("memory/linked/secret.md", "symlink"),
        ("memory/dir.md", "regular file"),
        ("memory/bin.md", "binary"),
        ("memory/a\0.md", "NUL"),
        ("MEMORY.md.bak", "outside"),
    ],
)
def test_the_rest_is_refused_with_the_reason(workspace: Path, path: str, reason: str) -> None:
    with pytest.raises(MemoryPathError, match=reason):
        read_excerpt(path, workspace)


def test_an_absolute_path_into_the_memory_is_read(workspace: Path) -> None:
    assert read_excerpt(str(workspace / "memory/a.md"), workspace).path == "memory/a.md"


def test_extra_paths_are_read_by_the_name_that_search_gives(workspace: Path, tmp_path: Path) -> None:
    extra = tmp_path / "extra"

    assert read_excerpt(str(extra / "x.md"), workspace, [extra]).text == "extra"
    assert read_excerpt(str(extra / "x.md"), workspace, [extra / "x.md"]).text == "extra"
    with pytest.raises(MemoryPathError, match="outside"):
        read_excerpt(str(tmp_path / "outside/secret.md"), workspace, [extra])


@pytest.mark.parametrize(
    ("first", "count", "text"),
    [
        (None, None, "one\ntwo\nthree\n"),
        (2, None, "two\nthree\n"),
        (2, 1, "two\n"),
        (None, 1, "one\n"),
        (0, 1, "one\n"),
        (-3, 1, "one\n"),
        (1, 0, "one\n"),
        (3, 99, "three\n"),
        (4, 1, ""),
        (99, None, ""),
    ],
)
def test_lines(workspace: Path, first: int | None, count: int | None, text: str) -> None:
    assert read_excerpt("MEMORY.md", workspace, from_line=first, lines=count).text == text


def test_a_directory_that_becomes_a_symlink_is_not_followed(workspace: Path, tmp_path: Path) -> None:
    (workspace / "memory/sub").rmdir()
    (workspace / "memory/sub").symlink_to(tmp_path / "outside")

    with pytest.raises(MemoryPathError, match="symlink"):
        read_excerpt("memory/sub/secret.md", workspace)
