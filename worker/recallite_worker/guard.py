"""A repair for celery 5.7.0, whose worker ends when Redis goes away while messages are unacknowledged.

On the lost connection it first takes the transport's client away and then closes the connection, which restores
the unacknowledged messages through that client: AttributeError, "unrecoverable", exit code 1. The error that is
raised here instead is one that its callers expect. A test restarts Redis under a worker with and without it.
"""

from __future__ import annotations

from typing import Any

import celery
import redis
from kombu.transport import redis as transport

AFFECTED = ("5.7.0",)
_installed = False


def install() -> bool:
    """Apply the repair where it is needed; whether it is in place."""
    global _installed
    if celery.__version__ not in AFFECTED or _installed:
        return _installed
    original = transport.Channel._connparams

    def connection_parameters(channel: Any, *arguments: Any, **options: Any) -> Any:
        if getattr(channel.connection, "client", None) is None:
            raise redis.exceptions.ConnectionError("the connection is closed already")
        return original(channel, *arguments, **options)

    transport.Channel._connparams = connection_parameters
    _installed = True
    return True
