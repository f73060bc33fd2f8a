"""A watcher that fails in any way is noticed and repaired, and what it missed is scanned for."""

from __future__ import annotations

import errno
import logging
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from recallite_producer import observer, watch
from recallite_producer.roots import Root
from recallite_producer.service import ProducerService
from recallite_producer.timers import ProducerTimes
from recallite_producer.watch import Watcher

if TYPE_CHECKING:
    from conftest import Rig

if not sys.platform.startswith("linux"):
    pytest.skip("inotify is of Linux", allow_module_level=True)

from watchdog.observers.inotify import InotifyEmitter, InotifyWatchGroup
from watchdog.observers.inotify_c import CallbackId, InotifyEvent, InotifyFD, Mask, WatchDescriptor

from recallite_producer.inotify import TreeObserver

RETRIED = ProducerTimes(scan_seconds=0.5, sweep_seconds=900, check_seconds=0.1, poll_seconds=0.1, status_seconds=900)


def modes(service: ProducerService) -> set[str]:
    return {folder.mode for folder in service.health().folders}


def reasons(service: ProducerService) -> set[str | None]:
    return {folder.reason for folder in service.health().folders}


@pytest.fixture
def observers(monkeypatch: pytest.MonkeyPatch) -> list[TreeObserver]:
    """Every observer that the producer opens."""
    opened: list[TreeObserver] = []
    original = observer.open_observer

    def remember(report: observer.Report) -> TreeObserver:
        made = original(report)
        assert isinstance(made, TreeObserver)
        opened.append(made)
        return made

    monkeypatch.setattr(observer, "open_observer", remember)
    return opened


def test_an_exception_in_the_handler_ends_no_delivery_and_loses_no_edit(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    rig.start()
    original = Root.change

    def fail(self: Root, parts: tuple[str, ...], *, is_directory: bool) -> object:
        if parts == ("a.md",):
            raise RuntimeError("a bug")
        return original(self, parts, is_directory=is_directory)

    monkeypatch.setattr(Root, "change", fail)
    (rig.memory / "a.md").write_text("text")

    rig.expect_scan()
    (rig.memory / "b.md").write_text("text")
    rig.expect("memory/b.md")
    assert "an event below" in caplog.text


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE])
def test_without_an_inotify_instance_all_is_polled_and_one_line_says_so(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, number: int
) -> None:
    def refuse(kind: type[InotifyFD]) -> int:
        raise OSError(number, os.strerror(number))

    (rig.memory / "a.md").write_text("one")
    with monkeypatch.context() as patch, caplog.at_level(logging.WARNING):
        patch.setattr(InotifyFD, "_create_inotify_fd", classmethod(refuse))
        service = rig.start(times=RETRIED)
        rig.until(lambda: len(caplog.records) > 0)
        rig.until(lambda: rig.sender.scans() >= 2, what="a second try")
        (rig.memory / "a.md").write_text("two")
        rig.expect("memory/a.md")

        assert modes(service) == {"polling"}
        assert [record.levelname for record in caplog.records] == ["WARNING"]
        assert "2 folders are polled" in caplog.text
    rig.until(lambda: modes(service) == {"events"}, what="events again")


