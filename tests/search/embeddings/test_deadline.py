"""A call ends in time, whatever it does."""

import threading
import time

import pytest

from recallite.embeddings.deadline import call_within


def never() -> None:
    raise AssertionError("must not be abandoned")


def test_a_quick_call_gives_its_result() -> None:
    assert call_within(5, lambda: "result", abandon=never) == "result"


def test_what_the_call_raises_is_raised() -> None:
    def fail() -> str:
        raise LookupError("inside")

    with pytest.raises(LookupError, match="inside"):
        call_within(5, fail, abandon=never)


def test_a_call_that_does_not_end_is_abandoned() -> None:
    released = threading.Event()
    ended = threading.Event()

    def hang() -> str:
        released.wait(30)
        ended.set()
        return "too late"

    started = time.monotonic()
    with pytest.raises(TimeoutError):
        call_within(0.05, hang, abandon=released.set)

    assert time.monotonic() - started < 5
    assert ended.wait(5)
