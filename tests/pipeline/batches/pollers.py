"""Run by a test: three processes that move batch jobs on and kill -9 themselves at random moments.

Forks them from a process that has loaded everything and started no thread. Ends when all jobs are over.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sys
import threading
import time

import openai  # before the forks: a second of each poller's life otherwise

from recallite import load_settings
from recallite.embeddings import openai_batches
from recallite.embeddings.batches import BatchLimits
from recallite.errors import RecalliteError
from recallite.work.connect import broker_url, open_queue
from recallite_worker import batch_poll
from recallite_worker.batch_poll import open_jobs, poll_agent
from recallite_worker.sync import sync_agent

POLLERS, GRACE_SECONDS, PATIENCE_SECONDS = 3, 1.0, 150.0


def set_up() -> None:
    openai_batches.LIMITS = BatchLimits(max_items=10, max_bytes=10_000_000)
    batch_poll.NO_SLOT_SECONDS = 0.05
    openai.OpenAI(api_key="unused", base_url="http://127.0.0.1:9").close()  # loads what it loads when it is first made


def plan(settings) -> None:
    queue = open_queue(settings, broker_url())
    for agent in settings.agent_ids:
        queue.mark(agent, ["*"])
        while sync_agent(settings.agent(agent), queue).more:
            pass
    queue.close()


def poller(settings, seed: int) -> None:
    moment = random.Random(seed)

    def kill() -> None:
        time.sleep(moment.uniform(0.1, 1.5))
        os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=kill, daemon=True).start()
    queue = open_queue(settings, broker_url())
    agents = list(settings.agent_ids)
    while True:
        moment.shuffle(agents)
        for agent in agents:
            with contextlib.suppress(RecalliteError):
                poll_agent(settings.agent(agent), queue, grace_seconds=GRACE_SECONDS)
        time.sleep(0.01)


def main() -> int:
    set_up()
    settings = load_settings(sys.argv[1])
    plan(settings)
    children: set[int] = set()
    deadline = time.monotonic() + PATIENCE_SECONDS
    seed = kills = 0
    while any(open_jobs(settings.agent(agent)) for agent in settings.agent_ids):
        if time.monotonic() > deadline:
            break
        while len(children) < POLLERS:
            seed += 1
            child = os.fork()
            if child == 0:
                poller(settings, seed)
            children.add(child)
        ended, _ = os.waitpid(-1, 0)
        children.discard(ended)
        kills += 1
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    print(f"{kills} kills")
    return 0


if __name__ == "__main__":
    sys.exit(main())
