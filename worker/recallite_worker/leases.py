"""Keeping a lease alive while its holder works."""

from __future__ import annotations

import logging
import threading
from types import TracebackType

from recallite.errors import FencedError, RecalliteError
from recallite.work import Lease, WorkQueue

logger = logging.getLogger(__name__)

RENEW_SECONDS = 10.0


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
