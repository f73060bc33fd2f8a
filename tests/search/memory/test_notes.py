"""What is written into notes is appended whole, by any number of writers, and nothing else changes."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import date, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from recallite import AgentSettings, MemoryWriteError, append_to_log, remember
from recallite.workspace import read_excerpt

DAY = date(2026, 2, 10)


def test_a_fact_is_an_item_of_memory_md(settings: AgentSettings) -> None:
    first = remember(settings, "The printer is on VLAN 30")
    second = remember(settings, "  - The user lives in Lisbon\n")

    assert (settings.workspace / "MEMORY.md").read_text() == (
        "# Memory\n\n- The printer is on VLAN 30\n  - The user lives in Lisbon\n"
    )
    assert (first.path, first.start_line, first.end_line) == ("MEMORY.md", 3, 3)
    assert (second.start_line, second.end_line) == (4, 4)


def test_a_day_note_goes_to_the_log_of_the_day(settings: AgentSettings) -> None:
    append_to_log(settings, "- met Lena\n- bought tea", day=DAY)
    written = append_to_log(settings, "## Evening\n\nrain", day=DAY)

    log = (settings.workspace / "memory/2026-02-10.md").read_text()
    assert log == "# 2026-02-10\n\n- met Lena\n- bought tea\n## Evening\n\nrain\n"
    assert read_excerpt(
        written.path, settings.workspace, from_line=written.start_line, lines=written.end_line - written.start_line + 1
    ).text == "## Evening\n\nrain\n"  # fmt: skip


def test_today_is_the_users(make_settings: Callable[..., AgentSettings]) -> None:
    zones = ("Pacific/Kiritimati", "Pacific/Pago_Pago")  # 25 hours apart: never on the same day
    days = []
    for zone in zones:
        before = datetime.now(ZoneInfo(zone)).date()
        written = append_to_log(make_settings(userTimezone=zone), "note")
        days.append(written.path)
        assert written.path in (f"memory/{before}.md", f"memory/{datetime.now(ZoneInfo(zone)).date()}.md")

    assert days[0] != days[1]


def test_memory_md_in_lower_case_is_kept_to(settings: AgentSettings) -> None:
    (settings.workspace / "memory.md").write_text("old")

    assert remember(settings, "new").path in ("memory.md", "MEMORY.md")  # the same on disks that ignore case
    assert (settings.workspace / "memory.md").read_text() == "old\n- new\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"no line end", b"no line end\n- fact\n"),
        (b"dos\r\n", b"dos\r\n- fact\r\n"),
        (b"", b"# Memory\n\n- fact\n"),
        (b"\xef\xbb\xbf# X\n", b"\xef\xbb\xbf# X\n- fact\n"),
        ("\ufeffzwölf\n".encode("utf-16-le"), "\ufeffzwölf\n- fact\n".encode("utf-16-le")),
        ("\ufeffzwölf\n".encode("utf-16-be"), "\ufeffzwölf\n- fact\n".encode("utf-16-be")),
        (b"bad \xff bytes\n", b"bad \xff bytes\n- fact\n"),
    ],
)
def test_it_is_written_as_the_note_is(settings: AgentSettings, before: bytes, after: bytes) -> None:
    note = settings.workspace / "MEMORY.md"
    note.write_bytes(before)

    remember(settings, "fact")

    assert note.read_bytes() == after


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("a\r\nb\rc", "a\nb\nc\n"),
        ("nul \0 and bell \a", "- nul   and bell\n"),
        ("half \ud83c surrogate", "- half \ufffd surrogate\n"),
        ("🦓 路由器", "- 🦓 路由器\n"),
        ("1. first", "1. first\n"),
        ("# Heading", "# Heading\n"),
    ],
)
def test_any_text_can_be_written(settings: AgentSettings, text: str, written: str) -> None:
    remember(settings, text)

    assert (settings.workspace / "MEMORY.md").read_text() == f"# Memory\n\n{written}"


@pytest.mark.parametrize("text", ["", "  ", "\n\n", "\0"])
def test_a_blank_text_is_refused_and_nothing_is_made(settings: AgentSettings, text: str) -> None:
    with pytest.raises(MemoryWriteError, match="blank"):
        remember(settings, text)

    assert not (settings.workspace / "MEMORY.md").exists()


def test_links_are_not_followed(settings: AgentSettings, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/file.md").write_text("theirs")
    (settings.workspace / "memory").symlink_to(tmp_path / "elsewhere")
    (settings.workspace / "MEMORY.md").symlink_to(tmp_path / "elsewhere/file.md")

    for write in (remember, append_to_log):
        with pytest.raises(MemoryWriteError, match="symlink"):
            write(settings, "text")  # type: ignore[operator]  # both take settings and text
    assert [file.name for file in (tmp_path / "elsewhere").iterdir()] == ["file.md"]
    assert (tmp_path / "elsewhere/file.md").read_text() == "theirs"


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("cut", [1, 2, 3])
def test_a_note_that_ends_within_a_character_is_left_alone(settings: AgentSettings, encoding: str, cut: int) -> None:
    note = settings.workspace / "MEMORY.md"
    whole = "\ufeffzwölf\n".encode(encoding)
    width = 4 if "32" in encoding else 2
    note.write_bytes(whole[:-cut])

    if cut % width == 0:
        remember(settings, "fact")
        assert read_excerpt("MEMORY.md", settings.workspace).text == "zwölf\n- fact\n"
        return
    with pytest.raises(MemoryWriteError, match=f"MEMORY.md is written in {encoding} and ends within a character"):
        remember(settings, "fact")
    assert note.read_bytes() == whole[:-cut]


def test_what_is_no_text_is_left_alone(settings: AgentSettings) -> None:
    note = settings.workspace / "MEMORY.md"
    note.write_bytes(b"\0\1\2" * 100)

    with pytest.raises(MemoryWriteError, match="looks binary"):
        remember(settings, "text")

    assert note.read_bytes() == b"\0\1\2" * 100


def test_without_a_workspace_the_error_names_it(settings: AgentSettings) -> None:
    settings.workspace.rmdir()

    with pytest.raises(MemoryWriteError, match=r"workspace.* does not exist"):
        remember(settings, "text")


def test_a_full_disk_leaves_the_note_as_it_was(settings: AgentSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    remember(settings, "first")
    before = (settings.workspace / "MEMORY.md").read_bytes()
    real = os.write

    def half(descriptor: int, data: bytes) -> int:
        if len(data) < 50:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(descriptor, data[:50])

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", half)
        with pytest.raises(MemoryWriteError, match="No space left"):
            remember(settings, "x" * 80)

    assert (settings.workspace / "MEMORY.md").read_bytes() == before


def _write_many(settings: AgentSettings, writer: int, count: int) -> None:
    for number in range(count):
        remember(settings, f"writer {writer} fact {number} {'x' * (number % 50)}.")
        append_to_log(settings, f"- writer {writer} note {number}\n  second line {number}", day=DAY)


WRITER = """
import sys
from datetime import date
from recallite import append_to_log, load_settings, remember
settings = load_settings(sys.argv[1]).agent()
for number in range(int(sys.argv[3])):
    remember(settings, f"writer {sys.argv[2]} fact {number} {'x' * (number % 50)}.")
    append_to_log(settings, f"- writer {sys.argv[2]} note {number}\\n  second line {number}", day=date(2026, 2, 10))
