"""Names that producers and workers share: queues, tasks, and what a message holds (ids, never text)."""

from __future__ import annotations

from recallite.work.queue import Errand

LIVE, BACKFILL, MAINTENANCE = "live", "backfill", "maintenance"
QUEUES = (LIVE, BACKFILL, MAINTENANCE)

TASKS: dict[Errand, str] = {
    "live": "recallite.live.sync_agent",
    "backfill": "recallite.backfill.sync_agent",
    "batch": "recallite.batch.poll",
}
QUEUE_OF: dict[Errand, str] = {"live": LIVE, "backfill": BACKFILL, "batch": MAINTENANCE}
COMPACT_TASK = "recallite.maintenance.compact_agent"

BROKER_VARIABLE = "RECALLITE_BROKER_URL"
BROKER_FILE_VARIABLE = "RECALLITE_BROKER_FILE"
"""A file that holds the broker's URL: for container secrets."""
