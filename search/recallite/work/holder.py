"""Who holds a lease: enough to tell whether that process still lives, on its own host."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Holder:
    """A process on a host. `started` is the kernel's start time of the process, where it can be had."""

    host: str
    pid: int
    started: str = ""

    @classmethod
    def current(cls) -> Holder:
        return cls(_host(), os.getpid(), _start_time(os.getpid()))

    @classmethod
    def parse(cls, text: str) -> Holder:
        host, pid, started = [*text.rsplit(":", 2), "", ""][:3]
        return cls(host, int(pid) if pid.isdigit() else 0, started)

    def __str__(self) -> str:
        return f"{self.host}:{self.pid}:{self.started}"

    def may_be_alive(self) -> bool:
        """False only when this host knows that the process is gone."""
        if self.host != _host() or self.pid <= 0:
            return True
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except OSError:
            return True
        return not self.started or _start_time(self.pid) in ("", self.started)


def _host() -> str:
    """The host's name and, on Linux, its boot and pid namespace: pids of another container are not ours."""
    try:
        return f"{socket.gethostname()}/{os.readlink('/proc/self/ns/pid')[5:-1]}"  # noqa: PTH115
    except OSError:
        return socket.gethostname()


def _start_time(pid: int) -> str:
    """Field 22 of /proc/<pid>/stat, in clock ticks since boot; empty where there is no /proc."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("utf-8", errors="replace")
    except OSError:
        return ""
    fields = stat.rpartition(")")[2].split()
    return fields[19] if fields[0] != "Z" else "dead"
