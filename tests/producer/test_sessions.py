"""Session deltas: a growing transcript is marked when it is worth an update, and not before."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from recallite.testing.transcripts import append, compaction, dialogue, tool_result, user, write_transcript
from recallite.work.sqlite import SqliteQueue, queue_path
from recallite_producer.thresholds import SessionThresholds
from recallite_producer.timers import ProducerTimes

if TYPE_CHECKING:
    from conftest import Rig

TIME = "2026-02-10T09-00-00.000Z"
SOURCES = {"sources": ["memory", "sessions"], "experimental": {"sessionMemory": True}}


@pytest.fixture
def talk(make_rig: Callable[..., Rig]) -> Iterator[Rig]:
    """An agent whose transcripts are a source: 10 messages, or 5 kB, or quiet for ten minutes."""
    rig = make_rig(memory_search=dict(SOURCES), sync={"sessions": {"deltaBytes": 5000, "deltaMessages": 10}})
    sessions(rig).mkdir(parents=True)
    yield rig


def sessions(rig: Rig) -> Path:
    return rig.settings().agent(None).sessions_dir


def index(rig: Rig, *paths: str) -> None:
    """What a worker does with these marks."""
    from recallite_worker.sync import sync_agent

    agent = rig.settings().agent(None)
    queue = SqliteQueue(queue_path(agent.state_dir))
    queue.mark(agent.agent, paths)
    sync_agent(agent, queue, embedders=lambda _: (None, "by keyword"))
    queue.close()


def expect_only(rig: Rig, *paths: str) -> None:
    """After an edit of a note, which is seen later, nothing but these was marked."""
    note = rig.memory / "last.md"
    note.write_text(f"the last edit, {time.monotonic_ns()}")
    rig.expect("memory/last.md")
    assert set(rig.sender.paths()) == {*paths, "memory/last.md"}


def test_below_the_thresholds_nothing_is_marked(talk: Rig) -> None:
    path = write_transcript(sessions(talk), "a.jsonl", dialogue(3))
    talk.start()
    append(path, dialogue(5))

    expect_only(talk)


@pytest.mark.parametrize("by", ["messages", "bytes", "compaction"])
def test_crossing_a_threshold_marks_the_session_in_the_live_lane(talk: Rig, by: str) -> None:
    path = write_transcript(sessions(talk), "a.jsonl", dialogue(3))
    service = talk.start()
    talk.until(lambda: len(service._sessions) == 1)
    append(path, {"messages": dialogue(7), "bytes": tool_result("x" * 5000), "compaction": compaction()}[by])

    talk.expect("sessions/a.jsonl")

    assert ("main", "sessions/a.jsonl", "live") in talk.sender.sent
    assert len(service._sessions) == 0


def test_messages_are_counted_since_the_last_update(talk: Rig) -> None:
    path = write_transcript(sessions(talk), "a.jsonl", dialogue(12))
    talk.start()
    append(path, dialogue(1))
    talk.expect("sessions/a.jsonl")
    index(talk, "sessions/a.jsonl")
    talk.sender.clear()

    append(path, dialogue(9))
    expect_only(talk)
    append(path, dialogue(1))
    talk.expect("sessions/a.jsonl")


def test_what_was_asked_for_counts_even_if_nobody_has_done_it_yet(talk: Rig) -> None:
    path = write_transcript(sessions(talk), "a.jsonl")
    talk.start()
    append(path, dialogue(10))
    talk.expect("sessions/a.jsonl")
    talk.sender.clear()

    append(path, dialogue(5))

    expect_only(talk)


def test_the_count_survives_a_restart(talk: Rig) -> None:
    path = write_transcript(sessions(talk), "a.jsonl", dialogue(3))
    index(talk, "sessions/a.jsonl")
    first = talk.start()
    append(path, dialogue(6))
    talk.until(lambda: len(first._sessions) == 1)
    first.stop(5.0)
    append(path, dialogue(3))

    second = talk.start()
    assert len(second._sessions) == 1
    talk.sender.clear()
    append(path, dialogue(1))

    talk.expect("sessions/a.jsonl")


def test_an_update_that_others_caused_counts(talk: Rig) -> None:
    path = write_transcript(sessions(talk), "a.jsonl", dialogue(9))
    service = talk.start()
    talk.until(lambda: len(service._sessions) == 1)
    index(talk, "sessions/a.jsonl")  # as at a session's start

    append(path, dialogue(9))

    expect_only(talk)


def test_a_session_that_goes_quiet_is_marked_once(talk: Rig) -> None:
    path = write_transcript(sessions(talk), "a.jsonl", dialogue(3))
    service = talk.start(times=ProducerTimes(scan_seconds=900, sweep_seconds=900, idle_seconds=0.05))
    talk.until(lambda: len(service._sessions) == 1)
    os.utime(path, (time.time() - 601, time.time() - 601))

    talk.expect("sessions/a.jsonl")

    expect_only(talk, "sessions/a.jsonl")
    assert talk.sender.paths().count("sessions/a.jsonl") == 1


@pytest.mark.parametrize("ending", [None, f".deleted.{TIME}", f".reset.{TIME}"])
def test_a_session_that_is_gone_or_put_away_is_marked_at_once(talk: Rig, ending: str | None) -> None:
    path = write_transcript(sessions(talk), "a.jsonl", dialogue(3))
    talk.start()
    if ending is None:
        path.unlink()
    else:
        path.rename(path.with_name(path.name + ending))

    archive = [f"sessions/a.jsonl{ending}"] if ending and "reset" in ending else []
    talk.expect("sessions/a.jsonl", *archive)

    expect_only(talk, "sessions/a.jsonl", *archive)


def test_other_files_of_the_folder_mean_nothing(talk: Rig) -> None:
    talk.start()
    for name in ("sessions.json", "a.jsonl.lock", f"a.jsonl.bak.{TIME}", f"a.jsonl.deleted.{TIME}", "a.jsonl.tmp"):
        (sessions(talk) / name).write_bytes(dialogue(100))

    expect_only(talk)


def test_a_session_whose_file_is_kept_open_is_seen_to_grow(talk: Rig) -> None:
    path = write_transcript(sessions(talk), "a.jsonl", dialogue(3))
    service = talk.start()
    with path.open("ab", buffering=0) as file:
        file.write(dialogue(3))
        talk.until(lambda: len(service._sessions) == 1)
        for number in range(10):
            file.write(dialogue(1, first=number))

        talk.expect("sessions/a.jsonl")


def test_zero_thresholds_are_crossed_by_anything(make_rig: Callable[..., Rig]) -> None:
    rig = make_rig(memory_search=dict(SOURCES), sync={"sessions": {"deltaBytes": 0}})
    path = write_transcript(sessions(rig), "a.jsonl", user("one"))
    index(rig, "sessions/a.jsonl")
    rig.start()
    append(path, user("two"))

    rig.expect("sessions/a.jsonl")


def test_a_folder_that_comes_later_is_watched(make_rig: Callable[..., Rig]) -> None:
    rig = make_rig(memory_search=dict(SOURCES))
    rig.start()
    write_transcript(sessions(rig), "a.jsonl")
    rig.expect_scan()
    append(sessions(rig) / "a.jsonl", dialogue(60))

    rig.expect("sessions/a.jsonl")


def test_without_events_sessions_are_polled_by_the_same_thresholds(talk: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recallite_producer.watch.mount_points", lambda: {"/": "fuse.sshfs"})
    path = write_transcript(sessions(talk), "a.jsonl", dialogue(3))
    service = talk.start()
    talk.expect_scan()
    talk.sender.clear()
    append(path, dialogue(3))
    talk.until(lambda: len(service._sessions) == 1)
    append(path, dialogue(6))

    talk.expect("sessions/a.jsonl")


def test_transcripts_are_watched_if_they_are_a_source_and_notes_likewise(make_rig: Callable[..., Rig]) -> None:
    def watched(**memory_search: object) -> set[str]:
        rig = make_rig(memory_search=memory_search)
        folder = sessions(rig)
        folder.mkdir(parents=True, exist_ok=True)
        service = rig.start()
        names = {folder: "sessions", rig.memory: "notes", rig.workspace(): "notes"}
        return {names[Path(state.path)] for state in service.health().folders}

    assert watched() == {"notes"}
    assert watched(**SOURCES) == {"notes", "sessions"}
    assert watched(**{**SOURCES, "sources": ["sessions"]}) == {"sessions"}


def test_new_text_is_read_once_however_often_it_is_asked_for(talk: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    from recallite.transcripts import pending

    path = write_transcript(sessions(talk), "a.jsonl", dialogue(3))
    thresholds = SessionThresholds([talk.settings().agent(None)])
    thresholds.begin()
    read: list[int] = []
    real = pending.read_growth
    monkeypatch.setattr(
        "recallite_producer.thresholds.read_growth",
        lambda found, since: read.append(found.size - since) or real(found, since),
    )
    line = dialogue(1)

    for _ in range(5):
        append(path, line)
        assert not thresholds.changed("main", "sessions/a.jsonl")

    assert read == [len(line)] * 5


def test_an_agent_without_the_source_has_no_thresholds(rig: Rig) -> None:
    write_transcript(sessions(rig), "a.jsonl", dialogue(200))
    thresholds = SessionThresholds([rig.settings().agent(None)])
    thresholds.begin()

    assert not thresholds.changed("main", "sessions/a.jsonl")
    assert len(thresholds) == 0
