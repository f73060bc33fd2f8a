"""Bytes to text, and offsets to lines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recallite.workspace import BinaryContentError, LineMap, decode


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
