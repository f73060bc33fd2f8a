"""Thirty seconds of edits while everything is killed; then every index equals its files, and nothing was paid twice."""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from collections import Counter

import apsw
import pytest

from recallite.index.rows import fetch

AGENTS = ("ant", "bee", "cat", "dog")
CHAOS_SECONDS, REPAIR_SECONDS = 30.0, 60.0
FILES = 25
ITEMS_PER_REQUEST = 8


@pytest.mark.slow
def test_everything_is_killed_and_nothing_is_lost(make_cluster, provider) -> None:
    rng = random.Random(5)
    cluster = make_cluster(provider=provider, agents=AGENTS)
    for agent in AGENTS:
        for number in range(FILES):
            edit(cluster, rng, agent, number)
    cluster.producer()
    for name in ("one", "two"):
        cluster.worker(name, "--lane", "all", "--pool", "prefork", "--concurrency", "2")
    cluster.wait_ready()

    kills = torment(cluster, rng)
    for node in cluster.nodes:
        if node.container.status != "running":
            node.restart()
    if cluster.broker.container.status != "running":
        cluster.broker.restart()
    cluster.broker.container.server_client().flushall()
    cluster.note("memory/after.md", "written after the flush", "ant")

    deadline = time.monotonic() + REPAIR_SECONDS
    while differing := [agent for agent in AGENTS if not is_equal(cluster, agent)]:
        assert time.monotonic() < deadline, f"{differing} differ\n" + cluster.others[0].logs()[-3000:]
        time.sleep(0.5)
    for agent in AGENTS:
        check_whole(cluster, agent)
    sent = Counter(text for request in provider.seen for text in request.texts)
    again = sum(count - 1 for count in sent.values())
    # A request that was under way when its worker was killed may have been answered and not yet kept.
    assert again <= kills * ITEMS_PER_REQUEST * 2, f"{again} texts were embedded again after {kills} kills"
    assert kills >= 8


def edit(cluster, rng: random.Random, agent: str, number: int) -> None:
    """Write, append, replace, rename or delete a note."""
    path = cluster.root / agent / "memory" / f"{number % 3}" / f"{number}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    kind = rng.random()
    text = f"# {agent} {number}\n\nstate {rng.randrange(10**9)} of this note\n"
    if kind < 0.1 and path.exists():
        path.unlink()
    elif kind < 0.3 and path.exists():
        with path.open("a") as file:
            file.write(f"\nappended {rng.randrange(10**9)}\n")
    elif kind < 0.5:
        beside = path.with_suffix(".tmp")
        beside.write_text(text)
        beside.replace(path)
    else:
        path.write_text(text)


def torment(cluster, rng: random.Random) -> int:
    """Edit all the time; every two seconds kill something. How many times work may have been cut short."""
    began = last = time.monotonic()
    turn = kills = 0
    while time.monotonic() - began < CHAOS_SECONDS:
        edit(cluster, rng, rng.choice(AGENTS), rng.randrange(FILES))
        time.sleep(0.03)
        if time.monotonic() - last > 2.0:
            last = time.monotonic()
            turn += 1
            kills += strike(cluster, rng, turn)
    return kills


def strike(cluster, rng: random.Random, turn: int) -> int:
    node = rng.choice(cluster.nodes)
    if node.container.status != "running":
        node.restart()
        return 0
    if turn % 5 == 4:
        cluster.broker.kill()
        time.sleep(0.3)
        cluster.broker.restart()
        return 1
    if turn % 2:
        for pid in node.container.children()[:1]:
            os.kill(pid, signal.SIGKILL)
        return 1
    node.kill()
    node.restart()
    return 2


def is_equal(cluster, agent: str) -> bool:
    """Whether the index holds the text of every file, and of no other."""
    memory = cluster.root / agent / "memory"
    disk = {f"memory/{p.relative_to(memory).as_posix()}": p.read_text() for p in memory.rglob("*.md")}
    try:
        indexed = texts(cluster.agent(agent).index_path)
    except (apsw.Error, IndexError):
        return False
    return {path: text.strip() for path, text in disk.items()} == indexed


def texts(path) -> dict[str, str]:
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    connection = apsw.Connection(f"file:{path}?mode=ro", flags=flags)
    try:
        found = fetch(
            connection,
            "SELECT f.path, c.text FROM files f JOIN chunks c ON c.file_id = f.id WHERE f.state = 'indexed' "
            "AND f.generation = (SELECT substr(value, 1, instr(value, ':') - 1) FROM meta WHERE key = 'active')",
        )
        return dict(found)
    finally:
        connection.close()


def check_whole(cluster, agent: str) -> None:
    copy = cluster.root / f"copy-{agent}"
    shutil.copytree(cluster.agent(agent).index_path.parent, copy)
    connection = apsw.Connection(str(copy / f"{agent}.sqlite"))
    assert fetch(connection, "PRAGMA integrity_check") == [("ok",)]
    connection.close()
