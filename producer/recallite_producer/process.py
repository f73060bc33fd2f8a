"""What the commands have in common: logging, the signals that end them, the end itself."""

from __future__ import annotations

import logging
import os
import queue
import signal
import sys
from types import FrameType
from typing import Any, NoReturn

EXIT_OK, EXIT_FAILED, EXIT_USAGE, EXIT_DEGRADED, EXIT_INTERRUPTED = 0, 1, 2, 3, 130


def configure_logging(*, verbose: bool) -> None:
    """Plain lines on stderr: what the watcher does and what goes wrong; `verbose` adds each indexing run."""
    logging.basicConfig(stream=sys.stderr, format="%(asctime)s %(levelname)s %(message)s", level=logging.WARNING)
    logging.getLogger("recallite_producer").setLevel(logging.INFO)
    if verbose:
        for name in ("recallite", "recallite_worker"):
            logging.getLogger(name).setLevel(logging.INFO)


class StopSignals:
    """The first SIGTERM or SIGINT asks for an orderly end; a second one ends the process at once."""

    def __init__(self) -> None:
        # Unlike an Event, a SimpleQueue may be used by a handler that interrupts its own `get`.
        self._arrived: queue.SimpleQueue[int] = queue.SimpleQueue()
        self._before: list[tuple[int, Any]] = []

    def __enter__(self) -> StopSignals:
        for number in (signal.SIGTERM, signal.SIGINT):
            self._before.append((number, signal.signal(number, self._handle)))
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before:
            signal.signal(number, handler)

    def wait(self, seconds: float) -> int | None:
        """The signal that has arrived, or None after `seconds` without one."""
        try:
            return self._arrived.get(timeout=seconds)
        except queue.Empty:
            return None

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self._arrived.put(number)
        for each in (signal.SIGTERM, signal.SIGINT):
            signal.signal(each, signal.SIG_DFL)


def exit_code(number: int, *, complete: bool) -> int:
    """0 after SIGTERM, 130 after Ctrl-C, 3 if something could not be passed on or ended in time."""
    if not complete:
        return EXIT_DEGRADED
    return EXIT_INTERRUPTED if number == signal.SIGINT else EXIT_OK


def end_now(code: int) -> NoReturn:
    """End without waiting for threads that did not end in time."""
    logging.shutdown()
    sys.stdout.flush()
    os._exit(code)
