"""Transcripts in the index: what is said is found by its line, an append costs its new text only."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

from recallite.testing.transcripts import (
    append,
    assistant,
    compaction,
    dialogue,
    header,
    image,
    tool_result,
    user,
    write_transcript,
)
from recallite.transcripts import TranscriptReader
from recallite_worker import dialogue as dialogue_module

if TYPE_CHECKING:
    from conftest import Lab

SESSIONS: dict[str, Any] = {"sources": ["memory", "sessions"], "experimental": {"sessionMemory": True}}


@pytest.fixture
def lab(make_lab: Callable[..., Lab]) -> Lab:
    return make_lab(memory_search=dict(SESSIONS))


def test_what_was_said_is_found_with_the_lines_of_the_file(lab: Lab) -> None:
    path = write_transcript(
        lab.sessions,
        "a.jsonl",
        dialogue(30),
        tool_result("a tool said pangolin"),
        image("QUJD" * 400_000, "the wombat"),
        dialogue(30, first=30),
    )
    lab.index()

    hit = lab.search("word41").hits[0]
    lines = path.read_bytes().split(b"\n")[hit.start_line - 1 : hit.end_line]

    assert (hit.path, hit.source, hit.stale) == ("sessions/a.jsonl", "sessions", False)
    assert any(b"word41 " in line for line in lines)
    assert b"word41 " in b"".join(lines)
    assert lab.search("wombat").hits[0].path == "sessions/a.jsonl"
    assert not [hit for hit in lab.search("pangolin").hits if "pangolin" in hit.snippet]
    assert not [text for *_, text in lab.session_chunks() if "QUJDQUJD" in str(text) or "hidden thought" in str(text)]


def test_the_lines_of_every_chunk_are_those_in_which_it_was_said(lab: Lab) -> None:
    path = write_transcript(
        lab.sessions, "a.jsonl", dialogue(40), tool_result("x"), user("long " * 2000), dialogue(9, first=40)
    )
    lab.index()
    with path.open("rb") as file:
        said = {message.line: message.text for message in TranscriptReader(file, end=path.stat().st_size)}

    for _, _, start, end, _, text in lab.session_chunks():
        around = "\n".join(said[line] for line in range(start, end + 1) if line in said)
        assert text in around
        assert text.split("\n")[0] in said[start]


def test_an_append_embeds_its_new_text_only(lab: Lab, make_lab: Callable[..., Lab]) -> None:
    path = write_transcript(lab.sessions, "a.jsonl", dialogue(400))
    counting = lab.counting()
    lab.index(embedders=counting)
    before = len(counting.texts)

    for turn in range(20):
        append(path, dialogue(1, first=400 + turn))
        lab.index(embedders=counting)

    assert before > 15
    assert len(counting.texts) - before <= 20
    assert lab.session_chunks() == lab.session_chunks_made_anew(make_lab)
    assert lab.search("word419").hits[0].path == "sessions/a.jsonl"


def test_an_append_reads_neither_the_beginning_nor_cuts_it_again(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_transcript(lab.sessions, "a.jsonl", dialogue(2000))
    lab.index()
    size = path.stat().st_size
    offsets: list[int] = []
    cut: list[str] = []
    real_init, real_cut = TranscriptReader.__init__, dialogue_module.chunk_lines

    def init(self: TranscriptReader, file: Any, **options: Any) -> None:
        offsets.append(options.get("offset", 0))
        real_init(self, file, **options)

    def chunk(text: str, **options: int) -> Any:
        cut.append(text)
        return real_cut(text, **options)

    monkeypatch.setattr(TranscriptReader, "__init__", init)
    monkeypatch.setattr(dialogue_module, "chunk_lines", chunk)
    append(path, dialogue(3, first=2000))
    lab.sync("sessions/a.jsonl")

    assert min(offsets) > size - 10_000
    assert sum(map(len, cut)) < 10_000
    assert lab.search("word2002").hits[0].path == "sessions/a.jsonl"


def test_a_line_is_indexed_when_it_is_whole(lab: Lab, make_lab: Callable[..., Lab]) -> None:
    path = write_transcript(lab.sessions, "a.jsonl", user("first"))
    line = assistant("the numbat is here")
    append(path, line[:-20])
    lab.index()
    waiting = lab.memory().status()
    found_before = [hit for hit in lab.search("numbat").hits if "numbat" in hit.snippet]

    append(path, line[-20:], user("last"))
    lab.index()

    assert not found_before
    assert [(line.path, line.line) for line in waiting.unfinished] == [("sessions/a.jsonl", 3)]
    assert waiting.bad_line_count == 0 and waiting.health == "ok"
    assert lab.search("numbat").hits[0].end_line == 4
    assert lab.memory().status().unfinished == ()
    assert lab.session_chunks() == lab.session_chunks_made_anew(make_lab)


def test_a_last_line_that_only_lacks_its_end_is_found_and_goes_on_well(lab: Lab, make_lab: Callable[..., Lab]) -> None:
    path = write_transcript(lab.sessions, "a.jsonl", user("the numbat").rstrip(b"\n"))
    lab.index()
    found = lab.search("numbat").hits[0]

    append(path, b"\n", user("the quoll"))
    lab.index()

    assert (found.start_line, found.end_line) == (2, 2)
    assert lab.search("quoll").hits[0].end_line == 3
    assert lab.session_chunks() == lab.session_chunks_made_anew(make_lab)


@pytest.mark.parametrize(
    "way", ["cut to its tail", "cut to its head", "written anew", "replaced", "one word", "emptied"]
)
def test_a_file_that_does_not_just_grow_is_read_anew(lab: Lab, make_lab: Callable[..., Lab], way: str) -> None:
    path = write_transcript(lab.sessions, "a.jsonl", dialogue(300))
    counting = lab.counting()
    lab.index(embedders=counting)
    sent = len(counting.texts)
    lines = path.read_bytes().splitlines(keepends=True)
    if way == "cut to its tail":
        path.write_bytes(b"".join(lines[200:]))
    elif way == "cut to its head":
        path.write_bytes(b"".join(lines[:50]))
    elif way == "written anew":
        path.write_bytes(header() + user("numbat") + b"".join(lines[2:]) + dialogue(100, first=500))
    elif way == "replaced":
        other = path.with_name("draft")
        other.write_bytes(b"".join(lines).replace(b"word150 ", b"word15x ") + user("numbat"))
        other.replace(path)
    elif way == "one word":
        path.write_bytes(b"".join(lines).replace(b"word150 ", b"word15x "))
    else:
        path.write_bytes(b"")

    lab.index(embedders=counting)

    assert lab.session_chunks() == lab.session_chunks_made_anew(make_lab)
    assert len(counting.texts) - sent < 40
    status = lab.memory().status()
    assert status.health == "ok"
    assert status.rewritten == ("sessions/a.jsonl",)
    assert (
        lab.search("word150").hits[:1] == ()
        or way not in ("cut to its head", "emptied")
        or "word150" not in lab.search("word150").hits[0].snippet
    )


def one_piece_at_a_time(lab: Lab, *marks: str) -> int:
    """Slices that are each stopped after one piece, until nothing is left; how many that were."""
    lab.model = None
    slices = 0
    more = True
    while more:
        asked = count()
        more = lab.sync(*(marks if slices == 0 else ()), stop=lambda: next(asked) > 1).more  # noqa: B023 - used at once
        slices += 1
        assert slices < 200
    return slices


def test_a_session_is_indexed_in_slices_and_goes_on_after_each(
    lab: Lab, make_lab: Callable[..., Lab], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dialogue_module, "PIECE_CHARACTERS", 5000)
    write_transcript(lab.sessions, "a.jsonl", dialogue(600), b"{\n", compaction(), dialogue(300, first=600))

    slices = one_piece_at_a_time(lab, "sessions/a.jsonl")

    assert slices > 3
    assert lab.session_chunks() == lab.session_chunks_made_anew(make_lab)
    assert lab.memory().status().bad_line_count == 1


@pytest.mark.parametrize("way", ["written anew", "compacted"])
def test_a_session_is_read_anew_in_slices_too(
    lab: Lab, make_lab: Callable[..., Lab], monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    monkeypatch.setattr(dialogue_module, "PIECE_CHARACTERS", 5000)
    path = write_transcript(lab.sessions, "a.jsonl", dialogue(600))
    lab.index()
    if way == "compacted":
        append(path, compaction(), dialogue(1200, first=600))
    else:
        path.write_bytes(header() + dialogue(600, first=300) + dialogue(600, first=1000))

    slices = one_piece_at_a_time(lab, "sessions/a.jsonl")

    assert slices > (11 if way == "compacted" else 5)
    assert lab.session_chunks() == lab.session_chunks_made_anew(make_lab)


@pytest.mark.parametrize("forced", [True, False])
def test_after_a_compaction_the_file_is_read_whole_once(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, forced: bool
) -> None:
    lab.memory_search = {**SESSIONS, "sync": {"sessions": {"postCompactionForce": forced}}}
    path = write_transcript(lab.sessions, "a.jsonl", dialogue(300))
    counting = lab.counting()
    lab.index(embedders=counting)
    sent = len(counting.texts)
    offsets: list[int] = []
    real_init = TranscriptReader.__init__

    def init(self: TranscriptReader, file: Any, **options: Any) -> None:
        offsets.append(options.get("offset", 0))
        real_init(self, file, **options)

    monkeypatch.setattr(TranscriptReader, "__init__", init)
    append(path, compaction(), user("after the compaction"))
    lab.sync("sessions/a.jsonl", embedders=counting)
    reads_at_once = list(offsets)
    offsets.clear()
    append(path, user("and later on"))
    lab.sync("sessions/a.jsonl", embedders=counting)

    assert (0 in reads_at_once) is forced
    assert 0 not in offsets
    assert len(counting.texts) - sent <= 2


def test_a_large_session_gives_way_to_fresh_edits(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    from recallite.work.sqlite import SqliteQueue, queue_path

    monkeypatch.setattr("recallite_worker.transcripts.BULK_BYTES", 10_000)
    write_transcript(lab.sessions, "a.jsonl", dialogue(300))
    result = lab.sync("sessions/a.jsonl", lane="live")
    queue = SqliteQueue(queue_path(lab.settings.state_dir))
    waiting = queue.length(lab.settings.agent, lane="live"), queue.length(lab.settings.agent, lane="backfill")
    queue.close()

    assert (result.more, result.files_written) == (False, 0)
    assert waiting == (0, 1)
    assert lab.sync().files_written == 1
