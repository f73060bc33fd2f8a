"""What happens while the work queue is out of reach, and with a real queue."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pytest

from recallite.work import SCAN, Lane
from recallite.work.dispatch import Dispatch
from recallite.work.sqlite import SqliteQueue, queue_path
from recallite_producer import outbox
from recallite_producer.outbox import Outbox
from recallite_producer.timers import ProducerTimes

if TYPE_CHECKING:
    from conftest import Rig


class Knocks:
    """A publisher without workers."""

    def __init__(self) -> None:
        self.messages: list[tuple[str, Lane]] = []

    def publish(self, agent: str, lane: Lane, *, after_seconds: float = 0.0) -> None:
        self.messages.append((agent, lane))

    def on_the_way(self, lane: Lane) -> list[str]:
        return [agent for agent, sent in self.messages if sent == lane]


@pytest.fixture(autouse=True)
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox, "FIRST_PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(outbox, "LONGEST_PAUSE_SECONDS", 0.05)


@pytest.mark.parametrize("error", [None, OSError("no route"), RuntimeError("what a client library may raise")])
def test_nothing_is_lost_while_the_queue_is_out_of_reach(
    rig: Rig, caplog: pytest.LogCaptureFixture, error: Exception | None
) -> None:
    service = rig.start()
    with caplog.at_level(logging.INFO):
        rig.sender.fail()
        rig.sender.error = error or rig.sender.error
        for number in range(50):
            (rig.memory / f"{number}.md").write_text("text")
        rig.until(lambda: service.health().unsent == 50 and service.health().queue_trouble is not None)
        rig.sender.error = None

        rig.expect(*[f"memory/{number}.md" for number in range(50)])
        rig.until(lambda: (service.health().unsent, service.health().queue_trouble) == (0, None))
    assert service.health().restarts == 0
    lines = [record.getMessage() for record in caplog.records]
    assert sum("out of reach" in line for line in lines) == 1
    assert lines[-1] == "the work queue is within reach again"


def test_it_starts_while_the_queue_is_out_of_reach(rig: Rig) -> None:
    rig.sender.fail()
    service = rig.start()
    (rig.memory / "a.md").write_text("text")
    rig.until(lambda: service.health().unsent == 2)
    rig.sender.error = None

    rig.expect("memory/a.md")
    rig.expect_scan()


def test_it_stops_in_time_while_the_queue_is_out_of_reach(rig: Rig, caplog: pytest.LogCaptureFixture) -> None:
    service = rig.start()
    rig.sender.fail()
    (rig.memory / "a.md").write_text("text")
    rig.until(lambda: service.health().unsent == 1)

    assert service.stop(1.0) is False
    rig.until(lambda: not service.is_alive())
    assert "1 change could not be passed on" in caplog.text


def test_a_sender_that_fails_for_one_agent_holds_up_no_other() -> None:
    class OneFails:
        sent: list[str] = []  # noqa: RUF012

        def dirty(self, agent: str, paths: Sequence[str], *, lane: Lane = "live") -> None:
            if agent == "bad":
                raise OSError("no")
            self.sent.append(agent)

        def sweep(self) -> None: ...

    box = Outbox(OneFails())
    for agent in ("bad", "good", "fine"):
        box.add(agent, ["x"], "live")
    for _ in range(3):
        box.retry_now()
        box.flush()

    assert OneFails.sent == ["good", "fine"]
    assert len(box) == 1


def test_too_many_unsent_paths_become_a_scan(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox, "MOST_PATHS", 100)
    sent: list[str] = []

    class Sender:
        def dirty(self, agent: str, paths: Sequence[str], *, lane: Lane = "live") -> None:
            sent.extend(paths)

        def sweep(self) -> None: ...

    box = Outbox(Sender())
    for number in range(1_000):
        box.add("a", [str(number)], "live")
    assert len(box) <= 100

    box.flush()
    assert SCAN in sent


def test_an_outage_is_met_with_longer_and_longer_pauses() -> None:
    class Down:
        calls = 0

        def dirty(self, agent: str, paths: Sequence[str], *, lane: Lane = "live") -> None:
            self.calls += 1
            raise OSError("no")

        def sweep(self) -> None: ...

    down = Down()
    box = Outbox(down)
    box.add("a", ["x"], "live")
    for _ in range(100):
        box.flush()

    assert down.calls < 10
    assert box.next_due() is not None


def test_marks_in_a_real_queue_and_their_messages(rig: Rig) -> None:
    queue, knocks = SqliteQueue(queue_path(rig.state_dir)), Knocks()
    service = rig.start(sender=Dispatch(queue, knocks, agents=("main",)))
    for number in range(20):
        (rig.memory / f"{number}.md").write_text("text")

    rig.until(lambda: queue.length("main") == 21)
    marks = queue.claim("main", 100)
    assert {mark.path for mark in marks if mark.lane == "live"} == {f"memory/{n}.md" for n in range(20)}
    assert [mark.path for mark in marks if mark.lane == "backfill"] == [SCAN]
    assert set(knocks.messages) == {("main", "backfill"), ("main", "live")}
    assert service.stop(5.0)
    queue.close()


def test_a_lost_message_is_sent_again_by_the_sweep(rig: Rig) -> None:
    queue, knocks = SqliteQueue(queue_path(rig.state_dir)), Knocks()
    times = ProducerTimes(sweep_seconds=0.2, scan_seconds=900)
    service = rig.start(sender=Dispatch(queue, knocks, agents=("main",)), times=times)
    rig.until(lambda: knocks.messages)
    knocks.messages.clear()

    rig.until(lambda: knocks.messages, what="the message again")
    assert service.stop(5.0)
    queue.close()
