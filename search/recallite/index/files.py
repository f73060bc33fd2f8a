"""Looking at database files through SQLite's own file layer, and only there.

A process that opens and closes such a file by itself loses all POSIX locks that its SQLite connections hold on it:
other processes then write as if nobody read. SQLite knows its locks, and closes only what holds none.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

import apsw

from recallite.filenames import as_text

_KINDS = {"database": apsw.SQLITE_OPEN_MAIN_DB, "log": apsw.SQLITE_OPEN_WAL}
_LOG_HEADER_BYTES = 32
_LOG_MAGIC = 0x377F0682
"""With the lowest bit set the checksums are those of a machine that puts the high byte first."""
_LOG_VERSION = 3007000


def first_bytes(path: Path, count: int, *, kind: Literal["database", "log"] = "database") -> bytes:
    """The beginning of a file that exists; nothing is locked or changed. Raises apsw.Error, OSError."""
    there = min(count, path.stat().st_size)  # SQLite says 0 for a file of one byte
    file = apsw.VFSFile("", as_text(path), [_KINDS[kind] | apsw.SQLITE_OPEN_READONLY, 0])
    try:
        # What lies behind the end is zeros for apsw, and zeros at the end are left out.
        return file.xRead(there, 0).ljust(there, b"\0") if there else b""
    finally:
        file.xClose()


def beside(path: Path, suffix: str) -> Path:
    """A further file of a database: `-wal`, `-shm` or `-journal`."""
    return path.with_name(path.name + suffix)


def is_there(path: Path) -> bool:
    """False also where this process may not look."""
    return os.path.exists(path)  # noqa: PTH110  # Path.exists raises where the folder may not be searched


def log_size(path: Path) -> int:
    """Bytes in the write-ahead log beside a database; 0 without one."""
    try:
        return beside(path, "-wal").stat().st_size
    except OSError:
        return 0


def has_garbled_log(path: Path) -> bool:
    """Whether the log beside a database does not begin as SQLite's do. Raises apsw.Error.

    A reader that cannot make the shared memory anew would try for ten seconds to make sense of it.
    """
    # A writer may begin the log anew at this moment: what is garbage stays it.
    return all(_begins_wrong(path) for _ in range(2))


def _begins_wrong(path: Path) -> bool:
    if log_size(path) < _LOG_HEADER_BYTES:
        return False
    try:
        header = first_bytes(beside(path, "-wal"), _LOG_HEADER_BYTES, kind="log")
    except OSError:
        return False
    numbers = [int.from_bytes(header[at : at + 4], "big") for at in range(0, len(header), 4)]
    if len(numbers) < _LOG_HEADER_BYTES // 4:
        return False  # a writer has just emptied it
    return numbers[0] | 1 != _LOG_MAGIC | 1 or numbers[1] != _LOG_VERSION or numbers[6:] != _checksum(header[:24])


def _checksum(data: bytes) -> list[int]:
    order: Literal["big", "little"] = "big" if data[3] & 1 else "little"
    first = second = 0
    for at in range(0, len(data), 8):
        first = (first + int.from_bytes(data[at : at + 4], order) + second) & 0xFFFFFFFF
        second = (second + int.from_bytes(data[at + 4 : at + 8], order) + first) & 0xFFFFFFFF
    return [first, second]
