"""Any bytes in a note: findable by its words, or left out with a reason."""

from __future__ import annotations

import os

import pytest


@pytest.mark.parametrize(
    ("name", "data", "word"),
    [
        ("bom", b"\xef\xbb\xbf# Title\n\nquokka text", "quokka"),
        ("utf-16-le", b"\xff\xfe" + "der Quokka läuft".encode("utf-16-le"), "läuft"),
        ("utf-16-be", b"\xfe\xff" + "der Quokka läuft".encode("utf-16-be"), "quokka"),
        ("utf-32", b"\xff\xfe\0\0" + "quokka".encode("utf-32-le"), "quokka"),
        ("invalid utf-8", b"before \xff\xfe\x80 quokka after", "quokka"),
        ("latin-1", "Größe quokka".encode("latin-1"), "quokka"),
        ("surrogate in utf-16", b"\xff\xfe" + b"q\0u\0o\0k\0k\0a\0 \0\x3c\xd8 \0x\0", "quokka"),
        ("surrogate in utf-8", b"quokka \xed\xa0\xbc end", "quokka"),
        ("late NUL", b"quokka " + b"x" * 9000 + b"\0 tail", "tail"),
        ("carriage returns", b"one\rtwo\rquokka\r", "quokka"),
        ("control characters", b"quokka \x01\x02 \x1b[31mred\x1b[0m " + b"plain text " * 20, "red"),
        ("not yaml", b"---\n**Firm name**\n---\nquokka", "firm"),
        ("bad yaml", b"---\ntitle: [unclosed\n  bad: : indent\n---\nquokka", "unclosed"),
        ("upper case suffix", b"quokka", "quokka"),
    ],
)
def test_text_in_any_encoding_is_found(lab, name: str, data: bytes, word: str) -> None:
    path = "memory/note.MD" if name == "upper case suffix" else "memory/note.md"
    lab.note(path, data)
    lab.note("memory/other.md", "nothing")
    lab.index()

    assert lab.paths(word)[0] == path
    assert lab.memory().status().health == "ok"


@pytest.mark.parametrize("data", [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "text".encode("utf-16-le"), b"a\0b" * 100])
def test_binary_content_is_named_and_not_called_indexed(lab, data: bytes) -> None:
    lab.note("memory/picture.md", data)
    lab.note("memory/good.md", "good")
    outcome = lab.index()
    status = lab.memory().status()

    assert [failure.path for failure in outcome.failures] == ["memory/picture.md"]
    assert [failure.path for failure in status.failures] == ["memory/picture.md"]
    assert "binary" in status.failures[0].reason
    assert status.health == "degraded"
    assert status.files_indexed == 1


def test_a_binary_file_that_becomes_text_is_indexed(lab) -> None:
    lab.note("memory/a.md", b"\0\0\0")
    lab.index()
    lab.note("memory/a.md", "now it is text")
    lab.index()

    assert lab.paths("text") == ["memory/a.md"]
    assert lab.memory().status().health == "ok"


def test_line_numbers_point_at_the_lines_of_the_file(lab) -> None:
    lab.note("memory/a.md", "---\ntitle: x\ntags: y\n---\r\n\rbody quokka\r\nlast")
    lab.index()
    [hit] = lab.search("quokka").hits

    excerpt = lab.memory().get(hit.path, from_line=hit.start_line, lines=hit.end_line - hit.start_line + 1)

    assert "quokka" in excerpt.text
    assert (hit.start_line, hit.end_line) == (1, 7)


def test_a_five_megabyte_line_is_searchable_to_its_end(lab) -> None:
    lab.model = None
    lab.note("memory/big.md", "lorem " * 850_000 + "quokka")
    lab.index()

    [hit, *_] = lab.search("quokka").hits

    assert hit.path == "memory/big.md"
    assert "quokka" in hit.snippet and len(hit.snippet) <= 700


@pytest.mark.skipif(os.geteuid() != 0, reason="needs a name that is not UTF-8, which some file systems refuse")
def test_a_name_that_is_not_utf8_is_named_and_costs_only_itself(lab) -> None:
    lab.note("memory/good.md", "good")
    (lab.workspace / "memory" / os.fsdecode(b"bad\xff.md")).write_text("text")
    lab.index()

    status = lab.memory().status()

    assert [s.path for s in status.skipped] == ["memory/bad\ufffd.md"]
    assert status.files_indexed == 1
