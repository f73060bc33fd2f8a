"""When sessions are indexed, what status tells of them, and which sources are searched."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from recallite.testing.transcripts import (
    append,
    assistant,
    compaction,
    dialogue,
    header,
    tool_result,
    user,
    write_transcript,
)
from recallite.transcripts import ALL_TRANSCRIPTS
from recallite.work import SCAN

if TYPE_CHECKING:
    from conftest import Lab

TIME = "2026-02-10T09-00-00.000Z"
SESSIONS: dict[str, Any] = {"sources": ["memory", "sessions"], "experimental": {"sessionMemory": True}}


@pytest.fixture
def lab(make_lab: Callable[..., Lab]) -> Lab:
    return make_lab(memory_search=dict(SESSIONS))


def test_bad_lines_are_told_by_number_and_cost_nothing_else(lab: Lab) -> None:
    path = write_transcript(
        lab.sessions, "a.jsonl", user("first numbat"), b"\0" * 300 + b"\n", user("second quoll"), b"{half\n"
    )
    lab.index()
    first = lab.memory().status()
    append(path, b'{"a":"\\p"}\n', user("third bilby"))
    lab.index()
    lab.index()

    status = lab.memory().status()

    assert [(line.line, line.reason.split(":")[0]) for line in first.bad_lines] == [
        (3, "NUL bytes, as an interrupted write leaves them"),
        (5, "not JSON"),
    ]
    assert [(line.path, line.line) for line in status.bad_lines] == [
        ("sessions/a.jsonl", number) for number in (3, 5, 6)
    ]
    assert (status.bad_line_count, status.health) == (3, "degraded")
    assert all(lab.paths(word)[0] == "sessions/a.jsonl" for word in ("numbat", "quoll", "bilby"))
    printed = lab.run("status", check=False).stdout
    assert "3 bad lines" in printed
    assert "line: sessions/a.jsonl:3: NUL bytes" in printed


def test_a_last_line_that_was_cut_off_in_an_archive_is_a_bad_line(lab: Lab) -> None:
    path = write_transcript(lab.sessions, f"a.jsonl.reset.{TIME}", user("first numbat"))
    append(path, b'{"type":"mess')
    lab.index()

    status = lab.memory().status()

    assert [(line.line, line.reason) for line in status.bad_lines] == [(3, "cut off: the last line has no end")]
    assert (status.bad_line_count, status.unfinished) == (1, ())


def test_many_bad_lines_are_counted_over_appends(lab: Lab) -> None:
    path = write_transcript(lab.sessions, "a.jsonl", dialogue(50), b"{\n" * 500, dialogue(200, first=50))
    lab.index()
    for turn in range(3):
        append(path, b"{\n", user(f"more {turn}"))
        lab.index()

    status = lab.memory().status()

    assert status.bad_line_count == 503
    assert [line.line for line in status.bad_lines] == list(range(52, 152))


def test_below_the_thresholds_a_scan_waits_and_a_session_start_does_not(lab: Lab) -> None:
    path = write_transcript(lab.sessions, "a.jsonl", user("first numbat"))
    lab.sync(SCAN)
    waiting = lab.memory().status()
    nothing_yet = lab.search("numbat").hits

    lab.sync(SCAN, ALL_TRANSCRIPTS)
    append(path, user("second quoll"))
    lab.sync(SCAN)

    assert nothing_yet == ()
    assert waiting.below_threshold == ("sessions/a.jsonl",)
    assert waiting.unindexed == ()
    assert waiting.health == "ok"
    assert lab.paths("numbat") == ["sessions/a.jsonl"]
    assert not [hit for hit in lab.search("quoll").hits if "quoll" in hit.snippet]
    assert lab.memory().status().below_threshold == ("sessions/a.jsonl",)


@pytest.mark.parametrize("way", ["bytes", "messages", "quiet", "compaction", "zero", "archive", "cut"])
def test_each_threshold_makes_a_scan_index_the_session(lab: Lab, way: str) -> None:
    sessions = {"deltaBytes": 3000 if way == "bytes" else 1_000_000, "deltaMessages": 0 if way == "zero" else 5}
    lab.memory_search = {**SESSIONS, "sync": {"sessions": sessions}}
    path = write_transcript(lab.sessions, "a.jsonl", user("first"), user("another"))
    lab.sync(ALL_TRANSCRIPTS)
    append(path, user("numbat"))
    if way == "bytes":
        append(path, user("x" * 3000))
    elif way == "messages":
        append(path, tool_result("x"), dialogue(3))
    elif way == "quiet":
        os.utime(path, (time.time() - 601, time.time() - 601))
    elif way == "compaction":
        append(path, compaction())
    elif way == "archive":
        path.rename(path.with_name(f"a.jsonl.reset.{TIME}"))
    elif way == "cut":
        path.write_bytes(header() + user("numbat"))

    lab.sync(SCAN)

    assert "numbat" in lab.search("numbat").hits[0].snippet
    assert lab.memory().status().below_threshold == ()


def test_a_source_that_is_not_named_is_never_indexed(lab: Lab) -> None:
    write_transcript(lab.sessions, "a.jsonl", user("the numbat"))
    lab.note("MEMORY.md", "the quoll")
    lab.memory_search = {"experimental": {"sessionMemory": True}}
    lab.index()
    without = lab.paths("numbat"), lab.sync("sessions/a.jsonl").files_written

    lab.memory_search = {**SESSIONS, "sources": ["sessions"]}
    lab.index()

    assert without == ([], 0)
    assert lab.paths("numbat") == ["sessions/a.jsonl"]
    assert lab.paths("quoll", min_score=0.5) == []
    assert [count.source for count in lab.memory().status().sources] == ["sessions"]


def test_a_source_taken_out_is_not_found_from_that_moment(lab: Lab) -> None:
    write_transcript(lab.sessions, "a.jsonl", user("the numbat"))
    lab.note("MEMORY.md", "a numbat too")
    lab.index()
    assert set(lab.paths("numbat")) == {"sessions/a.jsonl", "MEMORY.md"}

    lab.memory_search = {}

    assert lab.paths("numbat") == ["MEMORY.md"]
    reply = lab.search("numbat", sources=["sessions"])
    assert reply.hits == ()
    assert reply.reason is not None and "source sessions is not indexed" in reply.reason


def test_sources_filter_exactly(lab: Lab) -> None:
    write_transcript(lab.sessions, "a.jsonl", *(user(f"numbat number {number} " * 20) for number in range(60)))
    lab.note("MEMORY.md", "the numbat of the notes")
    lab.index()

    assert set(lab.paths("numbat", sources=["sessions"])) == {"sessions/a.jsonl"}
    assert lab.paths("numbat", sources=["memory"]) == ["MEMORY.md"]
    assert set(lab.paths("numbat", folder="sessions")) == {"sessions/a.jsonl"}
    printed = lab.run("search", "--source", "sessions", "numbat").stdout
    assert "sessions/a.jsonl:" in printed and "MEMORY.md" not in printed


def test_a_rebuild_takes_sessions_along_that_are_below_the_thresholds(lab: Lab) -> None:
    path = write_transcript(lab.sessions, "a.jsonl", user("the numbat"))
    lab.index()
    append(path, user("the quoll"))
    lab.memory_search = {**SESSIONS, "chunking": {"tokens": 64, "overlap": 0}}

    result = lab.sync(SCAN)
    while result.more:
        result = lab.sync()

    assert lab.paths("numbat") == ["sessions/a.jsonl"]
    assert lab.memory().status().rebuild is None


def test_hundreds_of_sessions_without_a_registry_are_all_indexed(lab: Lab) -> None:
    for number in range(500):
        write_transcript(lab.sessions, f"{number:03d}.jsonl", user(f"session about topic{number}"))
    lab.index()

    status = lab.memory().status()

    assert [(count.source, count.files_on_disk, count.files_indexed) for count in status.sources] == [
        ("memory", 0, 0),
        ("sessions", 500, 500),
    ]
    assert lab.paths("topic377")[0] == "sessions/377.jsonl"


def test_a_note_with_the_exact_words_stands_before_many_sessions(lab: Lab) -> None:
    lab.note("memory/plan.md", "# Plan\n\nThe codeword of the harbour plan is ZEBRA-7731.")
    for number in range(200):
        write_transcript(
            lab.sessions,
            f"{number:03d}.jsonl",
            user(f"what about the plan of the harbour, part {number}"),
            assistant("the plan is fine"),
        )
    lab.index()

    assert "memory/plan.md" in lab.paths("codeword of the harbour plan ZEBRA-7731")[:3]


def test_a_session_in_which_nobody_speaks_is_explained(lab: Lab) -> None:
    write_transcript(lab.sessions, "a.jsonl", tool_result("x"))
    lab.index()

    status = lab.memory().status()

    assert status.without_text == 1 and status.health == "ok"
    assert "1 indexed transcript holds nothing that was said" in status.problems


def test_the_estimate_counts_sessions(lab: Lab) -> None:
    write_transcript(lab.sessions, "a.jsonl", dialogue(100))

    assert "1 file to read" in lab.run("backfill", "--estimate").stdout
    assert ", 0 chunks" not in lab.run("backfill", "--estimate").stdout


@pytest.mark.parametrize("model", ["test-64", None])
def test_a_long_session_does_not_keep_a_note_out(lab: Lab, model: str | None) -> None:
    lab.model = model
    rng = random.Random(1)
    topic = ["router", "firmware", "vlan", "printer", "network", "omada", "update", "wifi", "channel"]
    filler = [
        "the",
        "and",
        "we",
        "then",
        "it",
        "is",
        "ok",
        "please",
        "try",
        "again",
        "now",
        "maybe",
        "later",
        "check",
        "thing",
        "more",
        "less",
    ]
    said = (" ".join(rng.choices(topic, k=8) + rng.choices(filler, k=30)) for _ in range(3500))
    path = write_transcript(lab.sessions, "a.jsonl", *map(user, said))
    assert path.stat().st_size > 800_000
    lab.note("memory/net.md", "# Network\n\nThe printer lives on VLAN 20. Router firmware 4.2 drops IPv6.")
    lab.index()

    for query in (
        "which vlan is the printer on",
        "router firmware",
        "the vlan of the router and its printer",
        "the network of the printer",
    ):
        assert "memory/net.md" in lab.paths(query)[:3], query
        hits = lab.search(query, max_results=20).hits
        assert [hit.path for hit in lab.search(query, max_results=5).hits] == [hit.path for hit in hits[:5]]
    assert len(lab.paths("router firmware", sources=["sessions"], max_results=20)) == 20
