"""Real workers, a real Redis: every message lost, doubled or late, every process killed changes only the time."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import apsw
import pytest

from recallite.index.rows import fetch
from recallite.testing.behaviours import Delay, Hold
from recallite.work import SCAN
from recallite.work.messages import TASKS
from recallite.work.redis import RedisQueue


def _until(condition, seconds: float, what: str = "waited in vain") -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def rows(settings) -> list[tuple[object, ...]]:
    """The content of an index without ids and times: equal for equal files, however often it was written."""
    connection = apsw.Connection(
        f"file:{settings.index_path}?mode=ro", flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    )
    try:
        return fetch(
            connection,
            "SELECT f.path, f.hash, f.state, c.ord, c.start_line, c.end_line, c.hash, c.text FROM files f "
            "LEFT JOIN chunks c ON c.file_id = f.id WHERE f.generation = (SELECT max(id) FROM generations) "
            "ORDER BY f.path, c.ord",
        )
    finally:
        connection.close()


def test_an_edit_goes_from_message_to_index(make_cluster) -> None:
    cluster = make_cluster()
    cluster.note("memory/a.md", "the quokka")
    cluster.worker("live", "--lane", "live")
    cluster.wait_ready()
    dispatch = cluster.dispatch()

    dispatch.dirty("main", ["memory/a.md"])

    _until(lambda: cluster.hits("quokka") == ["memory/a.md"], 60)
    assert cluster.nodes[0].app.control.ping(timeout=3)
    dispatch.close()


def test_each_queue_has_a_consumer_with_the_default_lane(make_cluster) -> None:
    cluster = make_cluster()
    cluster.worker("all")
    cluster.wait_ready()

    queues = cluster.nodes[0].app.control.inspect(timeout=5).active_queues()

    assert {queue["name"] for queue in next(iter(queues.values()))} == {"live", "backfill", "maintenance"}


def test_tasks_delivered_three_times_on_four_workers_give_the_rows_of_one_run(make_cluster, provider) -> None:
    cluster = make_cluster(provider=provider, agents=("a", "b"))
    for agent in ("a", "b"):
        for number in range(60):
            cluster.note(
                f"memory/{number}.md", f"note {number} of {agent}\n\n" + f"Text {number} of {agent}. " * 120, agent
            )
    for number in range(4):
        cluster.worker(f"w{number}", "--lane", "all", "--pool", "threads", "--concurrency", "2")
    cluster.wait_ready()
    first, second = cluster.dispatch(), cluster.dispatch()

    for turn in range(3):
        for dispatch in (first, second):
            for agent in ("a", "b"):
                dispatch.queue.mark(agent, [SCAN, *(f"memory/{n}.md" for n in range(turn, 60, 3))])
                for lane in ("live", "backfill"):
                    dispatch._publisher.publish(agent, lane)
    _until(lambda: _settled(cluster, first), 60)
    # Identical to one plain run of the embedded executor on the same files.
    for agent in ("a", "b"):
        settings = cluster.agent(agent)
        distributed = rows(settings)
        assert len(distributed) > 60
        assert distributed == _single_run(cluster, settings)
    texts = [text for request in provider.seen for text in request.texts]
    assert len(texts) == len(set(texts)), "a text was embedded twice"
    assert "Traceback" not in "".join(node.logs() for node in cluster.nodes)
    assert "locked" not in "".join(node.logs() for node in cluster.nodes)
    first.close()
    second.close()


def _settled(cluster, dispatch) -> bool:
    """Nothing marked, nothing pending; hints that were lost are sent again as the producer does, and nothing more."""
    dispatch.queue.known()  # no scan: what is left must be known from what was noted
    dispatch.sweep()
    if dispatch.queue.length() > 0:
        return False
    return all(_status(cluster, agent).health == "ok" for agent in cluster.agents)


def _status(cluster, agent: str):
    from recallite import MemorySearch

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", "unused")
        with MemorySearch(settings=cluster.agent(agent)) as memory:
            return memory.status()


def _single_run(cluster, settings):
    import dataclasses

    from recallite.work.sqlite import SqliteQueue
    from recallite_worker.executor import EmbeddedExecutor

    alone = cluster.root / f"alone-{settings.agent}"
    single = dataclasses.replace(
        settings, index_path=alone / "i.sqlite", cache_path=alone / "c.sqlite", state_dir=alone
    )
    queue = SqliteQueue(alone / "q.sqlite")
    queue.mark(settings.agent, [SCAN])
    EmbeddedExecutor(queue, embedders=lambda s: (None, "none")).run([single])
    queue.close()
    return rows(single)


def test_a_thousand_saves_do_not_fill_redis(make_cluster) -> None:
    cluster = make_cluster()
    dispatch = cluster.dispatch()
    client = RedisQueue(cluster.server.client_url).client

    for _ in range(1000):
        dispatch.dirty("main", ["memory/a.md"])
    dispatch.dirty("main", [f"memory/{n}.md" for n in range(4999)])

    assert client.llen(f"{cluster.prefix}live") == 1
    assert client.zcard(f"{cluster.prefix}{{main}}:dirty") == 5000
    message = client.lindex(f"{cluster.prefix}live", 0)
    assert len(message) < 1500 and "memory/" not in message
    assert len(client.keys("*")) < 15
    client.close()
    dispatch.close()


def test_no_result_is_ever_stored(make_cluster) -> None:
    cluster = make_cluster()
    cluster.worker("live", "--lane", "live")
    cluster.wait_ready()
    dispatch = cluster.dispatch()
    client = RedisQueue(cluster.server.client_url).client
    for turn in range(60):
        cluster.note("memory/a.md", f"turn number{turn}x")
        dispatch.dirty("main", ["memory/a.md"])
        _until(lambda turn=turn: cluster.hits(f"number{turn}x"), 60)

    assert not [key for key in client.keys("*") if "celery-task-meta" in key or "result" in key]
    assert len(client.keys("*")) < 20
    client.close()
    dispatch.close()


@pytest.mark.parametrize("victim", ["child", "worker"])
def test_a_killed_worker_loses_nothing(make_cluster, provider, victim: str) -> None:
    cluster = make_cluster(provider=provider)
    for number in range(40):
        cluster.note(f"memory/{number}.md", f"note {number}")
    provider.next(*[Delay(0.2)] * 200)
    worker = cluster.worker("w", "--lane", "all", "--pool", "prefork", "--concurrency", "1")
    cluster.wait_ready()
    dispatch = cluster.dispatch()
    dispatch.dirty("main", [SCAN])
    _until(lambda: provider.requests >= 2, 60)

    if victim == "child":
        for pid in worker.container.children():
            os.kill(pid, signal.SIGKILL)
    else:
        worker.kill()
        worker.restart()
    _until(lambda: _settled(cluster, dispatch), 60, worker.logs())

    assert _status(cluster, "main").vectors.indexed == 40
    dispatch.close()


def test_redis_may_be_restarted_under_a_worker_that_has_unacknowledged_messages(make_cluster, provider) -> None:
    """Fails without `recallite_worker.guard` on celery 5.7.0: the worker ends with exit code 1."""
    import threading

    cluster = make_cluster(provider=provider)
    for number in range(20):
        cluster.note(f"memory/{number}.md", f"note {number}")
    release = threading.Event()
    provider.next(Hold(release))
    worker = cluster.worker("w", "--lane", "all", "--pool", "threads", "--concurrency", "2")
    cluster.wait_ready()
    dispatch = cluster.dispatch()
    dispatch.dirty("main", [SCAN])
    _until(lambda: provider.requests >= 1, 60)

    cluster.broker.kill()
    time.sleep(1.0)
    release.set()
    cluster.broker.restart()
    _until(lambda: _settled(cluster, dispatch), 60, worker.logs())
    cluster.note("memory/new.md", "after the restart")
    dispatch.dirty("main", ["memory/new.md"])

    _until(lambda: cluster.hits("restart") == ["memory/new.md"], 60, worker.logs())
    assert worker.container.status == "running"
    dispatch.close()


def test_an_emptied_redis_is_repaired_by_the_sweep(make_cluster) -> None:
    cluster = make_cluster(agents=("a", "b"))
    worker = cluster.worker("w")
    cluster.wait_ready()
    dispatch = cluster.dispatch()
    dispatch.sweep()
    _until(lambda: dispatch.queue.length() == 0, 60)
    cluster.note("memory/a.md", "lost quokka", "a")
    cluster.note("memory/b.md", "lost wombat", "b")
    dispatch.queue.mark("a", ["memory/a.md"])
    dispatch.queue.client.flushall()

    dispatch.sweep()

    _until(lambda: cluster.hits("quokka", "a") and cluster.hits("wombat", "b"), 30, worker.logs())
    dispatch.close()


def test_a_writer_that_was_paused_beyond_its_lease_is_refused(make_cluster, provider) -> None:
    import threading

    cluster = make_cluster(provider=provider)
    for number in range(10):
        cluster.note(f"memory/{number}.md", f"first {number}")
    release = threading.Event()
    provider.next(Hold(release))
    paused = cluster.worker("paused", "--lane", "all", "--pool", "solo")
    cluster.wait_ready()
    dispatch = cluster.dispatch()
    dispatch.dirty("main", [SCAN])
    _until(lambda: provider.requests >= 1, 60)

    paused.container.kill(signal.SIGSTOP)
    dispatch.queue.client.delete(f"{cluster.prefix}{{main}}:lease")  # what thirty seconds do
    cluster.note("memory/0.md", "second 0")
    cluster.worker("other", "--lane", "all", "--pool", "solo").ready()
    release.set()
    dispatch.dirty("main", ["memory/0.md"])
    dispatch._publisher.publish("main", "live")
    _until(lambda: cluster.hits("second") == ["memory/0.md"], 30, cluster.nodes[1].logs())
    paused.container.kill(signal.SIGCONT)

    paused.assert_log_exists("has taken over", timeout=30)
    _until(lambda: _settled(cluster, dispatch), 60)
    assert "first 0" not in [row[-1] for row in rows(cluster.agent())]
    dispatch.close()


def test_a_message_with_a_wrong_payload_is_refused_without_showing_it(make_cluster) -> None:
    cluster = make_cluster()
    worker = cluster.worker("w")
    cluster.wait_ready()
    app = worker.app

    for payload in ({"agent": "../../etc/passwd"}, {"agent": 7}, {"agent": "", "text": "my-secret-value"}, {}):
        app.send_task(TASKS["live"], kwargs=payload, queue="live")
    worker.assert_log_exists("agent: missing", timeout=20)

    _until(lambda: worker.logs().count("succeeded") == 4, 60)
    refusals = [line for line in worker.logs().splitlines() if "ERROR" in line]
    assert len(refusals) == 4
    assert not [line for line in refusals if "my-secret-value" in line or "passwd" in line]
    assert not (cluster.root / "state").exists() or not list((cluster.root / "state").rglob("*.sqlite"))


def test_an_edit_does_not_wait_for_another_agents_backfill(make_cluster, provider) -> None:
    cluster = make_cluster(provider=provider, agents=("huge", "small"))
    for number in range(2000):
        cluster.note(f"memory/{number}.md", "\n\n".join(f"Entry {number} {n}. " * 60 for n in range(26)), "huge")
    cluster.note("memory/old.md", "old", "small")
    cluster.worker("live", "--lane", "live")
    cluster.worker("backfill", "--lane", "backfill")
    cluster.wait_ready()
    dispatch = cluster.dispatch()
    dispatch.dirty("huge", [SCAN], lane="backfill")
    _until(lambda: cluster.hits("Entry", "huge"), 60)

    waits = []
    for turn in range(5):
        cluster.note("memory/new.md", f"edit number{turn}y", "small")
        began = time.monotonic()
        dispatch.dirty("small", ["memory/new.md"])
        _until(lambda turn=turn: cluster.hits(f"number{turn}y", "small"), 60)
        waits.append(time.monotonic() - began)

    assert dispatch.queue.length("huge") > 0, "the backfill is still running"
    # Behind the backfill an edit would wait for all of it; a busy machine may stretch a single one.
    assert sorted(waits)[2] < 2.0, waits
    dispatch.close()


def test_sigterm_ends_a_worker_soon_and_leaves_nothing_stuck(make_cluster, provider) -> None:
    cluster = make_cluster(provider=provider)
    for number in range(100):
        cluster.note(f"memory/{number}.md", f"note {number}")
    provider.next(*[Delay(0.3)] * 100)
    worker = cluster.worker("w", "--pool", "prefork", "--concurrency", "1")
    cluster.wait_ready()
    dispatch = cluster.dispatch()
    dispatch.dirty("main", [SCAN])
    _until(lambda: provider.requests >= 1, 60)

    began = time.monotonic()
    assert worker.container.process is not None
    worker.container.process.terminate()
    worker.container.process.wait(30)

    assert time.monotonic() - began < 25
    worker.restart()
    _until(lambda: _settled(cluster, dispatch), 60, worker.logs())
    dispatch.close()


def test_the_health_command_sees_living_workers_only(make_cluster) -> None:
    import subprocess

    cluster = make_cluster()

    def health(*options: str) -> int:
        return subprocess.run(cluster.command("health", *options), env=cluster.env, capture_output=True).returncode

    assert health() == 1
    worker = cluster.worker("live", "--lane", "live")
    cluster.wait_ready()
    _until(lambda: health("--lane", "live") == 0, 30)
    assert health("--lane", "backfill") == 1
    worker.container.kill(signal.SIGSTOP)
    _until(lambda: health("--max-age", "3") == 1, 30)


def test_the_children_of_a_killed_worker_do_not_outlive_it(make_cluster) -> None:
    cluster = make_cluster()
    worker = cluster.worker("w", "--pool", "prefork", "--concurrency", "2")
    cluster.wait_ready()
    children = worker.container.children()
    assert worker.container.process is not None and len(children) >= 2

    os.kill(worker.container.process.pid, signal.SIGKILL)
    worker.container.process.wait(10)

    _until(lambda: not [pid for pid in children if _runs(pid)], 20, "orphans")


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_status_says_when_nobody_serves_the_queue(make_cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = make_cluster()
    monkeypatch.setenv("RECALLITE_BROKER_URL", cluster.server.url)
    cluster.note("memory/a.md", "text")
    worker = cluster.worker("live", "--lane", "live")
    cluster.wait_ready()
    dispatch = cluster.dispatch()
    dispatch.dirty("main", [SCAN])
    _until(lambda: cluster.hits("text"), 60)
    _until(lambda: _status(cluster, "main").workers, 60)
    before = _status(cluster, "main")
    worker.kill()
    for key, _ in list(dispatch.queue.heartbeats()):
        dispatch.queue.client.delete(f"{cluster.prefix}worker:{key}")

    dispatch.dirty("main", ["memory/a.md"])
    after = _status(cluster, "main")

    assert before.workers == ("live@test (live)",)
    assert [p for p in after.problems if "no living worker" in p]
    assert after.queue_live == 1
    dispatch.close()
