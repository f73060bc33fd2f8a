"""Scans and sweeps: at the start, at intervals, for the agents that want them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from recallite_producer.timers import ProducerTimes, Timers

if TYPE_CHECKING:
    import pytest
    from conftest import Rig


def test_every_agent_is_scanned_at_the_start_as_backfill(make_rig: Callable[..., Rig]) -> None:
    rig = make_rig(agents=("one", "two"), sync={"watch": False})
    rig.start(sender=rig.sender)
    rig.expect_scan("one")
    rig.expect_scan("two")

    assert {lane for _, _, lane in rig.sender.sent} == {"backfill"}


def test_agents_are_scanned_and_swept_again_and_again(rig: Rig) -> None:
    service = rig.start(times=ProducerTimes(scan_seconds=0.2, sweep_seconds=0.1))
    before = service.health().last_scan["main"]
    rig.until(lambda: rig.sender.scans() >= 3 and rig.sender.sweeps >= 3)

    assert before < service.health().last_scan["main"] <= time.time()


def test_an_agent_that_is_not_watched_is_scanned_at_its_own_interval_only(
    make_rig: Callable[..., Rig], monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds: list[float] = []
    every = Timers.every

    def remember(self: Timers, interval: float, action: Callable[[], None]) -> None:
        seconds.append(interval)
        every(self, interval, action)

    monkeypatch.setattr(Timers, "every", remember)
    rig = make_rig(agents=("one", "two"), sync={"watch": False, "intervalMinutes": 7})
    rig.start(sender=rig.sender)

    assert seconds.count(420) == 2
    assert len([each for each in seconds if each == 900]) == 2, "the sweep, and events tried again"


def test_a_timer_that_fails_is_due_again_and_holds_up_no_other() -> None:
    timers, ran = Timers(), list[str]()

    def fail() -> None:
        ran.append("fail")
        raise RuntimeError

    timers.every(0.01, fail)
    timers.every(0.01, lambda: ran.append("other"))
    deadline = time.monotonic() + 5
    while ran.count("fail") < 3 or ran.count("other") < 3:
        assert time.monotonic() < deadline
        try:
            timers.run_due()
        except RuntimeError:
            continue


def test_timers_do_not_act_in_step() -> None:
    timers = Timers()
    for _ in range(50):
        timers.every(100.0, lambda: None)

    due = sorted(timer.due - time.monotonic() for timer in timers._heap)
    assert 85 < due[0] < due[-1] < 115
    assert due[-1] - due[0] > 5
