"""Which files are an agent's memory."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest

from recallite.workspace import Scan, scan_memory
from recallite.workspace.files import find_memory_file
from recallite.workspace.ignore import IgnoreRules


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
    scan = scan_memory(tmp_path / "nowhere", [tmp_path / "away", tmp_path / "one.md"])

    assert scan.files == {}
    for path in ("MEMORY.md", "memory/a.md", str(tmp_path / "away/b.md")):
        assert scan.keeps(path), "its disk may not be mounted now"
        with pytest.raises(OSError):
            find_memory_file(path, tmp_path / "nowhere", [tmp_path / "away"])
    assert not scan.keeps(str(tmp_path / "one.md")), "the folder is there, and it is not in it"
    assert find_memory_file(str(tmp_path / "one.md"), tmp_path / "nowhere", [tmp_path / "one.md"]) is None


def test_a_path_that_is_too_long_for_the_system_is_named(workspace: Path) -> None:
    """Names may have 255 bytes and paths 4 096: the walk goes by paths."""
    here = os.open(workspace / "memory", os.O_RDONLY)
    for _ in range(24):
        os.mkdir("d" * 200, dir_fd=here)
        below = os.open("d" * 200, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(os.open("deep.md", os.O_CREAT | os.O_WRONLY, dir_fd=here))
    os.close(here)
    write(workspace, "memory/a.md")

    scan = scan_memory(workspace)

    assert sorted(scan.files) == ["memory/a.md"]
    [skipped] = scan.skipped
    assert skipped.path.startswith("memory/dddd") and "name too long" in skipped.reason
    assert scan.keeps(skipped.path + "/deep.md")


def test_memory_may_not_be_a_file(workspace: Path) -> None:
    (workspace / "memory").rmdir()
    (workspace / "memory").write_text("a file")

    scan = scan_memory(workspace)

    assert [(s.path, s.reason) for s in scan.skipped] == [("memory", "not a directory")]
    assert not scan.keeps("memory/a.md"), "it cannot be there"


def test_a_named_pipe_is_not_read(workspace: Path) -> None:
    os.mkfifo(workspace / "memory/pipe.md")

    scan = both_ways(workspace)

    assert scan.files == {}
    assert scan.skipped[0].reason == "not a regular file"


@pytest.mark.parametrize("line", ["!", "\\", "[z-a]", "[a", "/", "a[[:nonsense:]]"])
def test_a_line_that_cannot_be_a_pattern_is_passed_over_and_named(workspace: Path, tmp_path: Path, line: str) -> None:
    write(tmp_path, "x/a.md", "x/drop.md")
    (tmp_path / "x/.gitignore").write_text(f"# mine\n{line}\ndrop.md\n")

    scan = both_ways(workspace, [tmp_path / "x"], [line])
    rules = IgnoreRules([line])
    below = rules.enter(tmp_path / "x", (), [".gitignore"])

    assert sorted(scan.files) == [f"{tmp_path}/x/a.md"]
    assert [(r.file, r.reason.partition(", is")[0]) for r in rules.refused] == [(None, f"pattern 1, {line!r}")]
    assert [r.file for r in below.refused] == [tmp_path / "x/.gitignore"]
    assert below.refused[0].reason.startswith(f"line 2, {line!r}, is no pattern: ")
    assert [skipped.path for skipped in scan.skipped] == ["memorySearch.exclude", f"{tmp_path}/x/.gitignore"]
    assert [skipped.reason for skipped in scan.skipped] == [rules.refused[0].reason, below.refused[0].reason]


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        (["*", "!*/", "!*.md"], ["a.md", "doc/b.md", "sub/c.md", "sub/deep/d.md"]),
        (["sub/**", "!sub/deep/", "!sub/deep/**"], ["a.md", "doc/b.md", "sub/deep/d.md"]),
        (["*/", "!doc/"], ["a.md", "doc/b.md"]),
        (["\ufeffa.md"], ["doc/b.md", "sub/c.md", "sub/deep/d.md"]),
        (["sub/", "!sub/deep/d.md"], ["a.md", "doc/b.md"]),
        (["/*", "!/sub", "/sub/*", "!/sub/deep"], ["sub/deep/d.md"]),
        (["a.md\r", "doc/ "], ["sub/c.md", "sub/deep/d.md"]),
    ],
)
def test_what_is_taken_back_is_found(workspace: Path, tmp_path: Path, lines: list[str], found: list[str]) -> None:
    write(tmp_path, "x/a.md", "x/doc/b.md", "x/sub/c.md", "x/sub/deep/d.md")
    (tmp_path / "x/.gitignore").write_bytes("\n".join(lines).encode())

    scan = both_ways(workspace, [tmp_path / "x"])

    assert sorted(os.path.relpath(path, tmp_path / "x") for path in scan.files) == found


NAMES = ["a", "b", "doc", "deep", "sub"]
GLOBS = [
    *NAMES, "*", "**", "*.md", "a*", "?", "[ab]", "[!a]", "README.md", "[[:alpha:]]", "**a", "x\\ y.md", "x y.md ",
    "\\a", "[z-a]", "[a", "[]a]*", "[a-]", "\\",
]  # fmt: skip


def random_lines(chance: random.Random) -> Iterator[str]:
    for _ in range(chance.randint(1, 4)):
        names = "/".join(chance.choice(GLOBS) for _ in range(chance.choice([1, 1, 1, 2, 2, 3])))
        yield chance.choice(["", "", "!"]) + chance.choice(["", "", "/"]) + names + chance.choice(["", "", "/"])


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed: nothing to compare with")
@pytest.mark.parametrize("seed", range(25))
def test_git_leaves_out_the_same(workspace: Path, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    root = tmp_path / "x"
    folders = [root]
    for _ in range(6):
        folders.append(chance.choice(folders) / chance.choice(NAMES))
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
        write(folder, *chance.sample(["a.md", "b.md", "x y.md", "README.md"], 2))
    for folder in chance.sample(folders, 2):
        (folder / ".gitignore").write_text("\n".join(random_lines(chance)))
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", "init", "--quiet", root], env=env, check=True)
    command = ["git", "ls-files", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=root, env=env, capture_output=True, text=True, check=True).stdout

    scan = both_ways(workspace, [root])

    expected = sorted(path for path in listed.split("\0") if path.endswith(".md"))
    assert sorted(os.path.relpath(path, root) for path in scan.files) == expected
