"""Transcripts from the file's growth to the search, through a real producer, Redis and real workers."""

from __future__ import annotations

import time

import pytest

from recallite.testing.transcripts import append, assistant, dialogue, user, write_transcript
from recallite.work.requests import request_sync

SOURCES = {
    "sources": ["memory", "sessions"],
    "experimental": {"sessionMemory": True},
    "sync": {"watchDebounceMs": 100, "sessions": {"deltaMessages": 20}},
}
TIME = "2026-02-10T09-00-00.000Z"


def until(condition, seconds: float = 30.0, what: object = "waited in vain") -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, what() if callable(what) else what
        time.sleep(0.05)


def says(cluster, word: str, agent: str = "main") -> list[str]:
    """Where the word itself stands, and not only something like it."""
    return cluster.hits(word, agent, min_score=0.5)


@pytest.fixture
def cluster(make_cluster):
    cluster = make_cluster(agents=("main", "other"), memory_search=SOURCES)
    cluster.worker("live", "--lane", "live")
    cluster.worker("backfill", "--lane", "backfill")
    cluster.wait_ready()
    return cluster


def watching(cluster):
    producer = cluster.producer()
    until(lambda: "watching " in producer.logs() or producer.status != "running", what=producer.logs)
    return producer


def test_a_sentence_is_found_when_its_session_crosses_the_threshold(cluster) -> None:
    path = write_transcript(cluster.agent().sessions_dir, "a.jsonl", dialogue(3))
    watching(cluster)
    append(path, assistant("the harbour numbat"))
    cluster.note("memory/after.md", "quoll")
    until(lambda: says(cluster, "quoll"), what=lambda: cluster.nodes[0].container.logs())
    below = says(cluster, "numbat")

    append(path, dialogue(17, first=10))

    until(lambda: says(cluster, "numbat") == ["sessions/a.jsonl"], what=lambda: cluster.nodes[0].container.logs())
    assert below == []
    assert says(cluster, "numbat", "other") == []


def test_reset_and_deletion_follow_the_file(cluster) -> None:
    folder = cluster.agent().sessions_dir
    write_transcript(folder, "a.jsonl", user("the numbat"), dialogue(20))
    watching(cluster)
    until(lambda: says(cluster, "numbat") == ["sessions/a.jsonl"])

    (folder / "a.jsonl").rename(folder / f"a.jsonl.reset.{TIME}")
    until(lambda: says(cluster, "numbat") == [f"sessions/a.jsonl.reset.{TIME}"])
    (folder / f"a.jsonl.reset.{TIME}").rename(folder / f"a.jsonl.deleted.{TIME}")

    until(lambda: says(cluster, "numbat") == [])


def test_the_start_of_a_session_indexes_every_pending_one(cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECALLITE_BROKER_URL", cluster.server.url)
    for number in range(5):
        write_transcript(cluster.agent().sessions_dir, f"{number}.jsonl", user(f"topic{number} numbat"))

    request_sync(cluster.agent(), "search")
    request_sync(cluster.agent(), "session-start")  # not kept back by the request just before it

    until(lambda: len(says(cluster, "numbat")) == 5)


def test_no_word_of_a_session_is_in_redis_or_a_log(cluster) -> None:
    path = write_transcript(cluster.agent().sessions_dir, "a.jsonl", user("the unspeakablenumbat"))
    watching(cluster)
    append(path, b"{ unspeakablenumbat\n", dialogue(20))
    until(lambda: says(cluster, "unspeakablenumbat"))

    client = cluster.broker.container.server_client()
    stored = b"".join(key + (client.dump(key) or b"") for key in client.keys("*"))
    logs = "".join(node.container.logs() for node in cluster.nodes) + "".join(other.logs() for other in cluster.others)

    assert b"unspeakablenumbat" not in stored
    assert "unspeakablenumbat" not in logs
