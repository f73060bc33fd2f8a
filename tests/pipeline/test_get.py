"""What `recallite get` says when it has no text to print."""

from __future__ import annotations

import json

import pytest


@pytest.fixture
def noted(lab):
    lab.note("MEMORY.md", "# Memory\n\nThe printer is on VLAN 30.\n")
    return lab


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["memory/typo.md"], "recallite: no note memory/typo.md\n"),
        (["memory/typo.md", "--from", "2"], "recallite: no note memory/typo.md\n"),
        (["memory/typo.md", "--json"], "recallite: no note memory/typo.md\n"),
        (["MEMORY.md", "--from", "99"], "recallite: MEMORY.md has 3 lines\n"),
        (["memory/empty.md"], "recallite: memory/empty.md is empty\n"),
        (["MEMORY.md", "--from", "2", "--lines", "1"], ""),
    ],
)
def test_get_says_why_there_is_no_text(noted, arguments: list[str], said: str) -> None:
    noted.note("memory/empty.md", "")

    got = noted.run("get", *arguments, check=False)

    assert (got.returncode, got.stderr) == (0, said)
    assert not got.stdout.strip() or json.loads(got.stdout) == {"text": "", "path": "memory/typo.md"}


def test_get_says_that_the_workspace_is_not_there(noted) -> None:
    noted.workspace.rename(noted.root / "elsewhere")

    got = noted.run("get", "MEMORY.md", check=False)

    assert (got.returncode, got.stdout) == (0, "")
    assert got.stderr == f"recallite: no note MEMORY.md: the workspace {noted.workspace} is not there\n"
