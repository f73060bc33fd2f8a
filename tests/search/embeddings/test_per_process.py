"""One value per process."""

from __future__ import annotations

import os
import threading

import pytest

from recallite.embeddings.per_process import PerProcess


def test_the_value_is_made_once_and_on_first_use() -> None:
    made: list[int] = []
    value = PerProcess(lambda: made.append(1) or object())
    assert made == []

    results = [value.get() for _ in range(3)]

    assert made == [1]
    assert all(result is results[0] for result in results)


def test_threads_share_one_value() -> None:
    value = PerProcess(object)
    seen: list[object] = []
    threads = [threading.Thread(target=lambda: seen.append(value.get())) for _ in range(8)]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(set(map(id, seen))) == 1


def test_another_process_id_makes_another_value(monkeypatch: pytest.MonkeyPatch) -> None:
    value = PerProcess(object)
    first = value.get()

    monkeypatch.setattr(os, "getpid", lambda: -1)

    assert value.get() is not first


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_lock_held_at_the_fork_does_not_stop_the_child() -> None:
    held, release = threading.Event(), threading.Event()

    def slow() -> object:
        held.set()
        release.wait(10)
        return object()

    value = PerProcess(slow)
    thread = threading.Thread(target=value.get)
    thread.start()
    held.wait(10)

    pid = os.fork()
    if pid == 0:
        release.set()
        value.get()
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    release.set()
    thread.join()

    assert os.waitstatus_to_exitcode(status) == 0
