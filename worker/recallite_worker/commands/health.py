"""Whether a worker lives: exit code 0 when one has given a sign of life lately, else 1.

For health checks of containers and services. Asks Redis, starts nothing, waits for no worker.
"""

from __future__ import annotations

import argparse
import sys
import time


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--lane", choices=["live", "backfill", "maintenance"], help="only workers that serve it")
    parser.add_argument("--max-age", type=float, default=60.0, metavar="SECONDS", help="of the last sign (default: 60)")
    parser.add_argument("--any-host", action="store_true", help="workers of other hosts and containers count too")
    parser.add_argument("--broker", metavar="URL", help="redis://… (default: RECALLITE_BROKER_URL)")


def run(args: argparse.Namespace) -> int:
    from recallite.config import load_settings
    from recallite.errors import ConfigError
    from recallite.work.connect import broker_url, open_redis_queue
    from recallite.work.holder import Holder

    url = broker_url(args.broker)
    if url is None:
        raise ConfigError(None, ["no broker: give --broker or RECALLITE_BROKER_URL"])
    queue = open_redis_queue(load_settings(args.config), url, only_looks=True)
    here, now = Holder.current().host, time.time()
    alive = 0
    for name, said in queue.heartbeats():
        age = now - float(said.get("at", 0))
        serves = args.lane is None or args.lane in said.get("lanes", "").split(",")
        local = args.any_host or said.get("host") == here
        fresh = age <= args.max_age
        alive += serves and local and fresh
        lanes, finished = said.get("lanes") or "unknown lanes", said.get("finished", "?")
        print(f"{name}: {lanes}, {age:.0f} s ago, {finished} tasks done")
    queue.close()
    if not alive:
        print("no living worker", file=sys.stderr)
    return 0 if alive else 1
