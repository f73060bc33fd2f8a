"""From settings and a broker's address to the queue and the dispatch that go with them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol
from urllib.parse import parse_qsl, urlsplit

from recallite.errors import ConfigError
from recallite.work.dispatch import Dispatch
from recallite.work.messages import BROKER_FILE_VARIABLE, BROKER_VARIABLE
from recallite.work.namespace import namespace_of
from recallite.work.queue import WorkQueue
from recallite.work.sqlite import SqliteQueue, queue_path

if TYPE_CHECKING:
    from recallite.work.celery import CeleryPublisher
    from recallite.work.redis import RedisQueue


class HasStateDir(Protocol):
    """Settings, or an agent's settings."""

    @property
    def state_dir(self) -> Path: ...


_SCHEMES = ("redis://", "rediss://", "redis+socket://", "unix://")


def broker_url(given: str | None = None, *, env: Mapping[str, str] | None = None) -> str | None:
    """The broker to use: `given`, else RECALLITE_BROKER_URL, else the content of RECALLITE_BROKER_FILE, else none.

    Raises ConfigError for an address that is not one of Redis; the message does not show it, as it may hold a
    password.
    """
    env = os.environ if env is None else env
    url = given or env.get(BROKER_VARIABLE, "").strip()
    if not url and (file := env.get(BROKER_FILE_VARIABLE)):
        try:
            url = Path(file).read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            raise ConfigError(None, [f"{BROKER_FILE_VARIABLE}: {file} cannot be read: {why}"]) from error
    if url and not url.startswith(_SCHEMES):
        raise ConfigError(None, [f"the broker's address must begin with one of {', '.join(_SCHEMES)}"])
    if url and not _is_address(url):
        raise ConfigError(
            None, ["the broker's address cannot be parsed: write /, #, [ and ] of a password as %2F, %23, %5B and %5D"]
        )
    return url or None


def _is_address(url: str) -> bool:
    """Whether host, port and the number of the database can be read from it."""
    try:
        parts = urlsplit(url)
        database = dict(parse_qsl(parts.query)).get("virtual_host", "0")
        return (parts.port is None or parts.port > 0) and database.strip("/").isdecimal()
    except ValueError:
        return False


def open_queue(settings: HasStateDir, url: str | None) -> WorkQueue:
    """The queue in Redis when there is a broker, else the one in the state directory."""
    return SqliteQueue(queue_path(settings.state_dir)) if url is None else open_redis_queue(settings, url)


def open_redis_queue(settings: HasStateDir, url: str, *, only_looks: bool = False) -> RedisQueue:
    """The queue in Redis. `only_looks` gives up soon when nobody answers: for status and health checks."""
    from recallite.work.redis import RedisQueue

    return RedisQueue(redis_url(url), namespace=namespace_of(settings.state_dir), only_looks=only_looks)


def open_dispatch(settings: HasStateDir, url: str, *, agents: Sequence[str] = ()) -> Dispatch:
    """Marks in Redis, hints as Celery messages. Needs the extra `redis` of recallite.

    `agents` as of Dispatch: all that are configured.
    """
    return Dispatch(queue := open_redis_queue(settings, url), open_publisher(settings, url, queue), agents=agents)


def open_publisher(settings: HasStateDir, url: str, queue: RedisQueue) -> CeleryPublisher:
    """What sends hints. Needs the extra `redis` of recallite."""
    try:
        from recallite.work.celery import CeleryPublisher
    except ImportError as error:
        raise ConfigError(
            None, [f"a broker needs more packages ({error.name}): pip install 'recallite[redis]'"]
        ) from error
    return CeleryPublisher(url, lambda: queue.client, namespace=namespace_of(settings.state_dir))


def redis_url(url: str) -> str:
    """The broker's address for redis-py: they write the address of a socket in two ways."""
    if url.startswith("redis+socket://"):
        path, _, options = url.removeprefix("redis+socket://").partition("?")
        database = dict(pair.partition("=")[::2] for pair in options.split("&") if pair).get("virtual_host", "0")
        return f"unix://{path}?db={database}"
    return url
