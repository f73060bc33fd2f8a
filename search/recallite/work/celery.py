"""Sending hints as Celery messages. The only module of the library that knows Celery, imported when used."""

from __future__ import annotations

from functools import cached_property

from celery import Celery
from celery.exceptions import OperationalError as CeleryUnreachable
from kombu import Queue
from kombu.exceptions import OperationalError

from recallite.errors import QueueUnreachableError
from recallite.work.messages import KEY_PREFIX, LIVE, QUEUES, SYNC_TASKS
from recallite.work.queue import Lane

VISIBILITY_SECONDS = 600
"""An unacknowledged message is delivered again after this time; no task lasts longer than a fifth of it."""


def configure(app: Celery) -> Celery:
    """Settings that senders and workers must share, or they would not meet."""
    app.conf.update(
        task_serializer="json",
        result_serializer="json",
        event_serializer="json",
        accept_content=["json"],
        result_accept_content=["json"],
        task_ignore_result=True,
        task_default_queue=LIVE,
        task_create_missing_queues=False,
        task_queues=[Queue(name) for name in QUEUES],
        task_routes={name: {"queue": name.split(".")[1]} for name in SYNC_TASKS.values()},
        task_send_sent_event=True,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_transport_options={
            "visibility_timeout": VISIBILITY_SECONDS,
            "unacked_restore_interval": 10,
            "unacked_restore_throttle": 1,
            "queue_order_strategy": "priority",
            "global_keyprefix": KEY_PREFIX,
            "socket_timeout": 30,
            "socket_connect_timeout": 5,
            "socket_keepalive": True,
            "health_check_interval": 25,
            "client_name": "recallite",
        },
    )
    return app


class CeleryPublisher:
    """A Publisher over a Celery broker."""

    def __init__(self, broker_url: str) -> None:
        self._broker_url = broker_url

    @cached_property
    def _app(self) -> Celery:
        return configure(Celery("recallite", broker=self._broker_url, set_as_current=False))

    def publish(self, agent: str, lane: Lane, *, after_seconds: float = 0.0) -> None:
        """Raises QueueUnreachableError when the broker does not take the message within some seconds."""
        try:
            self._app.send_task(
                SYNC_TASKS[lane],
                kwargs={"agent": agent},
                queue=lane,
                ignore_result=True,
                countdown=min(after_seconds, 60.0) or None,
                retry=True,
                retry_policy={"max_retries": 3, "interval_start": 0.2, "interval_step": 0.5, "interval_max": 2.0},
            )
        except (OperationalError, CeleryUnreachable) as error:
            raise QueueUnreachableError(f"the broker takes no message: {type(error).__name__}") from error

    def waiting(self, lane: Lane) -> int:
        try:
            with self._app.connection_for_read() as connection, connection.channel() as channel:
                return int(channel._size(lane))
        except (OperationalError, CeleryUnreachable) as error:
            raise QueueUnreachableError(f"the broker does not answer: {type(error).__name__}") from error
