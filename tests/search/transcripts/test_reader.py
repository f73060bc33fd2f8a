"""The one parser: what was said, by line; a bad line costs that line."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recallite.testing.transcripts import assistant, compaction, dialogue, header, image, said, tool_result, user
from recallite.transcripts import BadLine, Message, TranscriptReader


def read(data: bytes, **options: int) -> tuple[list[Message], TranscriptReader]:
    reader = TranscriptReader(io.BytesIO(data), end=len(data), **options)
    return list(reader), reader


def texts(data: bytes) -> list[tuple[int, str]]:
    return [(message.line, message.text) for message in read(data)[0]]


def test_the_sample_of_the_reference_gives_its_three_lines() -> None:
    data = b"".join(
        [
            header(),
            b'{"type":"model_change","id":"a0000001","parentId":null,"provider":"anthropic","modelId":"x"}\n',
            user("Please remember\n\nthe router  password is OMADA_TOKEN=abcdefghijklmnopqrstuvwxyz"),
            said("assistant", more=[{"type": "thinking", "thinking": "hidden"}, {"type": "toolCall", "name": "x"}]),
            tool_result('{"results":[]}'),
            assistant("Noted.", "Stored in MEMORY.md"),
            compaction(),
            b'{"type":"message","message":{"role":"user","content":"plain string content"}}\n',
        ]
    )

    assert texts(data) == [
        (3, "User: Please remember the router password is OMADA_TOKEN=abcdef…wxyz"),
        (6, "Assistant: Noted. Stored in MEMORY.md"),
        (8, "User: plain string content"),
    ]


@pytest.mark.parametrize(
    ("content", "text"),
    [("a\n\n b", "a b"), ("  x  y\tz ", "x y z"), ([{"type": "toolCall"}], None), ("", None), ("\u2028 \u00a0", None)],
)
def test_white_space_is_made_one_blank(content: object, text: str | None) -> None:
    line = json.dumps({"type": "message", "message": {"role": "user", "content": content}}).encode() + b"\n"

    assert texts(line) == ([(1, f"User: {text}")] if text else [])


def test_bad_lines_cost_themselves_and_are_counted_by_number() -> None:
    good = [user(f"good line number {number}") for number in range(10)]
    lines = [
        b"\xef\xbb\xbf" + header(), good[0], b"\0" * 4096 + b"\n", good[1], b'{"a":"C:\\projects"}\n', good[2],
        b"[1, 2]\n", good[3], b"7\n", good[4], image("QUJD" * 500_000, "look at this"), good[5],
        tool_result("x" * 1_000_000), good[6], "{\"type\":\"message\",\"message\":{\"role\":\"user\",\"content\":\"sep\u2028arated\"}}\n".encode(),
        good[7], b"[" * 100_000 + b"\n", b"\n", b"   \r\n", good[8], good[9], b'{"type":"message","message":{"role":"us',
    ]  # fmt: skip
    messages, reader = read(b"".join(lines))

    assert [m.text for m in messages if "good line" in m.text] == [f"User: good line number {n}" for n in range(10)]
    assert [m.line for m in messages] == [2, 4, 6, 8, 10, 11, 12, 14, 15, 16, 20, 21]
    assert "User: look at this" in [m.text for m in messages]
    assert "User: sep arated" in [m.text for m in messages]
    assert [bad.line for bad in reader.bad] == [3, 5, 7, 9, 17]
    assert reader.bad_count == 5
    assert reader.unfinished == 22
    assert not any("projects" in bad.reason or "C:" in bad.reason for bad in reader.bad)


def test_the_reasons_name_the_fault_and_nothing_of_the_line() -> None:
    _, reader = read(b'\0\0\0\0\n{"a":"\\p secret"}\n[1]\nsecret words\n{"type":"message"}\n')

    assert [*reader.bad] == [
        BadLine(1, "NUL bytes, as an interrupted write leaves them"),
        BadLine(2, "not JSON: Invalid \\escape at character 7"),
        BadLine(3, "JSON, but no record: a transcript has an object in each line"),
        BadLine(4, "not JSON: Expecting value at character 1"),
        BadLine(5, "a message without its content"),
    ]


@pytest.mark.parametrize("message", [b"", b',"message":null', b',"message":[]', b',"message":"x"', b',"message":3'])
def test_a_message_without_content_is_a_bad_line_however_it_lacks_it(message: bytes) -> None:
    line = b'{"type":"message"' + message + b"}"

    assert [*read(line + b"\n")[1].bad] == [BadLine(1, "a message without its content")]
    assert (read(line)[1].unfinished, read(line)[1].bad_count) == (1, 0)
    assert read(line + b"\n")[1].entries == 0


@pytest.mark.parametrize(
    "record",
    [
        b'{"type":7,"message":3}', b'{"type":"message","message":{"role":9,"content":"x"}}',
        b'{"type":"message","message":{"role":"user","content":5}}', b'{"type":"message","message":{"role":"user"}}',
        b'{"type":"message","message":{"role":"user","content":null}}', b'{"message":{"role":"user","content":"x"}}',
        b'{"type":"message","message":{"role":"system","content":"x"}}', b"{}",
    ],
)  # fmt: skip
def test_other_records_are_passed_over(record: bytes) -> None:
    messages, reader = read(record + b"\n" + user("after"))

    assert [message.text for message in messages] == ["User: after"]
    assert not reader.bad


def test_text_is_kept_beside_what_is_odd() -> None:
    record = b'{"type":"message","message":{"role":"user","content":[{"type":"text","text":null},"x",5,{"type":"text","text":"kept"}]}}\n'

    assert texts(record) == [(1, "User: kept")]


def test_bytes_and_half_surrogates_that_no_text_has_are_replaced() -> None:
    record = b'{"type":"message","message":{"role":"user","content":"half \\ud83c, byte \xff, tab\tin it"}}\n'

    (message,), reader = read(record)

    assert message.text == "User: half \ufffd, byte \ufffd, tab in it"
    assert not reader.bad
    message.text.encode("utf-8")


def test_a_whole_last_line_without_its_end_is_given_and_not_counted_as_read() -> None:
    data = header() + user("one") + user("two").rstrip(b"\n")

    messages, reader = read(data)

    assert [message.text for message in messages] == ["User: one", "User: two"]
    assert (reader.line, reader.offset) == (2, len(header() + user("one")))
    assert reader.unfinished is None


def test_a_line_that_is_too_long_is_passed_over_unread() -> None:
    data = header() + user("x" * 5000) + user("after")

    messages, reader = read(data, max_line_bytes=1000)

    assert [(message.line, message.text) for message in messages] == [(3, "User: after")]
    assert [*reader.bad] == [BadLine(2, "longer than 1000 bytes")]
    assert reader.offset == len(data)


def test_reading_goes_on_from_any_line() -> None:
    data = header() + dialogue(20)
    whole, _ = read(data)

    for message in whole:
        file = io.BytesIO(data)
        file.seek(message.offset)
        assert (
            list(TranscriptReader(file, offset=message.offset, line=message.line - 1, end=len(data)))
            == whole[message.line - 2 :]
        )


def test_a_compaction_is_noticed() -> None:
    assert read(header() + user("a") + compaction() + user("b"))[1].compaction == 3


@given(st.binary(max_size=400), st.integers(0, 3))
@settings(deadline=None)
def test_nothing_in_a_file_can_make_it_fail(data: bytes, where: int) -> None:
    lines = [header(), user("first"), user("second")]
    lines.insert(where, data.replace(b"\n", b" ") + b"\n")

    found = texts(b"".join(lines))

    assert "User: second" in [text for _, text in found]
