"""Give back the space that deleted text and vectors have left in an index."""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--agent", metavar="ID", help="agent (default: all agents)")


def run(args: argparse.Namespace) -> int:
    from recallite.config import load_settings
    from recallite.work.sqlite import SqliteQueue, queue_path
    from recallite_worker.compaction import compact_agent

    settings = load_settings(args.config)
    queue = SqliteQueue(queue_path(settings.state_dir))
    try:
        for name in [args.agent] if args.agent is not None else settings.agent_ids:
            agent = settings.agent(name)
            if not agent.index_path.exists():
                continue
            before, after = compact_agent(agent, queue)
            print(f"{agent.agent}: {before / 1e6:.1f} MB → {after / 1e6:.1f} MB")
    finally:
        queue.close()
    return 0
