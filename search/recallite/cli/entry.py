"""Where the program begins. From here on Ctrl-C ends it without a traceback, also while it is still being loaded."""

from __future__ import annotations

import os
import signal
import sys

EXIT_INTERRUPTED = 130


def run() -> int:
    """The command line of this process; its exit code."""
    signal.signal(signal.SIGINT, _interrupt)
    try:
        _fill_streams()
        from recallite.cli.main import main

        return main()
    except KeyboardInterrupt:
        print("recallite: interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED


def _interrupt(number: int, frame: object) -> None:
    """The first one unwinds what is under way; a further one, which may hit that, ends the process."""
    signal.signal(signal.SIGINT, _end)
    raise KeyboardInterrupt


def _end(number: int, frame: object) -> None:
    os._exit(EXIT_INTERRUPTED)


def _fill_streams() -> None:
    """Streams that were closed by who started us (`>&-`) become empty ones: no file gets their numbers."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115  # open until the end
