"""Marks first, at most one hint, and a sweep that repairs what was lost."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from recallite.errors import QueueUnreachableError
from recallite.testing.redis_server import RedisServer
from recallite.work import SCAN, Lane
from recallite.work.celery import CeleryPublisher
from recallite.work.dispatch import Dispatch
from recallite.work.redis import RedisQueue


class Recorder:
    """A Publisher that keeps what it was given; `taken` empties it as a worker would."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, Lane]] = []

    def publish(self, agent: str, lane: Lane, *, after_seconds: float = 0.0) -> None:
        self.sent.append((agent, lane))

    def on_the_way(self, lane: Lane) -> list[str]:
        return [agent for agent, sent in self.sent if sent == lane]


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


def test_a_message_that_waits_is_not_sent_again_however_long(dispatch: Dispatch) -> None:
    dispatch.sweep()
    for lane in ("live", "backfill"):
        dispatch.queue.started("a", lane)  # as if its flag had lapsed after minutes without a worker
    dispatch.sweep()
    dispatch.dirty("a", ["x"])

    assert sent(dispatch).count(("a", "live")) == 1


def test_one_lost_message_among_many_is_sent_again_at_the_next_sweep(dispatch: Dispatch) -> None:
    dispatch.sweep()
    sent(dispatch).remove(("a", "live"))
    dispatch.sweep()

    assert sorted(sent(dispatch)) == [("a", "live"), ("b", "live")]


def test_a_message_that_could_not_be_sent_is_sent_by_the_next_who_tries(dispatch: Dispatch) -> None:
    publish = dispatch._publisher.publish

    def fail(*arguments: object, **options: object) -> None:
        raise QueueUnreachableError("down")

    dispatch._publisher.publish = fail  # type: ignore[method-assign]
    with pytest.raises(QueueUnreachableError):
        dispatch.dirty("a", ["x"])
    dispatch._publisher.publish = publish  # type: ignore[method-assign]
    dispatch.dirty("a", ["x"])

    assert sent(dispatch) == [("a", "live")]


def test_vectors_that_are_due_get_a_message_without_any_mark(dispatch: Dispatch) -> None:
    dispatch.queue.known()
    dispatch.queue.owe("a", seconds=-1)
    dispatch.queue.owe("b", seconds=60)

    dispatch.sweep()

    assert sent(dispatch) == [("a", "backfill")]


def test_marks_of_an_agent_that_is_no_longer_configured_are_dropped(dispatch: Dispatch) -> None:
    dispatch.queue.known()
    dispatch.queue.mark("removed", ["x"])
    dispatch.queue.owe("removed too")

    dispatch.sweep()

    assert (dispatch.queue.backlog(), dispatch.queue.owed(), sent(dispatch)) == ([], [], [])


def test_the_broker_says_for_whom_messages_wait() -> None:
    with RedisServer() as server:
        queue = RedisQueue(server.client_url, namespace="abc")
        publisher = CeleryPublisher(server.url, lambda: queue.client, namespace="abc")
        made = Dispatch(queue, publisher, agents=["a", "b-ü"])
        made.dirty("a", ["x"])
        made.dirty("b-ü", ["x"])
        made.dirty("a", ["y"], lane="backfill")
        publisher.compact("a")
        queue.client.lpush("recallite:abc:live", "no message of ours")

        assert set(publisher.on_the_way("live")) == {"a", "b-ü"}
        assert set(publisher.on_the_way("backfill")) == {"a"}
        made.close()
