"""An end for every call, however slowly the other side answers.

The time-outs of HTTP libraries are per read: a server that sends one byte a second is never late. And a
name look-up cannot be interrupted at all. So the call runs in a thread of its own, and the caller stops
waiting for it when the time is over.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from recallite.errors import ProviderTransientError

T = TypeVar("T")


class DeadlineError(ProviderTransientError):
    """The call had not ended when its time was over: a smaller request may end in time."""


class _Call(Generic[T]):
    """One call and its outcome. Its thread is a daemon: a call that never ends holds up no exit."""

    def __init__(self, function: Callable[[], T]) -> None:
        self._function = function
        self._result: list[T] = []
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="recallite-embedding-call", daemon=True)

    def _run(self) -> None:
        try:
            self._result.append(self._function())
        except BaseException as error:
            self._error = error

    def within(self, seconds: float) -> T | None:
        """The result, or None if there is none in time. Raises what the function raised."""
        self._thread.start()
        self._thread.join(seconds)
        if self._error is not None:
            raise self._error
        return self._result[0] if self._result else None


def call_within(seconds: float, function: Callable[[], T], *, abandon: Callable[[], None]) -> T:
    """What `function` returns, if it does so within `seconds`. It must not return None.

    Otherwise `abandon` is called, which must make `function` end soon (close its connection), and
    TimeoutError is raised. `abandon` is called too when the wait itself is interrupted.
    """
    try:
        result = _Call(function).within(seconds)
    except KeyboardInterrupt:
        abandon()
        raise
    if result is None:
        abandon()
        raise TimeoutError(f"no complete answer within {seconds:g} s")
    return result
