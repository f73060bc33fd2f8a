"""Debounce: one mark when a file has been quiet, at the latest after ten times that, none lost."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from recallite.work import SCAN
from recallite_producer import debounce
from recallite_producer.debounce import LONGEST_WAIT, Debouncer
from recallite_producer.roots import Change, Root

if TYPE_CHECKING:
    from conftest import Rig


def change(path: str, agent: str = "a") -> Change:
    return Change(agent, path)


def taken(debouncer: Debouncer, *, seconds: float = 5.0) -> list[str]:
    """The paths that come out first."""
    deadline = time.monotonic() + seconds
    while not (changes := debouncer.take()):
        assert time.monotonic() < deadline
        time.sleep(0.005)
    return [each.path for each in changes]


def test_a_change_comes_out_once_after_its_quiet_time() -> None:
    debouncer = Debouncer({"a": 0.1})
    began = time.monotonic()
    for _ in range(10):
        debouncer.touch(change("x"))

    assert debouncer.take() == []
    assert taken(debouncer) == ["x"]
    assert 0.1 <= time.monotonic() - began < 0.5
    assert debouncer.take() == []
    assert (len(debouncer), debouncer.next_due()) == (0, None)


def test_each_change_prolongs_the_wait_of_its_path_only() -> None:
    debouncer = Debouncer({"a": 0.2})
    debouncer.touch(change("edited"))
    debouncer.touch(change("quiet"))
    came: list[str] = []
    while not came:
        debouncer.touch(change("edited"))
        came = [each.path for each in debouncer.take()]
        time.sleep(0.01)

    assert came == ["quiet"]
    assert taken(debouncer) == ["edited"]


def test_edits_without_end_come_out_after_ten_quiet_times() -> None:
    debouncer = Debouncer({"a": 0.03})
    began, times = time.monotonic(), list[float]()
    while len(times) < 2:
        debouncer.touch(change("x"))
        times += [time.monotonic() - began for _ in debouncer.take()]
        time.sleep(0.005)

    assert LONGEST_WAIT * 0.03 <= times[0] < 0.6
    assert LONGEST_WAIT * 0.03 <= times[1] - times[0] < 0.6


def test_no_quiet_time_is_allowed() -> None:
    debouncer = Debouncer({"a": 0.0})
    debouncer.touch(change("x"))

    assert [each.path for each in debouncer.take()] == ["x"]


def test_agents_have_their_own_quiet_times() -> None:
    woken: list[float | None] = []
    debouncer = Debouncer({"slow": 60.0, "quick": 0.05}, wake=lambda: woken.append(debouncer.next_due()))
    debouncer.touch(change("x", "slow"))
    debouncer.touch(change("y", "slow"))
    debouncer.touch(change("x", "quick"))

    assert taken(debouncer) == ["x"]
    assert len(woken) == 2, "woken when the next time has become earlier, and only then"


def test_all_comes_out_at_the_end() -> None:
    debouncer = Debouncer({"a": 60.0})
    for path in ("x", "y"):
        debouncer.touch(change(path))

    assert {each.path for each in debouncer.take_all()} == {"x", "y"}
    assert (len(debouncer), debouncer.take_all()) == (0, [])


def test_too_many_changes_become_a_scan(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(debounce, "MOST_PATHS", 100)
    debouncer = Debouncer({"a": 60.0, "b": 60.0})
    for number in range(1_000):
        debouncer.touch(change(str(number)))
    debouncer.touch(change("x", "b"))

    paths = [each.path for each in debouncer.take_all()]
    assert len(paths) == 102
    assert SCAN in paths


def test_a_folder_that_becomes_a_file_stays_a_folder(tmp_path: Path) -> None:
    root = Root("a", tmp_path, tmp_path / "memory", recursive=True)
    debouncer = Debouncer({"a": 60.0})
    for is_directory in (True, False):
        found = root.change(("x.md",), is_directory=is_directory)
        assert found is not None
        debouncer.touch(found)

    assert [each.is_directory for each in debouncer.take_all()] == [True]


def test_a_file_that_still_grows_is_waited_for(tmp_path: Path) -> None:
    root = Root("a", tmp_path, tmp_path, recursive=True)
    found = root.change(("x.md",), is_directory=False)
    assert found is not None
    debouncer = Debouncer({"a": 0.15})
    with (tmp_path / "x.md").open("w") as file:
        began = time.monotonic()
        debouncer.touch(found)  # its creation; no further event until it is closed
        while time.monotonic() - began < 0.5:
            file.write("more")
            file.flush()
            assert debouncer.take() == []
            time.sleep(0.01)

    assert taken(debouncer) == ["x.md"]
    assert len(debouncer) == 0


def test_a_file_that_grows_without_end_comes_out_and_is_followed(tmp_path: Path) -> None:
    root = Root("a", tmp_path, tmp_path, recursive=True)
    found = root.change(("x.md",), is_directory=False)
    assert found is not None
    debouncer = Debouncer({"a": 0.05})
    debouncer.touch(found)
    times: list[float] = []
    with (tmp_path / "x.md").open("w") as file:
        began = time.monotonic()
        while len(times) < 2:
            file.write("more")
            file.flush()
            times += [time.monotonic() - began for _ in debouncer.take()]
            time.sleep(0.005)

    assert 0.5 <= times[0] < 1.0
    assert 0.5 <= times[1] - times[0] < 1.0


def test_many_threads_lose_nothing() -> None:
    debouncer = Debouncer({"a": 0.0})
    came: set[str] = set()

    def touch(number: int) -> None:
        for index in range(500):
            debouncer.touch(change(f"{number}/{index}"))

    threads = [threading.Thread(target=touch, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads) or len(debouncer):
        came |= {each.path for each in debouncer.take()}

    assert len(came) == 4_000


def test_ten_slow_appends_give_one_mark(make_rig: Callable[..., Rig]) -> None:
    rig = make_rig(debounce_ms=300)
    rig.start()
    for number in range(10):
        with (rig.memory / "log.md").open("a") as file:
            file.write(f"{number}\n")
        time.sleep(0.1)

    rig.expect("memory/log.md")
    rig.expect_nothing_else("memory/log.md")
    assert rig.sender.paths().count("memory/log.md") == 1


def test_an_edit_inside_the_debounce_is_passed_on_by_stop(make_rig: Callable[..., Rig]) -> None:
    rig = make_rig(debounce_ms=60_000)
    service = rig.start()
    (rig.memory / "a.md").write_text("text")
    rig.until(lambda: service.health().waiting == 1)

    assert service.stop(5.0)
    assert rig.sender.paths() == ["memory/a.md"]
    assert (service.health().state, service.health().waiting, service.is_alive()) == ("stopped", 0, False)
