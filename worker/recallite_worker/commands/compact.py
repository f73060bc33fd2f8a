"""Give back the space that deleted text and vectors have left in an index.

With a broker a worker of the maintenance queue does it, where the index is; without one it is done here and now.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import closing
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from recallite.config import AgentSettings
    from recallite.work import WorkQueue


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--agent", metavar="ID", help="agent (default: all agents)")
    parser.add_argument("--broker", metavar="URL", help="redis://… (default: RECALLITE_BROKER_URL)")


def run(args: argparse.Namespace) -> int:
    from recallite.config import load_settings
    from recallite.work.connect import broker_url, open_publisher, open_queue, open_redis_queue

    settings = load_settings(args.config)
    names = [args.agent] if args.agent is not None else settings.agent_ids
    agents = [agent for agent in map(settings.agent, names) if agent.index_path.exists()]
    if (url := broker_url(args.broker)) is not None:
        with closing(open_redis_queue(settings, url)) as redis:
            publisher = open_publisher(settings, url, redis)
            for agent in agents:
                publisher.compact(agent.agent)
                print(f"{agent.agent}: queued for a worker that serves maintenance")
        return 0
    with closing(open_queue(settings, None)) as queue:
        return max([_compact(agent, queue) for agent in agents], default=0)


def _compact(agent: AgentSettings, queue: WorkQueue) -> int:
    from recallite.errors import LeaseHeldError
    from recallite_worker.compaction import compact_agent
    from recallite_worker.leases import held_by

    try:
        before, after = compact_agent(agent, queue)
    except LeaseHeldError:
        print(f"{agent.agent}: {held_by(queue.holder(agent.agent))}", file=sys.stderr)
        return 1
    print(f"{agent.agent}: {before / 1e6:.1f} MB → {after / 1e6:.1f} MB")
    return 0