"""


def test_nothing_is_lost_between_processes(settings: AgentSettings) -> None:
    writers, count = 8, 25
    commands = [[sys.executable, "-c", WRITER, str(settings.config_file), str(w), str(count)] for w in range(writers)]
    env = {**os.environ, "OPENCLAW_STATE_DIR": str(settings.state_dir)}
    processes = [subprocess.Popen(command, env=env) for command in commands]

    assert [process.wait(120) for process in processes] == [0] * writers
    facts = (settings.workspace / "MEMORY.md").read_text().splitlines()
    assert facts[:2] == ["# Memory", ""]
    assert sorted(facts[2:]) == sorted(
        f"- writer {w} fact {n} {'x' * (n % 50)}." for w in range(writers) for n in range(count)
    )
    log = (settings.workspace / "memory/2026-02-10.md").read_text()
    assert all(f"- writer {w} note {n}\n  second line {n}\n" in log for w in range(writers) for n in range(count))
    assert len(log.splitlines()) == 2 + 2 * writers * count


def test_nothing_is_lost_between_threads_nor_to_an_editor_that_renames(settings: AgentSettings) -> None:
    note = settings.workspace / "MEMORY.md"
    remember(settings, "first")
    threads = [threading.Thread(target=_write_many, args=(settings, writer, 20)) for writer in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    copy = note.with_suffix(".tmp")
    copy.write_text(note.read_text() + "edited\n")
    copy.replace(note)

    remember(settings, "last")

    lines = note.read_text().splitlines()
    assert len(lines) == 3 + 4 * 20 + 2
    assert lines[-2:] == ["edited", "- last"]
