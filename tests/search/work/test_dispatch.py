"""Marks first, at most one hint, and a sweep that repairs what was lost."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from recallite.testing.redis_server import RedisServer
from recallite.work import SCAN, Lane
from recallite.work.dispatch import Dispatch
from recallite.work.redis import RedisQueue


class Recorder:
    """A Publisher that keeps what it was given; `taken` empties it as a worker would."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, Lane]] = []

    def publish(self, agent: str, lane: Lane, *, after_seconds: float = 0.0) -> None:
        self.sent.append((agent, lane))

    def waiting(self, lane: Lane) -> int:
        return sum(1 for _, sent in self.sent if sent == lane)


@pytest.fixture
def dispatch() -> Iterator[Dispatch]:
    with RedisServer() as server:
        made = Dispatch(RedisQueue(server.client_url), Recorder(), agents=["a", "b"])
        yield made
        made.close()


def sent(dispatch: Dispatch) -> list[tuple[str, Lane]]:
    recorder = dispatch._publisher
    assert isinstance(recorder, Recorder)
    return recorder.sent


def test_a_thousand_saves_of_a_file_send_one_message(dispatch: Dispatch) -> None:
    for _ in range(1000):
        dispatch.dirty("a", ["memory/x.md"])
    dispatch.dirty("b", ["y"])
    dispatch.dirty("a", ["z"], lane="backfill")

    assert sent(dispatch) == [("a", "live"), ("b", "live"), ("a", "backfill")]


def test_the_sweep_sends_again_what_was_lost_and_nothing_else(dispatch: Dispatch) -> None:
    dispatch.sweep()
    sent(dispatch).clear()
    for agent in ("a", "b"):
        dispatch.queue.done(agent, dispatch.queue.claim(agent, 10))
    dispatch.dirty("a", ["x"])
    dispatch.sweep()
    assert sent(dispatch) == [("a", "live")], "one message waits: it is not lost"

    sent(dispatch).clear()
    dispatch.sweep()
    assert sent(dispatch) == [("a", "live")]


def test_a_queue_that_lost_its_memory_makes_all_agents_be_scanned(dispatch: Dispatch) -> None:
    dispatch.sweep()

    assert {agent: [m.path for m in dispatch.queue.claim(agent, 10)] for agent in "ab"} == {"a": [SCAN], "b": [SCAN]}
    assert sorted(sent(dispatch)) == [("a", "live"), ("b", "live")]
