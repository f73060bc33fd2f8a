"""Show workers, queues and tasks in a browser, with Flower: read-only, on this machine only unless told otherwise.

Set RECALLITE_FLOWER_AUTH to `name:password` before you let others reach it.
"""

from __future__ import annotations

import argparse
import os

AUTH_VARIABLE = "RECALLITE_FLOWER_AUTH"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--broker", metavar="URL", help="redis://… (default: RECALLITE_BROKER_URL)")
    parser.add_argument("--address", default="127.0.0.1", help="address to listen on (default: 127.0.0.1)")
    parser.add_argument("--port", type=int, default=5555, help="port to listen on (default: 5555)")
    parser.add_argument("--db", metavar="FILE", help="keep the history of tasks in this file")


def run(args: argparse.Namespace) -> int:
    from recallite.config import load_settings
    from recallite.errors import ConfigError
    from recallite.work.connect import broker_url
    from recallite.work.namespace import namespace_of

    broker = broker_url(args.broker)
    if broker is None:
        raise ConfigError(None, ["no broker: give --broker or RECALLITE_BROKER_URL"])
    auth = os.environ.get(AUTH_VARIABLE, "").strip()
    if args.address not in ("127.0.0.1", "localhost", "::1") and not auth:
        raise ConfigError(None, [f"--address {args.address} can be reached by others: set {AUTH_VARIABLE} first"])
    try:
        import flower.command  # noqa: F401 - registers the command with Celery

        from recallite_worker.app import make_app
    except ImportError as error:
        problem = f"Flower needs more packages ({error.name}): pip install 'recallite-worker[redis,flower]'"
        raise ConfigError(None, [problem]) from error
    options = [
        *(f"--address={args.address}", f"--port={args.port}"),
        *("--read_only=True", "--max_tasks=10000", "--purge_offline_workers=600"),
        "--tasks_columns=name,uuid,state,result,received,started,runtime,worker",
    ]
    if auth:
        options.append(f"--basic_auth={auth}")
    if args.db:
        options += ["--persistent=True", f"--db={args.db}", "--state_save_interval=60000"]
    make_app(broker, namespace=namespace_of(load_settings(args.config).state_dir)).start(["flower", *options])
    return 0
