"""HTTP clients that are lent to one call at a time."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Generic, Protocol, TypeVar

from recallite.embeddings.deadline import DeadlineError, call_within
from recallite.embeddings.per_process import PerProcess


class Closable(Protocol):
    def close(self) -> None: ...


C = TypeVar("C", bound=Closable)
T = TypeVar("T")


class Clients(Generic[C]):
    """A call borrows a client that no other call uses meanwhile, so that closing it when the time is over breaks off
    that call alone. Idle clients keep their connection open; a forked process makes its own."""

    def __init__(self, make: Callable[[], C], *, host: str, timeout_seconds: float) -> None:
        """`host` is for messages."""
        self._make = make
        self._host = host
        self._timeout_seconds = timeout_seconds
        self._idle: PerProcess[list[C]] = PerProcess(list)

    def call(self, action: Callable[[C], T]) -> T:
        """What `action` makes of a client; it must not return None. Raises DeadlineError when the time is over."""
        idle = self._idle.get()
        client = idle.pop() if idle else self._make()
        try:
            result = call_within(self._timeout_seconds, partial(action, client), abandon=client.close)
        except TimeoutError as error:
            raise DeadlineError(f"{self._host}: {error}") from None
        except Exception:
            self._idle.get().append(client)
            raise
        self._idle.get().append(client)
        return result

    def close(self) -> None:
        """Close the idle ones."""
        idle = self._idle.get()
        while idle:
            idle.pop().close()
