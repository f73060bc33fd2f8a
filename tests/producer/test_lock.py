"""One producer for a state directory."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from recallite_producer.lock import ProducerLock, ProducerRunningError


def test_a_second_producer_is_told_who_holds_the_lock(tmp_path: Path) -> None:
    with (
        ProducerLock(tmp_path, command="up"),
        pytest.raises(ProducerRunningError, match=rf"`recallite up` \(process {os.getpid()} on "),
        ProducerLock(tmp_path, command="watch"),
    ):
        pass  # pragma: no cover

    with ProducerLock(tmp_path, command="watch") as lock:
        assert stat.S_IMODE(lock.path.stat().st_mode) == 0o600
        assert stat.S_IMODE(lock.path.parent.stat().st_mode) == 0o700


def test_other_state_directories_are_not_concerned(tmp_path: Path) -> None:
    with ProducerLock(tmp_path / "one", command="up"), ProducerLock(tmp_path / "two", command="up"):
        pass


def test_a_killed_holder_leaves_no_lock(tmp_path: Path) -> None:
    code = (
        "import os, sys; from pathlib import Path; from recallite_producer.lock import ProducerLock\n"
        "ProducerLock(Path(sys.argv[1]), command='up').__enter__(); os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False)

    with ProducerLock(tmp_path, command="up"):
        pass


def test_of_a_holder_that_says_nothing_the_refusal_still_speaks(tmp_path: Path) -> None:
    lock = ProducerLock(tmp_path, command="up")
    with lock, pytest.raises(ProducerRunningError, match="another process watches for"):
        os.truncate(lock.path, 0)
        ProducerLock(tmp_path, command="up").__enter__()
