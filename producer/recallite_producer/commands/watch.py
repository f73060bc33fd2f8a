"""Watch the notes of all agents and tell the workers behind a broker what has changed.

The exit code is 0 after SIGTERM, 130 after Ctrl-C, 3 when changes could not be passed on before the end; the next
start finds those by a scan. 1 when another producer runs already.
"""

from __future__ import annotations

import argparse
import sys

STOP_SECONDS = 8.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--broker", metavar="URL", help="address of Redis (default: RECALLITE_BROKER_URL)")
    parser.add_argument("--verbose", action="store_true", help="more lines on stderr")


def run(args: argparse.Namespace) -> int:
    from recallite.config import load_settings
    from recallite.work.connect import broker_url, open_dispatch
    from recallite_producer.lock import ProducerLock
    from recallite_producer.process import EXIT_USAGE, StopSignals, configure_logging, end_now, exit_code
    from recallite_producer.service import ProducerService

    settings = load_settings(args.config)
    url = broker_url(args.broker)
    if url is None:
        print("recallite: no broker is set: give --broker or RECALLITE_BROKER_URL;", file=sys.stderr)
        print("without a broker `recallite up` watches and indexes in one process", file=sys.stderr)
        return EXIT_USAGE
    configure_logging(verbose=args.verbose)
    with ProducerLock(settings.state_dir, command="watch"), StopSignals() as signals:
        dispatch = open_dispatch(settings, url, agents=settings.agent_ids)
        producer = ProducerService(settings, dispatch)
        producer.start()
        while (number := signals.wait(60.0)) is None:
            pass
        complete = producer.stop(STOP_SECONDS)
        if producer.is_alive():
            end_now(exit_code(number, complete=False))
        dispatch.close()
    return exit_code(number, complete=complete)
