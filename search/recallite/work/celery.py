"""Sending hints as Celery messages. The only module of the library that knows Celery, imported when used."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Collection
from functools import cached_property
from typing import TYPE_CHECKING, cast

from celery import Celery
from celery.exceptions import OperationalError as CeleryUnreachable
from kombu import Queue
from kombu.exceptions import OperationalError

from recallite.errors import QueueUnreachableError
from recallite.work.messages import COMPACT_TASK, LIVE, MAINTENANCE, QUEUE_OF, QUEUES, TASKS
from recallite.work.namespace import key_prefix
from recallite.work.queue import Errand

if TYPE_CHECKING:
    from redis import Redis

VISIBILITY_SECONDS = 600
"""An unacknowledged message is delivered again after this time; no task lasts longer than a fifth of it."""


def configure(app: Celery, *, namespace: str) -> Celery:
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
        task_routes={name: {"queue": QUEUE_OF[errand]} for errand, name in TASKS.items()},
        task_send_sent_event=True,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_transport_options={
            "visibility_timeout": VISIBILITY_SECONDS,
            "unacked_restore_interval": 10,
            "unacked_restore_throttle": 1,
            "queue_order_strategy": "priority",
            "global_keyprefix": key_prefix(namespace),
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

    def __init__(self, broker_url: str, redis: Callable[[], Redis], *, namespace: str) -> None:
        """`redis` gives a client of the same server, for looking at what waits."""
        self._broker_url = broker_url
        self._redis = redis
        self._namespace = namespace

    @cached_property
    def _app(self) -> Celery:
        app = Celery("recallite", broker=self._broker_url, set_as_current=False)
        return configure(app, namespace=self._namespace)

    def publish(self, agent: str, errand: Errand, *, after_seconds: float = 0.0) -> None:
        """Raises QueueUnreachableError when the broker does not take the message within some seconds."""
        self._send(TASKS[errand], agent, queue=QUEUE_OF[errand], after_seconds=after_seconds)

    def compact(self, agent: str) -> None:
        """Ask for the space that deleted text and vectors have left in an agent's index. Errors as `publish`."""
        self._send(COMPACT_TASK, agent, queue=MAINTENANCE)

    def _send(self, task: str, agent: str, *, queue: str, after_seconds: float = 0.0) -> None:
        try:
            self._app.send_task(
                task,
                kwargs={"agent": agent},
                queue=queue,
                ignore_result=True,
                countdown=min(after_seconds, 60.0) or None,
                retry=True,
                retry_policy={"max_retries": 3, "interval_start": 0.2, "interval_step": 0.5, "interval_max": 2.0},
            )
        except (OperationalError, CeleryUnreachable) as error:
            raise QueueUnreachableError(f"the broker takes no message: {type(error).__name__}") from error

    def on_the_way(self, errand: Errand) -> Collection[str]:
        """Read from the broker's own list, which holds at most one message for each agent."""
        from redis import RedisError

        try:
            messages = cast(
                "list[str]", self._redis().lrange(f"{key_prefix(self._namespace)}{QUEUE_OF[errand]}", 0, -1)
            )
        except RedisError as error:
            raise QueueUnreachableError(f"the broker does not answer: {type(error).__name__}") from error
        agents = {_agent_of(message, TASKS[errand]) for message in messages}
        return {agent for agent in agents if agent is not None}


def _agent_of(message: str, task: str) -> str | None:
    """None for a message that is none of this task's."""
    try:
        whole = json.loads(message)
        _, named, _ = json.loads(base64.b64decode(whole["body"]))
        return str(named["agent"]) if whole["headers"]["task"] == task else None
    except (ValueError, KeyError, TypeError):
        return None
