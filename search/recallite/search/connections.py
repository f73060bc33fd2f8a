"""One read-only connection for each thread of each process."""

from __future__ import annotations

import os
import threading
from pathlib import Path

from recallite.errors import ClosedError
from recallite.index.connection import IndexReader
from recallite.index.keyword import KeywordIndex
from recallite.index.vector import VectorIndex
from recallite.search.background import Backgrounds


class OpenIndex:
    """A connection with its two sides."""

    def __init__(self, path: Path) -> None:
        self.reader = IndexReader(path)
        self.keyword = KeywordIndex(self.reader.connection)
        self.vector = VectorIndex(self.reader.connection)
        self.backgrounds = Backgrounds(self.reader.connection, self.vector)


class SearchConnections:
    """Opens an index when a thread first asks, and again when the file was replaced or the process forked."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._pid = os.getpid()
        self._open: dict[int, OpenIndex] = {}
        self._lock = threading.Lock()
        self._closed = False

    def get(self) -> OpenIndex:
        """This thread's connection. Raises IndexUnusableError and its subclasses, ClosedError."""
        self._check_process()
        me = threading.get_ident()
        found = self._open.get(me)
        if found is not None and found.reader.is_current():
            return found
        with self._lock:
            if found is not None:
                self._open.pop(me, None)
                found.reader.close()
            self._drop_ended_threads()
            if self._closed:
                raise ClosedError("this MemorySearch is closed")
            return self._open.setdefault(me, OpenIndex(self._path))

    def _check_process(self) -> None:
        if self._pid == os.getpid():
            return
        for inherited in self._open.values():
            inherited.reader.close()
        self._open = {}
        self._lock = threading.Lock()
        self._pid = os.getpid()

    def _drop_ended_threads(self) -> None:
        alive = {thread.ident for thread in threading.enumerate()}
        for ident in [i for i in self._open if i not in alive]:
            self._open.pop(ident).reader.close()

    def close(self) -> None:
        """Close the connections of all threads; no search may be under way."""
        self._check_process()
        with self._lock:
            self._closed = True
            for found in self._open.values():
                found.reader.close()
            self._open.clear()