def test_without_watches_the_folder_is_polled_and_others_are_not(
    make_rig: Callable[..., Rig], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """watchdog itself passes over a directory below the root that could not be watched."""
    rig = make_rig(memory_search={"extraPaths": ["../library"]})
    library = rig.root / "library"
    (library / "deep").mkdir(parents=True)
    original = InotifyFD._get_or_create_watch

    def refuse_deep(self: InotifyFD, path: bytes, mask: Mask) -> object:
        if path.endswith(b"deep"):
            raise OSError(errno.ENOSPC, "inotify watch limit reached")
        return original(self, path, mask)

    monkeypatch.setattr(InotifyFD, "_get_or_create_watch", refuse_deep)
    with caplog.at_level(logging.WARNING):
        service = rig.start()
        rig.until(lambda: modes(service) == {"events", "polling"})
        assert {folder.path for folder in service.health().folders if folder.mode == "polling"} == {str(library)}
        rig.until(lambda: rig.sender.scans(), what="the first walk")
        (library / "deep" / "a.md").write_text("text")
        rig.expect(str(library / "deep" / "a.md"))

    assert [record.getMessage() for record in caplog.records if "max_user_watches" in record.getMessage()] != []
    assert len(caplog.records) == 1


def test_the_limit_is_met_later(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    service = rig.start()
    original = InotifyFD._get_or_create_watch

    def refuse_new(self: InotifyFD, path: bytes, mask: Mask) -> object:
        if path.endswith(b"new"):
            raise OSError(errno.ENOSPC, "inotify watch limit reached")
        return original(self, path, mask)

    monkeypatch.setattr(InotifyFD, "_get_or_create_watch", refuse_new)
    (rig.memory / "new").mkdir()

    rig.until(lambda: "polling" in modes(service))
    (rig.memory / "new" / "a.md").write_text("text")
    rig.until(lambda: rig.sender.scans() or "memory/new/a.md" in rig.sender.paths())


def test_a_file_system_without_events_is_polled(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(watch, "mount_points", lambda: {"/": "ext4", str(rig.root): "nfs4"})
    with caplog.at_level(logging.WARNING):
        service = rig.start()

    assert modes(service) == {"polling"}
    assert reasons(service) == {"nfs4 does not report changes"}
    assert len(caplog.records) == 1
    rig.until(lambda: rig.sender.scans(), what="the first walk")
    (rig.memory / "a.md").write_text("text")
    rig.expect("memory/a.md")


def test_an_overflow_of_the_kernels_queue_scans_all_agents(
    make_rig: Callable[..., Rig], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A real one: the reader is held up while more happens than the kernel keeps."""
    rig = make_rig(agents=("main", "other"))
    rig.start()
    limit = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    if limit > 100_000:
        pytest.skip(f"fs.inotify.max_queued_events is {limit}")
    go_on, original = threading.Event(), InotifyWatchGroup.on_event

    def held_up(self: InotifyWatchGroup, event: InotifyEvent) -> None:
        go_on.wait(30)
        original(self, event)

    with caplog.at_level(logging.WARNING):
        monkeypatch.setattr(InotifyWatchGroup, "on_event", held_up)
        for number in range(limit // 2):
            (rig.memory / f"{number % 1000}.txt").write_text("")
            (rig.memory / f"{number % 1000}.txt").unlink()
        go_on.set()
        rig.expect_scan("main")
        rig.expect_scan("other")
    (rig.memory / "a.md").write_text("text")
    rig.expect("memory/a.md")

    assert [r.name for r in caplog.records if "events were lost (inotify queue overflow)" in r.getMessage()] != []


def test_a_dead_emitter_is_replaced(rig: Rig, observers: list[TreeObserver]) -> None:
    rig.start()
    for emitter in list(observers[0].emitters):
        emitter.stop()
    (rig.memory / "a.md").write_text("while nobody watches")

    rig.expect_scan()
    rig.sender.clear()
    (rig.memory / "b.md").write_text("text")
    rig.expect("memory/b.md")
    assert len(observers) == 1


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("victim", ["reader", "dispatcher"])
def test_a_dead_thread_that_serves_all_folders_is_replaced(
    make_rig: Callable[..., Rig], observers: list[TreeObserver], monkeypatch: pytest.MonkeyPatch, victim: str
) -> None:
    rig = make_rig(agents=("main", "other"))
    service = rig.start()
    with monkeypatch.context() as patch:
        name = "_descriptor" if victim == "reader" else "_event_queue"
        method = "handle_event" if victim == "reader" else "get"
        target = getattr(observers[0], name)
        patch.setattr(target, method, lambda *args, **options: 1 / 0)
        (rig.memory / "a.md").write_text("kills it")
        (rig.memory / "b.md").write_text("kills it")
        rig.until(lambda: len(observers) == 2, what="a new observer")
    rig.expect_scan("main")
    rig.expect_scan("other")

    rig.sender.clear()
    (rig.workspace("other") / "memory" / "a.md").write_text("text")
    rig.expect("memory/a.md", agent="other")
    assert service.health().restarts == 1


def test_a_bug_while_an_event_is_read_is_met_by_watching_the_folder_anew(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, observers: list[TreeObserver]
) -> None:
    service = rig.start()
    original = InotifyWatchGroup.on_event

    def fail(self: InotifyWatchGroup, event: InotifyEvent) -> None:
        if event.name == b"a.md":
            raise KeyError("a bug")
        original(self, event)

    monkeypatch.setattr(InotifyWatchGroup, "on_event", fail)
    (rig.memory / "a.md").write_text("text")

    rig.expect_scan()
    # Each event of a.md causes a repair of its own; an edit in between is found by the scan that follows.
    rig.until(lambda: (rig.memory / "b.md").write_text("text") and "memory/b.md" in rig.sender.paths())
    assert service.health().restarts > 0
    assert len(observers) == 1


def test_an_edit_while_events_are_off_is_found_by_the_scan(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(InotifyEmitter, "queue_event", lambda self, event: None)
    rig.start(times=RETRIED)
    (rig.memory / "a.md").write_text("unseen")

    rig.expect_scan()


def test_an_error_of_the_producer_itself_is_outlived(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    service = rig.start()
    with monkeypatch.context() as patch:
        patch.setattr(Root, "ignores", lambda *args, **options: 1 / 0)
        patch.setattr(Watcher, "check", lambda self: 1 / 0)
        (rig.memory / "a.md").write_text("text")
        rig.expect_scan()
    (rig.memory / "b.md").write_text("text")

    rig.expect("memory/b.md")
    assert service.health().restarts > 0
    assert service.health().last_error == "ZeroDivisionError: division by zero"
    assert caplog.text.count("met an error") == 1


def test_a_folder_that_may_not_be_read_is_no_watch(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """watchdog takes the -1 of inotify_add_watch for a watch when the reason is EACCES."""
    import ctypes

    from watchdog.observers import inotify_c

    def refuse(descriptor: int, path: bytes, mask: int) -> int:
        ctypes.set_errno(errno.EACCES)
        return -1

    made = TreeObserver(lambda path, loss: None)
    made.start()
    try:
        monkeypatch.setattr(inotify_c, "inotify_add_watch", refuse)
        with pytest.raises(PermissionError):
            made._descriptor.add_callback(bytes(tmp_path), Mask(1), None, CallbackId(1))  # type: ignore[arg-type]
        assert WatchDescriptor(-1) not in made._descriptor._watch_for_wd
    finally:
        made.stop()


def test_without_threads_the_folder_is_polled(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    original = threading.Thread.start

    def refuse(self: threading.Thread) -> None:
        if isinstance(self, InotifyEmitter):
            raise RuntimeError("can't start new thread")
        original(self)

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        service = rig.start(times=RETRIED)
        rig.until(lambda: rig.sender.scans(), what="the first walk")
        (rig.memory / "a.md").write_text("text")
        rig.expect("memory/a.md")
        assert modes(service) == {"polling"}
    rig.until(lambda: modes(service) == {"events"})
