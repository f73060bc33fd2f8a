"""Locks on open files: one holder at a time, and an error that says what is the matter."""

from __future__ import annotations

import errno
import subprocess
import sys
from pathlib import Path

import pytest

from recallite.locking import locked, try_lock

_HOLD = """
import sys
from recallite.locking import try_lock
file = open(sys.argv[1], "w")
try_lock(file.fileno())
print("held", flush=True)
sys.stdin.read()
"""


def test_the_lock_of_another_process_is_waited_for_and_free_once_that_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    command = [sys.executable, "-c", _HOLD, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with path.open("r+") as file:
            with (
                pytest.raises(TimeoutError, match=r"another process has had it locked for 0\.05 s"),
                locked(file.fileno(), wait_seconds=0.05),
            ):
                pass
            holder.kill()
            with locked(file.fileno()):
                pass


def test_it_is_given_back_after_an_error(tmp_path: Path) -> None:
    with (tmp_path / "lock").open("w") as file, (tmp_path / "lock").open("w") as other:
        with pytest.raises(ValueError, match="of the body"), locked(file.fileno()):
            raise ValueError("of the body")
        try_lock(other.fileno())


def test_what_cannot_be_locked_is_an_error_at_once(tmp_path: Path) -> None:
    with (tmp_path / "lock").open("w") as file:
        descriptor = file.fileno()
    with pytest.raises(OSError) as refused, locked(descriptor):
        pass

    assert refused.value.errno == errno.EBADF
