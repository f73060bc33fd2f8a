"""The tasks: names, and a line each. What they do is in `jobs`."""

from __future__ import annotations

from typing import Any

from celery import Celery

from recallite.work.messages import COMPACT_TASK, MAINTENANCE, TASKS
from recallite_worker.jobs import Jobs


def register(app: Celery, jobs: Jobs) -> None:
    """Make the tasks known to an application. Messages hold ids only."""

    def live(task: Any, **payload: object) -> str:
        return jobs.sync("live", payload, report=lambda text: task.send_event("task-progress", result=text))

    def backfill(task: Any, **payload: object) -> str:
        return jobs.sync("backfill", payload, report=lambda text: task.send_event("task-progress", result=text))

    def poll(task: Any, **payload: object) -> str:
        return jobs.poll(payload)

    def compact(task: Any, **payload: object) -> None:
        jobs.compact(payload)

    app.task(live, name=TASKS["live"], bind=True)
    app.task(backfill, name=TASKS["backfill"], bind=True)
    app.task(poll, name=TASKS["batch"], bind=True)
    app.task(compact, name=COMPACT_TASK, bind=True, queue=MAINTENANCE)
