"""Run a Celery worker: takes agents' hints from the broker and indexes.

Run at least one with `--lane live`, so that fresh edits never wait for a backfill.
"""

from __future__ import annotations

import argparse
import os
import socket

LANE_QUEUES = {
    "live": ["live"],
    "backfill": ["live", "backfill", "maintenance"],
    "all": ["live", "backfill", "maintenance"],
}
POOLS = {"live": ("threads", 4), "backfill": ("prefork", 1), "all": ("threads", 4)}
"""Threads where the work is waiting for a provider; processes where a model computes."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--lane", choices=list(LANE_QUEUES), default="all", help="what to serve (default: all)")
    parser.add_argument("--broker", metavar="URL", help="redis://… (default: RECALLITE_BROKER_URL)")
    parser.add_argument("--concurrency", type=int, metavar="N", help="threads or processes")
    parser.add_argument("--pool", choices=["threads", "prefork", "solo"], help="kind of concurrency")
    parser.add_argument("--name", metavar="NAME", help="name of the worker (default: lane@host)")
    parser.add_argument("--loglevel", default="INFO", metavar="LEVEL")


def run(args: argparse.Namespace) -> int:
    # Celery reads this when it is imported: SIGTERM is to end running slices softly, not to wait for ever.
    os.environ.setdefault("REMAP_SIGTERM", "SIGQUIT")
    from recallite.config import load_settings
    from recallite.errors import ConfigError
    from recallite.work.connect import broker_url
    from recallite.work.messages import BROKER_VARIABLE
    from recallite.work.namespace import namespace_of

    broker = broker_url(args.broker)
    if broker is None:
        raise ConfigError(None, [f"no broker: give --broker or {BROKER_VARIABLE}, or run `recallite up` without one"])
    settings = load_settings(args.config)  # a faulty file is told here, not by the first task
    try:
        from recallite_worker.app import make_app
        from recallite_worker.heartbeat import LANES_VARIABLE
    except ImportError as error:
        problem = f"a worker needs more packages ({error.name}): pip install 'recallite-worker[redis]'"
        raise ConfigError(None, [problem]) from error
    queues = LANE_QUEUES[args.lane]
    os.environ[LANES_VARIABLE] = ",".join(queues)
    pool, concurrency = POOLS[args.lane]
    app = make_app(broker, namespace=namespace_of(settings.state_dir), config=args.config)
    app.worker_main(
        [
            "worker",
            *("--pool", args.pool or pool),
            *("--concurrency", str(args.concurrency or concurrency)),
            *("--queues", ",".join(queues)),
            *("--hostname", args.name or f"{args.lane}@{socket.gethostname()}"),
            *("--loglevel", args.loglevel),
            "--without-gossip",
            "--without-mingle",
        ]
    )
    return 0
