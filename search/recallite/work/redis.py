"""The queue of the distributed mode: a few keys per agent in Redis, changed by short scripts.

All keys of an agent share a hash tag. Marks are a sorted set whose integer score holds lane and generation.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from importlib.resources import files
from itertools import islice
from typing import TYPE_CHECKING, Any

from recallite.config.names import file_name
from recallite.errors import FencedError, LeaseHeldError, QueueUnreachableError
from recallite.work.holder import Holder
from recallite.work.namespace import KEY_PREFIX, key_prefix
from recallite.work.queue import ERRANDS, LANES, SLOT_SECONDS, Backlog, Debt, Errand, Lane, Lease, Mark, Pause

if TYPE_CHECKING:
    from redis import Redis
    from redis.commands.core import Script

LEASE_SECONDS = 30.0
SCHEDULED_SECONDS = 600
"""A message that was lost is forgotten after this time at the latest; the sweep notices it far sooner."""
TIMEOUT_SECONDS = 10.0
"""For an answer, twice: a disk that is busy with Redis' append-only file may take that long."""
LOOK_SECONDS = 2.0
"""The same for who only looks, once: status and health checks must say soon that nobody answers."""
_LANE_STEP = 1 << 52
_PATHS_PER_CALL = 500
_SPENDING_SECONDS = 3 * 24 * 3600


