"""The names in a sessions folder: which are transcripts, exactly."""

from __future__ import annotations

from pathlib import Path

import pytest

from recallite.transcripts import is_archive, is_transcript, scan_transcripts, transcript_name, transcript_path
from recallite.transcripts.files import find_archive, find_transcript

TIME = "2026-02-10T09-00-00.000Z"
NAMES = {
    "5e0c.jsonl": True,
    "5e0c-topic-77.jsonl": True,
    "日記.jsonl": True,
    f"5e0c.jsonl.reset.{TIME}": True,
    "5e0c.jsonl.reset.2026-02-10T09-00-00Z": True,
    f"5e0c.jsonl.deleted.{TIME}": False,
    f"5e0c.jsonl.bak.{TIME}": False,
    "5e0c.jsonl.bak": False,
    "5e0c.jsonl.lock": False,
    "5e0c.jsonl.tmp": False,
    f"5e0c.jsonl.reset.{TIME}.deleted.{TIME}": False,
    f"5e0c.jsonl.deleted.{TIME}.reset.{TIME}": False,
    f"5e0c.jsonl.reset.{TIME}.lock": False,
    "5e0c.jsonl.reset.yesterday": False,
    "5e0c.jsonl.reset": False,
    "5e0c.jsonl.bak.jsonl": False,
    "5e0c.bak.jsonl": False,
    ".jsonl": False,
    ".5e0c.jsonl": False,
    "5e0c.json": False,
    "sessions.json": False,
    "*": False,
}


@pytest.mark.parametrize(("name", "is_searched"), NAMES.items())
def test_the_grammar_of_names(tmp_path: Path, name: str, is_searched: bool) -> None:
    (tmp_path / name).write_bytes(b"{}\n")

    assert is_transcript(name) is is_searched
    assert list(scan_transcripts(tmp_path).files) == ([f"sessions/{name}"] if is_searched else [])
    assert (find_transcript(f"sessions/{name}", tmp_path) is not None) is is_searched


@pytest.mark.parametrize("ending", ["\n", "\0", "/x"])
def test_a_name_ends_where_it_ends(ending: str) -> None:
    assert not is_transcript(f"a.jsonl{ending}")
    assert not is_transcript(f"a.jsonl.reset.{TIME}{ending}")


def test_only_a_reset_makes_an_archive() -> None:
    assert is_archive(f"a.jsonl.reset.{TIME}")
    assert not is_archive("a.jsonl")
    assert not is_archive(f"a.jsonl.deleted.{TIME}")


@pytest.mark.parametrize("path", ["memory/a.md", "sessions/a.md", "sessions/x/a.jsonl", "sessions/*", "a.jsonl", ""])
def test_paths_of_notes_are_no_transcripts(path: str) -> None:
    assert transcript_name(path) is None


def test_an_index_path_gives_the_name_back() -> None:
    assert transcript_name(transcript_path("a.jsonl")) == "a.jsonl"


def test_links_folders_and_odd_names_are_left_out_and_told(tmp_path: Path) -> None:
    folder = tmp_path / "sessions"
    folder.mkdir()
    (tmp_path / "other.jsonl").write_bytes(b"")
    (folder / "link.jsonl").symlink_to(tmp_path / "other.jsonl")
    (folder / "folder.jsonl").mkdir()
    (folder / "caf\udce9.jsonl").write_bytes(b"")
    (folder / "good.jsonl").write_bytes(b"")

    scan = scan_transcripts(folder)

    assert list(scan.files) == ["sessions/good.jsonl"]
    assert {skipped.path: skipped.reason for skipped in scan.skipped} == {
        "sessions/link.jsonl": "symlink: links are not followed",
        "sessions/folder.jsonl": "not a regular file",
        "sessions/caf\ufffd.jsonl": "the file name is not valid UTF-8: rename the file",
    }
    assert find_transcript("sessions/link.jsonl", folder) is None


def test_a_folder_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a.jsonl").write_bytes(b"")
    (tmp_path / "link").symlink_to(tmp_path / "real")

    scan = scan_transcripts(tmp_path / "link")

    assert not scan.files
    assert scan.skipped[0].reason == "symlink: directories are not followed"
    assert scan.keeps("sessions/a.jsonl")
    with pytest.raises(OSError, match="is a symlink, which is not followed"):
        find_transcript("sessions/a.jsonl", tmp_path / "link")


def test_no_folder_is_no_fault(tmp_path: Path) -> None:
    scan = scan_transcripts(tmp_path / "nowhere")

    assert (scan.files, scan.skipped, scan.unreadable) == ({}, [], [])


def test_the_archive_of_a_file_is_known_by_the_file_itself(tmp_path: Path) -> None:
    live = tmp_path / "a.jsonl"
    live.write_bytes(b"")
    inode = live.stat().st_ino
    (tmp_path / "a.jsonl.reset.2025-01-01T00-00-00.000Z").write_bytes(b"")
    live.rename(tmp_path / f"a.jsonl.reset.{TIME}")

    assert find_archive(tmp_path, "a.jsonl", inode) == f"a.jsonl.reset.{TIME}"
    assert find_archive(tmp_path, "b.jsonl", inode) is None
    assert find_archive(tmp_path / "nowhere", "a.jsonl", inode) is None
