"""Move another program's index aside and keep its vectors, so that they are not paid for again."""

from __future__ import annotations

import argparse

from recallite.wording import counted


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--agent", metavar="ID", help="agent (default: the default agent)")


def run(args: argparse.Namespace) -> int:
    from recallite.config import load_settings
    from recallite_worker.adoption import adopt

    agent = load_settings(args.config).agent(args.agent)
    result = adopt(agent.index_path, agent.cache_path, max_entries=agent.search.cache.max_entries)
    vectors = counted(result.vectors, "vector is", "vectors are")
    print(f"{agent.agent}: the file was moved to {result.moved_to}; {vectors} in the cache")
    if result.unusable:
        print(f"  {counted(result.unusable, 'vector')} could not be used")
    print("  run `recallite index` to build the index from the notes")
    return 0
