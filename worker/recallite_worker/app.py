"""The Celery application of the workers: settings, tasks, heartbeat."""

from __future__ import annotations

import os
from pathlib import Path

from celery import Celery

from recallite.work.celery import VISIBILITY_SECONDS, configure
from recallite_worker import guard
from recallite_worker.heartbeat import Heartbeat
from recallite_worker.jobs import Jobs
from recallite_worker.tasks import register

SOFT_LIMIT_SECONDS, HARD_LIMIT_SECONDS = 60, 120
"""For prefork pools; a slice takes 5 s, a request to a provider at most its time-out. Far below the visibility."""
SOFT_SHUTDOWN_SECONDS = 20.0
MAX_TRIES_AFTER_LOST_WORKER = 2

assert HARD_LIMIT_SECONDS * 5 <= VISIBILITY_SECONDS


def make_app(broker: str, *, namespace: str, config: str | Path | None = None) -> Celery:
    """The application for `celery worker` and Flower. Reads no settings and connects to nothing yet.

    `namespace` is that of the state directory, as recallite.work.namespace gives it.
    """
    guard.install()
    app = configure(Celery("recallite", broker=broker, set_as_current=False), namespace=namespace)
    app.conf.update(
        task_acks_late=True,
        task_reject_on_worker_lost=True,
        task_retry_on_worker_lost=True,
        task_annotations={"*": {"max_retries": MAX_TRIES_AFTER_LOST_WORKER, "default_retry_delay": 5}},
        task_soft_time_limit=SOFT_LIMIT_SECONDS,
        task_time_limit=HARD_LIMIT_SECONDS,
        worker_send_task_events=True,
        worker_prefetch_multiplier=1,
        worker_disable_prefetch=True,
        worker_soft_shutdown_timeout=SOFT_SHUTDOWN_SECONDS,
        worker_enable_soft_shutdown_on_idle=False,
        worker_cancel_long_running_tasks_on_connection_loss=True,
        worker_hijack_root_logger=False,
        worker_proc_alive_timeout=30,
        worker_max_memory_per_child=600_000,
    )
    jobs = Jobs(broker, config=config or os.environ.get("OPENCLAW_CONFIG_PATH"))
    register(app, jobs)
    Heartbeat(jobs).connect()
    return app
