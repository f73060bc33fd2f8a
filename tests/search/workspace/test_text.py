"""Bytes to text, and offsets to lines."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recallite.workspace import BinaryContentError, LineMap, decode
from recallite.workspace.text import MAX_NOTE_BYTES, TooLargeError, read_content


@given(st.binary(max_size=200))
def test_decoding_gives_text_that_every_encoder_takes_or_says_binary(data: bytes) -> None:
    try:
        text = decode(data)
    except BinaryContentError:
        return
    text.encode("utf-8")


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_utf16_and_utf8_with_marks_are_read_as_written(text: str) -> None:
    assert decode(b"\xff\xfe" + text.encode("utf-16-le")) == text or text.startswith("\0")
    assert decode(b"\xfe\xff" + text.encode("utf-16-be")) == text
    assert decode(b"\xef\xbb\xbf" + text.encode()) == text


@pytest.mark.parametrize(("beginning", "error"), [(b"text", TooLargeError), (b"\0", BinaryContentError)])
def test_of_a_file_that_can_be_no_note_only_the_beginning_is_read(
    tmp_path: Path, beginning: bytes, error: type[Exception]
) -> None:
    file = tmp_path / "huge.md"
    file.write_bytes(beginning * 8192)
    os.truncate(file, 10 * 2**30)

    with file.open("rb") as opened:
        with pytest.raises(error):
            read_content(opened)
        assert opened.tell() < 100_000


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_a_note_is_read_up_to_the_limit(tmp_path: Path, more: int) -> None:
    file = tmp_path / "large.md"
    file.write_bytes(b"x" * (MAX_NOTE_BYTES + more))

    with file.open("rb") as opened:
        if more > 0:
            with pytest.raises(TooLargeError, match=r"has 32.0 MiB, a note may have 32 MiB: split it"):
                read_content(opened)
        else:
            assert len(read_content(opened)) == MAX_NOTE_BYTES + more


@pytest.mark.parametrize(
    ("text", "lines"),
    [("", 1), ("a", 1), ("a\n", 1), ("a\nb", 2), ("a\r\nb\r\n", 2), ("a\rb\r", 2), ("\n\n", 2), ("a\r\r\nb", 3)],
)
def test_number_of_lines(text: str, lines: int) -> None:
    assert len(LineMap(text)) == lines


@given(st.text(alphabet="ab\r\n", max_size=40))
def test_each_offset_lies_in_its_line(text: str) -> None:
    lines = LineMap(text)
    for offset in range(len(text)):
        line = lines.line_of(offset)
        assert lines.start_of(line) <= offset
        assert line == len(lines) or offset < lines.start_of(line + 1)
