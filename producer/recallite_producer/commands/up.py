"""Watch the notes of all agents and index them, in this one process, without a server.

The exit code is 0 after SIGTERM, 130 after Ctrl-C, 3 when the indexing did not end in time: what was done is kept,
and the next start goes on. 1 when another producer runs already.
"""

from __future__ import annotations

import argparse
import logging
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from recallite_producer.embedded import Indexer
    from recallite_producer.process import StopSignals
    from recallite_producer.service import ProducerService

STOP_SECONDS = 9.0
"""After a signal, for everything together."""
_WATCHER_STOP_SECONDS = 3.0
_LOOK_SECONDS = 2.0

logger = logging.getLogger("recallite_producer")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--verbose", action="store_true", help="a line on stderr for each indexing run")


def run(args: argparse.Namespace) -> int:
    from recallite.config import load_settings
    from recallite.work.dispatch import Dispatch
    from recallite.work.sqlite import SqliteQueue, queue_path
    from recallite_producer.embedded import Indexer, load_service
    from recallite_producer.lock import ProducerLock
    from recallite_producer.process import StopSignals, configure_logging
    from recallite_producer.service import ProducerService

    settings = load_settings(args.config)
    configure_logging(verbose=args.verbose)
    with ProducerLock(settings.state_dir, command="up"), StopSignals() as signals:
        queue = SqliteQueue(queue_path(settings.state_dir))
        indexer = Indexer(load_service(), settings, queue)
        producer = ProducerService(settings, Dispatch(queue, indexer, agents=settings.agent_ids))
        indexer.start()
        producer.start()
        code = _serve_until_stopped(signals, indexer, producer)
        queue.close()
    return code


def _serve_until_stopped(signals: StopSignals, indexer: Indexer, producer: ProducerService) -> int:
    from recallite_producer.process import end_now, exit_code

    while (number := signals.wait(_LOOK_SECONDS)) is None:
        indexer.keep_alive()
    stop_by = time.monotonic() + STOP_SECONDS
    # First the watcher: the changes that it still holds have to be in the queue.
    all_passed_on = producer.stop(_WATCHER_STOP_SECONDS)
    ended = indexer.stop(max(0.0, stop_by - time.monotonic()))
    logger.info("stopped")
    if not ended or producer.is_alive():
        logger.warning("some work did not end in time and was broken off; the next start goes on with it")
        end_now(exit_code(number, complete=False))
    return exit_code(number, complete=all_passed_on)
