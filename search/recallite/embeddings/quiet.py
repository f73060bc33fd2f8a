"""Keeps what the HTTP libraries log about our requests out of the logs.

Releases of the OpenAI SDK up to 2.x log each request's body at DEBUG, the note text in it; httpx logs each
address at INFO, with whatever its query holds. Other users of the two libraries in this process are not
affected: the filter looks only at records made inside `quiet()`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_LOGGERS = ("openai._base_client", "openai", "httpx", "httpx2")

_inside: ContextVar[bool] = ContextVar("recallite_inside_provider_call", default=False)


@contextmanager
def quiet() -> Iterator[None]:
    """Drop the libraries' records below WARNING that this thread makes meanwhile."""
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(_drop)  # adding the same filter twice is a no-op
    token = _inside.set(True)
    try:
        yield
    finally:
        _inside.reset(token)


def _drop(record: logging.LogRecord) -> bool:
    return record.levelno >= logging.WARNING or not _inside.get()
