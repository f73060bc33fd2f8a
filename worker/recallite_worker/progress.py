"""Progress of an index run: a bar on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NoReturn, Protocol, TextIO

from tqdm import tqdm

from recallite.wording import counted
from recallite_worker.results import SyncProgress

PLAIN_LINE_SECONDS = 10.0
_FALLBACK_WIDTH, _ROWS = 80, 24


class Display(Protocol):
    """Takes the progress of a slice of an agent; called from several threads."""

    def update(self, agent: str, progress: SyncProgress) -> None: ...


@contextmanager
def progress_display(stream: TextIO | None = None) -> Iterator[Display]:
    """A display for this stream (standard error), for as long as the block lasts."""
    target = sys.stderr if stream is None else stream
    if target.isatty():
        bars = _Bars(target)
        try:
            yield bars
        finally:
            bars.close()
    else:
        yield _PlainLines(target)


@dataclass(slots=True)
class _Seen:
    """What the slices of one agent have reported: numbers start anew with each slice."""

    files: int = 0
    vectors: int = 0
    last_files: int = 0
    last_vectors: int = 0

    def add(self, progress: SyncProgress) -> tuple[int, int]:
        """How many files and vectors were done since the last report."""
        if progress.files_done < self.last_files or progress.vectors_done < self.last_vectors:
            self.last_files = self.last_vectors = 0
        files, vectors = progress.files_done - self.last_files, progress.vectors_done - self.last_vectors
        self.last_files, self.last_vectors = progress.files_done, progress.vectors_done
        self.files += files
        self.vectors += vectors
        return files, vectors


class _Bars:
    """A bar per agent and stage, with rate and time left."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._lock = threading.Lock()
        self._bars: dict[tuple[str, str], tqdm[NoReturn]] = {}
        self._seen: dict[str, _Seen] = {}

    def update(self, agent: str, progress: SyncProgress) -> None:
        with self._lock:
            seen = self._seen.setdefault(agent, _Seen())
            files, vectors = seen.add(progress)
            if seen.files or progress.files_waiting:
                bar = self._bar(agent, "files", seen.files + progress.files_waiting)
                bar.update(files)
                bar.set_postfix_str(counted(progress.chunks_added, "chunk"), refresh=False)
            if seen.vectors or progress.vectors_waiting:
                self._bar(agent, "vectors", seen.vectors + progress.vectors_waiting).update(vectors)

    def _bar(self, agent: str, unit: str, total: int) -> tqdm[NoReturn]:
        bar = self._bars.get((agent, unit))
        if bar is None:
            width = _width(self._stream)
            bar = tqdm(total=total, desc=agent, unit=f" {unit}", file=self._stream, ncols=width, nrows=_ROWS)
            self._bars[agent, unit] = bar
        bar.total = total
        return bar

    def close(self) -> None:
        for bar in self._bars.values():
            bar.close()


def _width(stream: TextIO) -> int:
    """Columns of the terminal; some terminals say 0, on which a bar would show nothing."""
    try:
        return os.get_terminal_size(stream.fileno()).columns or _FALLBACK_WIDTH
    except (OSError, ValueError):
        return _FALLBACK_WIDTH


class _PlainLines:
    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._lock = threading.Lock()
        self._seen: dict[str, _Seen] = {}
        self._began = self._printed = time.monotonic()

    def update(self, agent: str, progress: SyncProgress) -> None:
        with self._lock:
            seen = self._seen.setdefault(agent, _Seen())
            seen.add(progress)
            now = time.monotonic()
            if now - self._printed < PLAIN_LINE_SECONDS:
                return
            self._printed = now
            rate = seen.vectors / (now - self._began)
            left = f", about {progress.vectors_waiting / rate:.0f} s left" if rate > 0 else ""
            print(
                f"{agent}: {counted(seen.files, 'file')} done, {progress.files_waiting} waiting; "
                f"{counted(seen.vectors, 'vector')} done, {progress.vectors_waiting} waiting ({rate:.1f}/s{left})",
                file=self._stream,
                flush=True,
            )


class DownloadBar:
    """A bar for the bytes of a download; shows nothing before the first of them. A line now and then elsewhere."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._bar: tqdm[NoReturn] | None = None

    def update(self, done: int, total: int | None) -> None:
        """Bytes done, and in all where that is known."""
        if self._bar is None:
            terminal = self._stream.isatty()
            self._bar = tqdm(
                total=total,
                desc="model",
                unit="B",
                unit_scale=True,
                file=self._stream,
                ncols=_width(self._stream) if terminal else _FALLBACK_WIDTH,
                nrows=_ROWS,
                mininterval=0.1 if terminal else PLAIN_LINE_SECONDS,
                initial=done,
            )
        self._bar.update(done - self._bar.n)

    def __enter__(self) -> DownloadBar:
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.close()
