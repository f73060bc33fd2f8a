"""The figures by which a file that changed is known without a look inside."""

from __future__ import annotations

import os
from typing import NamedTuple

_LEAST, _MOST = -(2**63), 2**63 - 1


class Figures(NamedTuple):
    """Size in bytes, and the times of the last change of content and of the file itself."""

    size: int
    mtime_ns: int
    ctime_ns: int


def figures(info: os.stat_result) -> Figures:
    """The figures of a file, each as far as an index can hold it.

    A time before 1677 or after 2262 becomes that bound: file systems have such times, SQLite's 64 bits do not.
    """
    return Figures(*(max(_LEAST, min(_MOST, n)) for n in (info.st_size, info.st_mtime_ns, info.st_ctime_ns)))
