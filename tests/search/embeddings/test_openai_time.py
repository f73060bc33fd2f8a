"""Every call ends in time, breaks no other call, and survives a fork."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable

import pytest

from recallite.embeddings import Embedder
from recallite.embeddings.deadline import DeadlineError
from recallite.testing import behaviours as told
from recallite.testing.provider_server import PLANTED_KEY, ProviderServer

Connect = Callable[..., Embedder]
GoodVectors = Callable[[Embedder], list[int]]
TEXTS = ["the boat is in Lisbon", "the VPN listens on port 51821", "backups go to the second disk"]


def wait_until(condition: Callable[[], bool], seconds: float = 5.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


@pytest.mark.parametrize(
    "behaviour",
    [told.Hang(), told.Drip(interval_seconds=0.05), told.Drip(interval_seconds=0.05, where="headers")],
    ids=["hang", "drip", "drip headers"],
)
def test_every_call_ends_by_its_time(behaviour: told.Behaviour, connect: Connect, server: ProviderServer) -> None:
    server.next(behaviour)

    started = time.monotonic()
    with pytest.raises(DeadlineError, match=f"{server.port}.*0.4 s"):
        connect(timeout_seconds=0.4).embed(TEXTS, kind="document")

    assert time.monotonic() - started < 2


def test_a_call_that_was_given_up_leaves_no_thread_behind(connect: Connect, server: ProviderServer) -> None:
    server.next(told.Drip(interval_seconds=0.02))

    with pytest.raises(DeadlineError):
        connect(timeout_seconds=0.2).embed(TEXTS, kind="document")

    wait_until(lambda: not any(thread.name == "recallite-embedding-call" for thread in threading.enumerate()))


def test_after_a_late_answer_the_next_call_works(
    connect: Connect, good_vectors: GoodVectors, server: ProviderServer
) -> None:
    embedder = connect(timeout_seconds=0.4)
    server.next(told.Hang())
    with pytest.raises(DeadlineError):
        embedder.embed(["text"], kind="document")

    assert good_vectors(embedder) == [0, 1, 2]


def test_a_call_that_ends_late_does_not_break_another_one(
    connect: Connect, good_vectors: GoodVectors, server: ProviderServer
) -> None:
    embedder = connect(timeout_seconds=1.2)
    release = threading.Event()
    server.next(told.Hang(), told.Hold(release))
    ended: list[str] = []

    def hang() -> None:
        with pytest.raises(DeadlineError):
            embedder.embed(["text"], kind="document")
        ended.append("late")

    late = threading.Thread(target=hang)
    late.start()
    wait_until(lambda: server.requests == 1)
    time.sleep(0.4)  # so that the second call is still under way when the first one is broken off
    other = threading.Thread(target=lambda: ended.append(str(good_vectors(embedder))))
    other.start()
    late.join()
    release.set()
    other.join()

    assert ended == ["late", "[0, 1, 2]"]


def test_an_answer_that_takes_a_while_is_waited_for(
    connect: Connect, good_vectors: GoodVectors, server: ProviderServer
) -> None:
    server.next(told.Delay(0.3))

    assert good_vectors(connect()) == [0, 1, 2]


def test_many_threads_may_use_one_embedder(connect: Connect, good_vectors: GoodVectors) -> None:
    embedder = connect()
    results: list[list[int]] = []
    threads = [
        threading.Thread(target=lambda: results.extend(good_vectors(embedder) for _ in range(5))) for _ in range(4)
    ]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert results == [[0, 1, 2]] * 20


def test_a_connection_is_kept_open_between_calls(connect: Connect, server: ProviderServer) -> None:
    embedder = connect()

    for _ in range(5):
        embedder.embed(["text"], kind="document")

    assert server.connections == 1


def test_after_close_a_call_opens_a_new_connection(connect: Connect, good_vectors: GoodVectors) -> None:
    embedder = connect()
    embedder.embed(["text"], kind="document")
    embedder.close()

    assert good_vectors(embedder) == [0, 1, 2]


FORK = """
import os, signal, sys
from recallite.embeddings import ProviderOptions, create_embedder
options = ProviderOptions("openai", model="m", api_key=sys.argv[1], base_url=sys.argv[2], timeout_seconds=10)
embedder = create_embedder(options)
before = embedder.embed(["text"], kind="query")
pid = os.fork()
if pid == 0:
    signal.alarm(20)
    os._exit(0 if embedder.embed(["text"], kind="query") == before else 1)
_, status = os.waitpid(pid, 0)
print(os.waitstatus_to_exitcode(status), embedder.embed(["text"], kind="query") == before)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_after_a_fork_the_child_opens_its_own_connection(server: ProviderServer) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORK, PLANTED_KEY, server.url], capture_output=True, text=True, timeout=60
    )

    assert done.stdout.strip() == "0 True", done.stderr[-500:]
    assert server.connections == 2
