"""One producer for a state directory."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from recallite.errors import RecalliteError
from recallite.locking import try_lock
from recallite.work.holder import Holder


class ProducerRunningError(RecalliteError):
    """Another producer watches for this state directory."""


class ProducerLock:
    """Held by one process at a time; the system takes it back when the process ends, however it ends."""

    def __init__(self, state_dir: Path, *, command: str) -> None:
        """`command` is what the holder was started as, for the error of the next one."""
        self.path = state_dir / "recallite" / "producer.lock"
        self._command = command
        self._descriptor: int | None = None

    def __enter__(self) -> ProducerLock:
        """Raises ProducerRunningError, which names the process that has the lock."""
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            try_lock(descriptor)
        except OSError as error:
            holder = os.pread(descriptor, 1000, 0) if hasattr(os, "pread") else b""
            os.close(descriptor)
            raise ProducerRunningError(self._refusal(holder.decode("utf-8", errors="replace"))) from error
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{Holder.current()}\n{self._command}\n".encode())
        self._descriptor = descriptor
        return self

    def __exit__(self, *error: object) -> None:
        # The file stays: removing it could take it from a process that has just locked it.
        if self._descriptor is not None:
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, 0)
            os.close(self._descriptor)
            self._descriptor = None

    def _refusal(self, content: str) -> str:
        holder, _, command = content.strip().partition("\n")
        who = "another process"
        if holder:
            parsed = Holder.parse(holder)
            who = f"`recallite {command or 'watch'}` (process {parsed.pid} on {parsed.host.partition('/')[0]})"
        return f"{who} watches for {self.path.parent.parent} already: stop it first, or use it"
