"""A producer for many agents stays small."""

from __future__ import annotations

import contextlib
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from recallite_producer.timers import ProducerTimes

if TYPE_CHECKING:
    from conftest import Rig

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")


def inotify_instances() -> int:
    count = 0
    for descriptor in list(Path("/proc/self/fd").iterdir()):
        with contextlib.suppress(OSError):
            count += "inotify" in str(descriptor.readlink())
    return count


def test_150_agents_need_one_inotify_instance_and_no_time(make_rig: Callable[..., Rig]) -> None:
    agents = tuple(f"agent-{number}" for number in range(150))
    rig = make_rig(agents=agents)
    before = inotify_instances()
    began = time.monotonic()
    service = rig.start(times=ProducerTimes())
    assert time.monotonic() - began < 5.0
    assert inotify_instances() - before == 1
    for agent in agents[::10]:
        (rig.workspace(agent) / "memory" / "a.md").write_text("text")
    for agent in agents[::10]:
        rig.expect("memory/a.md", agent=agent)

    used, began = resource.getrusage(resource.RUSAGE_SELF), time.monotonic()
    time.sleep(2.5)
    after, seconds = resource.getrusage(resource.RUSAGE_SELF), time.monotonic() - began
    share = (after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime) / seconds
    assert share < 0.05

    began = time.monotonic()
    assert service.stop(5.0)
    assert time.monotonic() - began < 3.0