class RedisQueue:
    """A WorkQueue in Redis. May be shared by threads; connections are made anew after a fork."""

    def __init__(
        self, url: str, *, namespace: str = "", lease_seconds: float = LEASE_SECONDS, only_looks: bool = False
    ) -> None:
        """Connects when it is first used. `only_looks` gives up soon when the server does not answer.

        `namespace` is that of the state directory (recallite.work.namespace): what is noted for its agents is its
        own. Pauses and spending belong to provider accounts and are shared by all.
        """
        self._url = url
        self._lease_ms = int(lease_seconds * 1000)
        self._only_looks = only_looks
        self.prefix = key_prefix(namespace)

    @cached_property
    def client(self) -> Redis:
        from redis import Redis
        from redis.backoff import ExponentialWithJitterBackoff
        from redis.retry import Retry

        timeout = LOOK_SECONDS if self._only_looks else TIMEOUT_SECONDS
        return Redis.from_url(
            self._url,
            decode_responses=True,
            socket_timeout=timeout,
            socket_connect_timeout=min(timeout, 5.0),
            retry=Retry(ExponentialWithJitterBackoff(base=0.1, cap=1.0), 0 if self._only_looks else 1),
            health_check_interval=0 if self._only_looks else 25,
            client_name="recallite",
        )

    @cached_property
    def _scripts(self) -> dict[str, Script]:
        folder = files("recallite.work") / "lua"
        names = ("mark", "done", "lease", "renew", "release", "pause", "spend", "refund", "slot")
        return {name: self.client.register_script((folder / f"{name}.lua").read_text("utf-8")) for name in names}

    def mark(self, agent: str, paths: Iterable[str], *, lane: Lane = "live") -> None:
        keys = [self._key(agent, "generation"), self._key(agent, "dirty")]
        left = iter(paths)
        while lot := list(islice(left, _PATHS_PER_CALL)):
            # The agent is listed first: a mark without a listing would be seen by no sweep.
            self._call(self.client.sadd, f"{self.prefix}agents", agent)
            self._run("mark", keys, [LANES.index(lane), *lot])

    def backlog(self) -> list[Backlog]:
        found: list[tuple[float, Backlog]] = []
        for agent in sorted(self._call(self.client.smembers, f"{self.prefix}agents")):
            first = self._call(self.client.zrange, self._key(agent, "dirty"), 0, 0, withscores=True)
            if first:
                live = self.length(agent, lane="live")
                entry = Backlog(agent, live, self.length(agent) - live)
                found.append((float(first[0][1]), entry))
        return [entry for _, entry in sorted(found, key=lambda pair: (pair[0], pair[1].agent))]

    def lease(self, agent: str, *, at_least: int = 0) -> Lease:
        token = secrets.token_hex(8)
        keys = [self._key(agent, "lease"), self._key(agent, "epoch")]
        dead = ""
        for _ in range(2):
            answer = self._run("lease", keys, [token, str(Holder.current()), self._lease_ms, at_least, dead])
            if answer[0]:
                return Lease(agent, token, int(answer[1]))
            holder = Holder.parse(str(answer[2]))
            if holder.may_be_alive():
                break
            dead = str(answer[1])
        raise LeaseHeldError(f"agent {agent!r} is being indexed by {holder}")

    def renew(self, lease: Lease) -> None:
        if not self._run("renew", [self._key(lease.agent, "lease")], [lease.token, self._lease_ms]):
            raise FencedError(f"another writer has taken over agent {lease.agent!r}")

    def release(self, lease: Lease) -> None:
        self._run("release", [self._key(lease.agent, "lease")], [lease.token])

    def claim(self, agent: str, limit: int, *, lane: Lane | None = None) -> list[Mark]:
        low, high = _range(lane)
        key = self._key(agent, "dirty")
        rows = self._call(self.client.zrange, key, low, high, byscore=True, offset=0, num=limit, withscores=True)
        return [Mark(path, int(score), LANES[int(score) >= _LANE_STEP]) for path, score in rows]

    def done(self, agent: str, marks: Iterable[Mark]) -> None:
        left = iter(marks)
        while lot := list(islice(left, _PATHS_PER_CALL)):
            self._run("done", [self._key(agent, "dirty")], [v for mark in lot for v in (mark.path, mark.generation)])

    def length(self, agent: str | None = None, *, lane: Lane | None = None) -> int:
        if agent is None:
            return sum(b.count(lane) if lane else b.live + b.backfill for b in self.backlog())
        return int(self._call(self.client.zcount, self._key(agent, "dirty"), *_range(lane)))

    def owe(self, agent: str, debt: Debt = "vectors", *, seconds: float = 0.0) -> None:
        self._call(self.client.zadd, f"{self.prefix}owed:{debt}", {agent: time.time() + seconds})

    def settle(self, agent: str, debt: Debt = "vectors") -> None:
        self._call(self.client.zrem, f"{self.prefix}owed:{debt}", agent)

    def owed(self, debt: Debt = "vectors") -> list[str]:
        key = f"{self.prefix}owed:{debt}"
        return list(self._call(self.client.zrange, key, "-inf", time.time(), byscore=True))

    def forget(self, agent: str) -> None:
        self.settle(agent)
        self.settle(agent, "batch")
        keys = [self._key(agent, name) for name in ("dirty", *(f"scheduled:{errand}" for errand in ERRANDS))]
        self._call(self.client.delete, *keys)
        self._call(self.client.srem, f"{self.prefix}agents", agent)

    def schedule(self, agent: str, errand: Errand) -> bool:
        key = self._key(agent, f"scheduled:{errand}")
        return bool(self._call(self.client.set, key, int(time.time()), nx=True, ex=SCHEDULED_SECONDS))

    def scheduled(self, agent: str, errand: Errand) -> None:
        self._call(self.client.set, self._key(agent, f"scheduled:{errand}"), int(time.time()), ex=SCHEDULED_SECONDS)

    def started(self, agent: str, errand: Errand) -> None:
        self._call(self.client.delete, self._key(agent, f"scheduled:{errand}"))

    def holder(self, agent: str) -> str | None:
        held_by = self._call(self.client.hget, self._key(agent, "lease"), "holder")
        return str(held_by) if held_by is not None and Holder.parse(str(held_by)).may_be_alive() else None

    def is_new(self) -> bool:
        return not self._call(self.client.exists, f"{self.prefix}known")

    def known(self) -> None:
        self._call(self.client.set, f"{self.prefix}known", int(time.time()))

    def pause(self, key: str, seconds: float, reason: str) -> None:
        self._run("pause", [f"{KEY_PREFIX}pause:{key}"], [time.time() + seconds, reason, max(1, int(seconds * 1000))])

    def paused(self, key: str) -> Pause | None:
        said = self._call(self.client.hgetall, f"{KEY_PREFIX}pause:{key}")
        return Pause(float(said["until"]), said["reason"]) if said else None

    def spend(self, key: str, day: str, tokens: int, *, limit: int) -> bool:
        assert tokens >= 0, tokens
        return bool(self._run("spend", [f"{KEY_PREFIX}spent:{key}:{day}"], [tokens, limit, _SPENDING_SECONDS]))

    def refund(self, key: str, day: str, tokens: int) -> None:
        assert tokens >= 0, tokens
        self._run("refund", [f"{KEY_PREFIX}spent:{key}:{day}"], [tokens])

    def spent(self, key: str, day: str) -> int:
        return int(self._call(self.client.get, f"{KEY_PREFIX}spent:{key}:{day}") or 0)

    def take_slot(self, key: str, token: str, *, limit: int) -> bool:
        return bool(self._run("slot", [f"{KEY_PREFIX}slots:{key}"], [token, limit, time.time(), SLOT_SECONDS]))

    def keep_slot(self, key: str, token: str) -> None:
        self._call(self.client.zadd, f"{KEY_PREFIX}slots:{key}", {token: time.time() + SLOT_SECONDS})

    def free_slot(self, key: str, token: str) -> None:
        self._call(self.client.zrem, f"{KEY_PREFIX}slots:{key}", token)

    def slots(self, key: str) -> int:
        return int(self._call(self.client.zcount, f"{KEY_PREFIX}slots:{key}", time.time(), "+inf"))

    def beat(self, worker: str, said: dict[str, str | int], *, seconds: int) -> None:
        """Let a worker say that it lives; forgotten after `seconds`."""
        key = f"{self.prefix}worker:{worker}"
        self._call(self.client.hset, key, mapping=said)
        self._call(self.client.expire, key, seconds)

    def heartbeats(self) -> Iterator[tuple[str, dict[str, str]]]:
        """What living workers last said of themselves, by name."""
        for key in sorted(self._call(lambda: list(self.client.scan_iter(f"{self.prefix}worker:*")))):
            said = self._call(self.client.hgetall, key)
            if said:
                yield key.removeprefix(f"{self.prefix}worker:"), said

    def close(self) -> None:
        if "client" in self.__dict__:
            self.client.close()

    def _run(self, script: str, keys: list[str], arguments: list[Any]) -> Any:
        return self._call(lambda: self._scripts[script](keys=keys, args=arguments))

    def _key(self, agent: str, name: str) -> str:
        return f"{self.prefix}{{{file_name(agent)}}}:{name}"

    def _call(self, command: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Any: what a command answers depends on the command alone, and redis-py cannot type it."""
        from redis import RedisError

        try:
            return command(*arguments, **options)
        except RedisError as error:
            raise QueueUnreachableError(f"Redis does not answer: {type(error).__name__}") from error


def _range(lane: Lane | None) -> tuple[str, str]:
    """The scores of a lane, as Redis writes ranges."""
    if lane is None:
        return "-inf", "+inf"
    return ("-inf", f"({_LANE_STEP}") if lane == "live" else (str(_LANE_STEP), "+inf")
