"""How long to wait before a failed request is made again."""

from __future__ import annotations

import random
from collections.abc import Callable

from recallite.errors import ProviderTransientError, RateLimitedError

LONGEST_WAIT_SECONDS = 120.0
"""A server that asks for more is not waited for within a run: the error goes to the caller."""

_FIRST_SECONDS, _CAP_SECONDS = 1.0, 30.0
# Without a Retry-After the usual limit is per minute: four waits of up to 8, 16, 32, 60 s reach across it.
_RATE_FIRST_SECONDS, _RATE_CAP_SECONDS = 8.0, 60.0


def wait_seconds(
    error: ProviderTransientError, *, failures: int, jitter: Callable[[], float] = random.random
) -> float | None:
    """Seconds to wait after the `failures`-th failure in a row (from 1), or None: give up now.

    Exponential with full jitter. A server's own word is obeyed, plus up to a tenth (at most a second),
    so that workers that were told the same do not come back at the same moment. `jitter` gives 0 to 1.
    """
    if isinstance(error, RateLimitedError):
        told = error.retry_after_seconds
        if told is None:
            return jitter() * _grown(_RATE_FIRST_SECONDS, failures, _RATE_CAP_SECONDS)
        return None if told > LONGEST_WAIT_SECONDS else told + jitter() * min(1.0, told / 10)
    return jitter() * _grown(_FIRST_SECONDS, failures, _CAP_SECONDS)


def _grown(first: float, failures: int, cap: float) -> float:
    return min(cap, first * 2.0 ** (failures - 1))
