"""How long a run waits between tries."""

import pytest

from recallite.embeddings.backoff import LONGEST_WAIT_SECONDS, wait_seconds
from recallite.errors import ProviderTransientError, RateLimitedError


def most() -> float:
    return 1.0


def test_waits_grow_up_to_a_cap() -> None:
    error = ProviderTransientError("x")

    waits = [wait_seconds(error, failures=number, jitter=most) for number in range(1, 8)]

    assert waits == [1, 2, 4, 8, 16, 30, 30]


def test_jitter_takes_the_whole_range() -> None:
    assert wait_seconds(ProviderTransientError("x"), failures=3, jitter=lambda: 0.0) == 0.0


def test_without_a_word_of_the_server_a_rate_limit_is_waited_out_across_a_minute() -> None:
    error = RateLimitedError("x")

    waits = [wait_seconds(error, failures=number, jitter=lambda: 0.5) or 0 for number in range(1, 5)]

    assert sum(waits) >= 55


@pytest.mark.parametrize("told", [0.2, 2.0, 60.0, LONGEST_WAIT_SECONDS])
def test_the_servers_word_is_obeyed(told: float) -> None:
    error = RateLimitedError("x", retry_after_seconds=told)

    assert wait_seconds(error, failures=1, jitter=lambda: 0.0) == told
    assert told < (wait_seconds(error, failures=1, jitter=most) or 0) <= told + 1


def test_too_long_a_wait_is_left_to_the_caller() -> None:
    assert wait_seconds(RateLimitedError("x", retry_after_seconds=3_600), failures=1) is None


def test_jitter_is_random_by_default() -> None:
    waits = {wait_seconds(ProviderTransientError("x"), failures=5) for _ in range(5)}

    assert len(waits) > 1
