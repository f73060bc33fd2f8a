"""Keeping a lease alive while its holder works."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from types import TracebackType

from recallite.errors import FencedError, LeaseHeldError, RecalliteError
from recallite.work import Lease, WorkQueue
from recallite.work.holder import Holder

logger = logging.getLogger(__name__)

RENEW_SECONDS = 10.0
PATIENCE_SECONDS = 15.0
"""How long a command waits for a lease: a slice takes 5 s, and what it has begun comes on top."""
_ASK_AGAIN_SECONDS = 0.05


def take_lease(
    queue: WorkQueue,
    agent: str,
    *,
    at_least: int,
    patience: float = 0.0,
    stop: Callable[[], bool] = lambda: False,
) -> Lease:
    """The lease of an agent, waited for while another holder has it. Raises LeaseHeldError, after `patience`."""
    until = time.monotonic() + patience
    while True:
        try:
            return queue.lease(agent, at_least=at_least)
        except LeaseHeldError:
            if stop() or time.monotonic() >= until:
                raise
        time.sleep(_ASK_AGAIN_SECONDS)


def held_by(holder: str | None) -> str:
    """For people: who is at work on the agent, and what to do about it."""
    if holder is None:
        return "another process was indexing this agent: run the command again"
    by = Holder.parse(holder)
    who = f"process {by.pid}" if by.host == Holder.current().host else f"process {by.pid} on {by.host}"
    return f"{who} is indexing this agent now: wait until it is done, or stop it"


class LeaseKeeper:
    """Renews a lease in a thread until the block ends, then gives it back.

    A lease that is lost meanwhile is not reported here: the index itself refuses the late writer.
    """

    def __init__(self, queue: WorkQueue, lease: Lease, *, every_seconds: float = RENEW_SECONDS) -> None:
        self._queue = queue
        self._lease = lease
        self._every = every_seconds
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._renew, name=f"lease-{lease.agent}", daemon=True)

    def __enter__(self) -> Lease:
        self._thread.start()
        return self._lease

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()
        self._queue.release(self._lease)

    def _renew(self) -> None:
        while not self._ended.wait(self._every):
            try:
                self._queue.renew(self._lease)
            except FencedError as error:
                logger.warning("%s", error)
                return
            except (RecalliteError, OSError) as error:
                logger.warning("lease of agent %s was not renewed: %s", self._lease.agent, error)
