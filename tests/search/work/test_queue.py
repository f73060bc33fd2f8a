"""The contract of a work queue; every implementation passes it."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from recallite.errors import FencedError, LeaseHeldError, QueueUnreachableError
from recallite.testing.redis_server import RedisServer
from recallite.work import Backlog, WorkQueue
from recallite.work.holder import Holder
from recallite.work.namespace import namespace_of
from recallite.work.redis import RedisQueue
from recallite.work.sqlite import SqliteQueue


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with RedisServer() as running:
        yield running


@pytest.fixture(params=["sqlite", "redis"])
def queue(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[WorkQueue]:
    if request.param == "sqlite":
        made: WorkQueue = SqliteQueue(tmp_path / "recallite" / "queue.sqlite")
    else:
        url = request.getfixturevalue("server").client_url
        made = RedisQueue(url)
        made.client.flushall()
    yield made
    made.close()


def paths(queue: WorkQueue, agent: str, limit: int = 100) -> list[str]:
    return [mark.path for mark in queue.claim(agent, limit)]


def test_marks_are_claimed_in_order_and_stay_until_done(queue: WorkQueue) -> None:
    queue.mark("a", ["one"])
    queue.mark("a", ["two", "three"])

    assert paths(queue, "a") == paths(queue, "a") == ["one", "three", "two"]
    queue.done("a", queue.claim("a", 1))
    assert paths(queue, "a") == ["three", "two"]


def test_marking_again_makes_one_newer_mark(queue: WorkQueue) -> None:
    queue.mark("a", ["x"])
    [old] = queue.claim("a", 10)
    for _ in range(1000):
        queue.mark("a", ["x"])

    queue.done("a", [old])

    assert queue.length("a") == 1
    assert queue.claim("a", 10)[0].generation > old.generation


def test_live_marks_come_before_backfill(queue: WorkQueue) -> None:
    queue.mark("slow", ["b1"], lane="backfill")
    queue.mark("slow", ["b2"], lane="backfill")
    queue.mark("quick", ["l"])
    queue.mark("slow", ["edit"])

    assert paths(queue, "slow") == ["edit", "b1", "b2"]
    assert queue.backlog() == [Backlog("quick", 1, 0), Backlog("slow", 1, 2)]
    assert [mark.path for mark in queue.claim("slow", 10, lane="live")] == ["edit"]
    assert [mark.path for mark in queue.claim("slow", 10, lane="backfill")] == ["b1", "b2"]
    assert [mark.lane for mark in queue.claim("slow", 10)] == ["live", "backfill", "backfill"]
    assert (queue.length("slow", lane="live"), queue.length(lane="backfill")) == (1, 2)


def test_a_backfill_mark_does_not_demote_a_live_one(queue: WorkQueue) -> None:
    queue.mark("a", ["x"])
    queue.mark("a", ["w"], lane="backfill")
    queue.mark("a", ["x"], lane="backfill")

    assert paths(queue, "a") == ["x", "w"]


def test_agents_are_apart(queue: WorkQueue) -> None:
    queue.mark("a", ["x"])
    queue.mark("A", ["y", "z"])

    assert (queue.length("a"), queue.length("A"), queue.length(), queue.length("b")) == (1, 2, 3, 0)
    queue.done("a", queue.claim("A", 10))
    assert queue.length() == 3


def test_one_lease_at_a_time_and_epochs_grow(queue: WorkQueue) -> None:
    first = queue.lease("a")
    with pytest.raises(LeaseHeldError, match="a"):
        queue.lease("a")
    other = queue.lease("b")
    queue.release(first)
    second = queue.lease("a")

    assert second.epoch > first.epoch
    assert queue.holder("a") is not None
    queue.renew(second)
    queue.renew(other)
    with pytest.raises(FencedError):
        queue.renew(first)
    queue.release(first)
    with pytest.raises(LeaseHeldError):
        queue.lease("a")


def test_an_epoch_is_above_what_the_index_has_seen(queue: WorkQueue) -> None:
    assert queue.lease("a", at_least=41).epoch == 42


def test_of_many_threads_one_gets_the_lease(queue: WorkQueue) -> None:
    won: list[int] = []
    barrier = threading.Barrier(8)

    def take(number: int) -> None:
        barrier.wait()
        try:
            queue.lease("a")
        except LeaseHeldError:
            return
        won.append(number)

    threads = [threading.Thread(target=take, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(won) == 1


def test_the_lease_of_a_dead_process_is_taken_at_once(queue: WorkQueue, tmp_path: Path) -> None:
    if isinstance(queue, SqliteQueue):
        where = f"sqlite import SqliteQueue as Q; q = Q(Path({str(queue._path)!r}))"
    else:
        where = f"redis import RedisQueue as Q; q = Q({queue._url!r})"
    code = f"import os; from pathlib import Path; from recallite.work.{where}\nq.lease('a'); os._exit(9)"
    subprocess.run([sys.executable, "-c", code], check=False)

    assert queue.holder("a") is None
    assert queue.lease("a").epoch == 2


def test_a_holder_with_the_pid_of_another_process_is_dead() -> None:
    me = Holder.current()

    assert me.may_be_alive()
    assert Holder.parse(str(me)) == me
    assert Holder("elsewhere", 1, "1").may_be_alive()
    if me.started:
        assert not Holder(me.host, me.pid, "1").may_be_alive()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform cannot fork")
def test_a_forked_child_may_use_the_queue(tmp_path: Path) -> None:
    queue = SqliteQueue(tmp_path / "queue.sqlite")
    queue.mark("a", ["parent"])
    process = multiprocessing.get_context("fork").Process(target=queue.mark, args=("a", ["child"]))
    process.start()
    process.join(30)

    assert process.exitcode == 0
    assert paths(queue, "a") == ["parent", "child"]
    queue.close()


def test_thousands_of_marks_are_kept_exactly(queue: WorkQueue) -> None:
    queue.mark("a", (f"p{n}" for n in range(2500)), lane="backfill")
    marks = queue.claim("a", 5000)
    queue.done("a", marks[:1700])

    assert len(marks) == 2500
    assert queue.length("a") == 800


def test_a_message_is_asked_for_once_until_it_has_started() -> None:
    with RedisServer() as server:
        queue = RedisQueue(server.client_url)
        first, second = queue.schedule("a", "live"), queue.schedule("a", "live")
        other = queue.schedule("a", "backfill")
        queue.started("a", "live")

        assert (first, second, other, queue.schedule("a", "live")) == (True, False, True, True)
        queue.close()


def test_redis_that_was_emptied_is_noticed_until_all_agents_are_marked(server: RedisServer) -> None:
    queue = RedisQueue(server.client_url)
    queue.client.flushall()

    assert (queue.is_new(), queue.is_new()) == (True, True)
    queue.known()
    assert not queue.is_new()
    queue.client.flushall()
    assert queue.is_new()
    queue.close()


def test_two_state_directories_share_a_redis_and_nothing_but_accounts(server: RedisServer, tmp_path: Path) -> None:
    names = [namespace_of(tmp_path / name) for name in ("one", "two", "one")]
    one, two, again = (RedisQueue(server.client_url, namespace=name) for name in names)
    one.client.flushall()
    one.mark("main", ["x"])
    one.owe("main")
    one.known()
    one.pause("openai-key", 60, "429")

    assert (two.length(), two.backlog(), two.owed(), two.is_new()) == (0, [], [], True)
    assert two.lease("main").epoch == 1
    assert two.paused("openai-key") == one.paused("openai-key") is not None
    assert (again.length(), again.owed(), again.is_new()) == (1, ["main"], False)
    for queue in (one, two, again):
        queue.close()


def test_a_directory_gets_one_name_from_many_at_once(tmp_path: Path) -> None:
    with ThreadPoolExecutor(16) as pool:
        names = set(pool.map(lambda _: namespace_of(tmp_path), range(64)))

    assert len(names) == 1
    assert [path.name for path in (tmp_path / "recallite").iterdir()] == ["id"]


def test_a_name_that_is_none_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    path = tmp_path / "recallite" / "id"
    path.parent.mkdir()
    path.write_text("../../etc")

    with pytest.raises(QueueUnreachableError, match="remove it"):
        namespace_of(tmp_path)


def test_owed_vectors_are_kept_until_they_are_settled(queue: WorkQueue) -> None:
    queue.owe("later", seconds=60)
    queue.owe("b", seconds=-1)
    queue.owe("a", seconds=-2)

    assert queue.owed() == ["a", "b"]
    assert queue.length() == 0, "no text waits"
    queue.settle("a")
    queue.settle("nobody")
    queue.owe("b", seconds=60)
    assert queue.owed() == []


def test_an_agent_that_is_forgotten_has_nothing_left_and_its_epoch(queue: WorkQueue) -> None:
    lease = queue.lease("gone")
    queue.release(lease)
    queue.mark("gone", ["x"])
    queue.mark("gone", ["y"], lane="backfill")
    queue.owe("gone")
    queue.mark("stays", ["x"])

    queue.forget("gone")

    assert (queue.backlog(), queue.owed()) == ([Backlog("stays", 1, 0)], [])
    assert queue.lease("gone").epoch > lease.epoch


def test_what_was_not_served_is_not_paid(queue: WorkQueue) -> None:
    assert queue.spend("k", "2026-02-10", 60, limit=100)
    queue.refund("k", "2026-02-10", 60)
    assert queue.spend("k", "2026-02-10", 100, limit=100)
    queue.refund("k", "2026-02-10", 500)
    queue.refund("k", "2026-02-11", 5)

    assert (queue.spent("k", "2026-02-10"), queue.spent("k", "2026-02-11")) == (0, 0)


def test_who_only_looks_is_told_soon_that_redis_hangs() -> None:
    with RedisServer() as server:
        queue = RedisQueue(server.client_url, only_looks=True)
        queue.length("a")
        server.pause()
        try:
            with pytest.raises(QueueUnreachableError, match="Redis does not answer"):
                queue.length("a")
        finally:
            server.resume()
        queue.close()


def test_redis_that_does_not_answer_is_an_error_of_ours(tmp_path: Path) -> None:
    queue = RedisQueue(f"unix://{tmp_path}/nothing.sock")

    with pytest.raises(QueueUnreachableError, match="Redis"):
        queue.mark("a", ["x"])


def test_marks_survive_the_restart_of_redis() -> None:
    import time

    with RedisServer() as server:
        queue = RedisQueue(server.client_url)
        queue.mark("a", ["x"])
        time.sleep(1.2)  # the append-only file is written once a second
        server.kill()
        server.start()

        assert paths(queue, "a") == ["x"]
        queue.close()


def test_a_pause_holds_for_everyone_and_ends(queue: WorkQueue) -> None:
    import time

    assert queue.paused("openai") is None
    queue.pause("openai", 60, "quota")
    queue.pause("openai", 5, "a shorter one does not end it")
    found = queue.paused("openai")
    queue.pause("other", 0.05, "short")
    time.sleep(0.1)

    assert found is not None and found.reason == "quota"
    assert 50 < found.until - time.time() <= 60
    assert queue.paused("other") is None


def test_spending_stops_at_the_limit_for_all_together(queue: WorkQueue) -> None:
    assert [queue.spend("k", "2026-02-10", 40, limit=100) for _ in range(4)] == [True, True, False, False]
    assert queue.spend("k", "2026-02-10", 20, limit=100)
    assert queue.spent("k", "2026-02-10") == 100
    assert queue.spend("k", "2026-02-11", 40, limit=100)
    assert queue.spent("k", "2026-02-09") == 0


def test_no_more_jobs_than_slots_are_under_way(queue: WorkQueue) -> None:
    taken = [queue.take_slot("openai-k", f"job{number}", limit=3) for number in range(5)]

    assert taken == [True, True, True, False, False]
    assert queue.take_slot("openai-k", "job0", limit=3), "it has one already"
    assert queue.take_slot("voyage-k", "job3", limit=3), "another account"
    queue.free_slot("openai-k", "job1")
    queue.free_slot("openai-k", "never had one")
    assert queue.take_slot("openai-k", "job3", limit=3)
    assert not queue.take_slot("openai-k", "job4", limit=3)
    queue.keep_slot("openai-k", "a job that was under way before the queue was lost")
    assert queue.slots("openai-k") == 4


def test_many_processes_share_the_slots(queue: WorkQueue) -> None:
    with ThreadPoolExecutor(16) as pool:
        taken = list(pool.map(lambda number: queue.take_slot("k", str(number), limit=5), range(50)))

    assert sum(taken) == queue.slots("k") == 5


def test_debts_are_kept_apart(queue: WorkQueue) -> None:
    queue.owe("a")
    queue.owe("a", "batch", seconds=60)
    queue.owe("b", "batch")

    assert (queue.owed(), queue.owed("batch")) == (["a"], ["b"])
    queue.settle("b")
    assert queue.owed("batch") == ["b"]
