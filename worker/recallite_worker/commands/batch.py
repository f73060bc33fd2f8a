"""List an agent's batch jobs, or cancel some: `recallite batch list`, `recallite batch cancel ID …`.

A job that is cancelled keeps what it has delivered; its other texts are embedded by ordinary requests.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING

from recallite.cli.output import add_agent, add_json, print_json, visible
from recallite.wording import counted

if TYPE_CHECKING:
    from recallite.types import BatchJob


def add_arguments(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="list|cancel")
    listing = verbs.add_parser("list", help="jobs, open ones first")
    add_agent(listing)
    add_json(listing)
    cancel = verbs.add_parser("cancel", help="end jobs")
    add_agent(cancel)
    cancel.add_argument("jobs", nargs="+", metavar="ID", help="as `recallite batch list` shows it; or `all`")


def run(args: argparse.Namespace) -> int:
    from recallite.config import load_settings
    from recallite.index.batchfile import batch_path, batch_state

    settings = load_settings(args.config).agent(args.agent)
    state = batch_state(batch_path(settings.cache_path), now=time.time())
    if args.verb == "cancel":
        return _cancel(args, {str(job.id): job for job in state.jobs if job.finished is None})
    if args.json:
        print_json(state)
        return 0
    for job in state.jobs:
        print(visible(_line(job)))
    if not state.jobs:
        print(f"{settings.agent}: no batch jobs")
    if state.off_reason is not None:
        print(visible(f"no new jobs for some hours: {state.off_reason}"))
    return 0


def _line(job: BatchJob) -> str:
    at = time.strftime("%Y-%m-%d %H:%M", time.localtime(job.submitted or job.created))
    name = job.provider_id or "not submitted yet"
    reason = f" ({job.reason})" if job.reason else ""
    return f"{job.id}  {job.state:9}  {at}  {job.delivered} of {counted(job.texts, 'text')}  {name}{reason}"


def _cancel(args: argparse.Namespace, open_jobs: dict[str, BatchJob]) -> int:
    from recallite.config import load_settings
    from recallite.work.connect import broker_url, open_queue
    from recallite_worker.batch_poll import cancel_jobs

    settings = load_settings(args.config)
    wanted = list(open_jobs) if args.jobs == ["all"] else args.jobs
    unknown = [job for job in wanted if job not in open_jobs]
    for job in unknown:
        print(f"recallite: there is no open job {visible(job)}: see `recallite batch list`", file=sys.stderr)
    if unknown:
        return 1
    queue = open_queue(settings, broker_url())
    try:
        for job_id, outcome in cancel_jobs(settings.agent(args.agent), queue, [int(job) for job in wanted]):
            print(visible(f"{job_id}: {outcome}"))
    finally:
        queue.close()
    return 0
