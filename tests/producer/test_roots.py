"""What an event at a path means, without looking at the disk."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from recallite_producer.roots import Root, parts_below, roots_of

if TYPE_CHECKING:
    from conftest import Rig

WORKSPACE = Path("/agents/pip")
TOP = Root("pip", WORKSPACE, WORKSPACE, recursive=False, only=frozenset({"MEMORY.md"}))
NOTES = Root("pip", WORKSPACE, WORKSPACE / "memory", recursive=True)
EXTRA = Root("pip", WORKSPACE, Path("/library"), recursive=True, has_ignore_rules=True)
SESSIONS = Root("pip", WORKSPACE, Path("/state/sessions"), recursive=False, source="sessions")


@pytest.mark.parametrize(
    ("root", "path", "expected"),
    [
        (TOP, "MEMORY.md", "MEMORY.md"), (TOP, "README.md", None), (TOP, "memory/a.md", None),
        (NOTES, "a.md", "memory/a.md"), (NOTES, "deep/er/A.MD", "memory/deep/er/A.MD"), (NOTES, "a.txt", None),
        (NOTES, "a.md~", None), (NOTES, ".a.md.swp", None), (NOTES, ".hidden.md", "memory/.hidden.md"),
        (NOTES, ".git/a.md", None), (NOTES, "x/node_modules/y/a.md", None), (NOTES, ".gitignore", None),
        (NOTES, "caf\udce9.md", None), (NOTES, "日記.md", "memory/日記.md"),
        (EXTRA, "a.md", "/library/a.md"), (EXTRA, "deep/.gitignore", "/library/deep"), (EXTRA, ".ignore", "/library"),
        (SESSIONS, "a.jsonl", "sessions/a.jsonl"), (SESSIONS, "deep/a.jsonl", None), (SESSIONS, "a.jsonl.lock", None),
        (SESSIONS, "a.jsonl.reset.2026-02-10T09-00-00.000Z", "sessions/a.jsonl.reset.2026-02-10T09-00-00.000Z"),
        (SESSIONS, "a.jsonl.deleted.2026-02-10T09-00-00.000Z", None), (SESSIONS, "sessions.json", None),
    ],
)  # fmt: skip
def test_what_a_file_means(root: Root, path: str, expected: str | None) -> None:
    change = root.change(tuple(path.split("/")), is_directory=False)

    assert (change.path if change else None) == expected


@pytest.mark.parametrize(
    ("root", "path", "counts"),
    [(TOP, "memory", False), (NOTES, "deep/er", True), (NOTES, ".git", False), (NOTES, "a/.git/b", False), (SESSIONS, "x", False)],
)  # fmt: skip
def test_what_a_folder_means(root: Root, path: str, counts: bool) -> None:
    change = root.change(tuple(path.split("/")), is_directory=True)

    assert (change is not None) == counts
    assert change is None or change.is_directory


@pytest.mark.parametrize(
    ("folder", "path", "parts"),
    [("/a", "/a", ()), ("/a", "/a/b/c", ("b", "c")), ("/a", "/ab", None), ("/", "/b", ("b",)), ("/a", "/b", None)],
)
def test_parts_below(folder: str, path: str, parts: tuple[str, ...] | None) -> None:
    assert parts_below(folder, path) == parts


def test_the_roots_of_an_agent(rig: Rig) -> None:
    rig.memory_search["extraPaths"] = ["docs", "/abs/one.md"]
    roots = roots_of(rig.settings().agent(None))

    assert [(root.path, root.recursive) for root in roots] == [
        (rig.workspace(), False), (rig.memory, True), (rig.workspace() / "docs", True), (Path("/abs"), False),
    ]  # fmt: skip
