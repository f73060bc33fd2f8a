"""One provider account, many workers: pauses and a day's budget that hold for all of them."""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from recallite.embeddings.deadline import DeadlineError
from recallite.embeddings.options import ProviderOptions
from recallite.embeddings.protocol import Embedder, Kind, Limits, RawVector, Space
from recallite.errors import (
    ProviderError,
    ProviderPausedError,
    ProviderTransientError,
    QuotaExceededError,
    RateLimitedError,
)
from recallite.work import WorkQueue
from recallite_worker.chunking import UNITS_PER_TOKEN, estimated_units

logger = logging.getLogger(__name__)

LONGEST_WAIT_SECONDS = 3.0
"""A pause up to this long is sat out; a longer one ends the slice, so that other agents are served."""
DEFAULT_PAUSE_SECONDS = 20.0
"""After a 429 that does not say how long."""
QUOTA_PAUSE_SECONDS = 3600.0
OUTAGE_PAUSE_SECONDS = 20.0
"""After a time-out or an unreachable provider: until then slices write text and leave the vectors waiting."""


def account_key(options: ProviderOptions) -> str:
    """Names a provider account without telling its key: workers with the same key share pauses and budgets."""
    secret = f"{options.api_key or ''}|{options.base_url or ''}"
    return f"{options.provider}-{hashlib.sha256(secret.encode()).hexdigest()[:12]}"


_QUOTA = "the account's quota is used up"

UNPACED = ("builtin", "local", "test")
"""Providers that run in this process: nobody asks them to slow down."""


def pace(
    embedder: Embedder, options: ProviderOptions | None, queue: WorkQueue, *, daily_limit: int | None = None
) -> Embedder:
    """The embedder as all workers together may use it. `options` are what it was made of."""
    if options is None or options.provider != embedder.provider or embedder.provider in UNPACED:
        return embedder
    return PacedEmbedder(embedder, queue, account_key(options), daily_limit=daily_limit)


def note_outage(embedder: Embedder, queue: WorkQueue, error: ProviderError) -> None:
    """Remember a provider that hangs, is down or cannot be reached, so that fresh edits do not wait for it."""
    if isinstance(embedder, PacedEmbedder) and isinstance(error, ProviderTransientError):
        queue.pause(f"outage-{embedder.account}", OUTAGE_PAUSE_SECONDS, str(error))


def pause_seconds(error: ProviderError) -> float | None:
    """For how long the provider is left alone, where the error says that it asked to slow down."""
    if isinstance(error, RateLimitedError):
        return error.retry_after_seconds or DEFAULT_PAUSE_SECONDS
    return error.seconds if isinstance(error, ProviderPausedError) else None


def live_outage(embedder: Embedder, queue: WorkQueue) -> str | None:
    """Why a slice of fresh edits should leave its vectors to the other lane, or None."""
    pause = queue.paused(f"outage-{embedder.account}") if isinstance(embedder, PacedEmbedder) else None
    return f"{pause.reason} (vectors follow)" if pause is not None else None


class PacedEmbedder:
    """An Embedder that obeys what any worker was told: 429, an empty account, the day's limit."""

    def __init__(
        self,
        embedder: Embedder,
        queue: WorkQueue,
        key: str,
        *,
        daily_limit: int | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._embedder = embedder
        self._queue = queue
        self.account = key
        """Names the provider's account without its key."""
        self._daily_limit = daily_limit
        self._sleep = sleep

    @property
    def provider(self) -> str:
        return self._embedder.provider

    @property
    def space(self) -> Space:
        return self._embedder.space

    @property
    def limits(self) -> Limits:
        """The embedder's; no request may be larger than what may be spent in a day."""
        limits, day = self._embedder.limits, self._daily_limit
        if day is None or day >= limits.max_request_tokens:
            return limits
        if day >= limits.max_input_tokens:
            return replace(limits, max_request_tokens=day)
        return replace(limits, max_items=1)  # no text is split for its price

    def embed(self, texts: Sequence[str], *, kind: Kind) -> list[RawVector]:
        """As the embedder's. Raises ProviderPausedError without asking while a long pause holds."""
        self._wait()
        with self._budget(texts):
            try:
                return self._embedder.embed(texts, kind=kind)
            except RateLimitedError as error:
                self._queue.pause(self.account, pause_seconds(error) or 0.0, "the provider asks to slow down (429)")
                raise
            except QuotaExceededError:
                self._queue.pause(self.account, QUOTA_PAUSE_SECONDS, _QUOTA)
                raise

    def _wait(self) -> None:
        pause = self._queue.paused(self.account)
        if pause is None:
            return
        left = pause.until - time.time()
        if left > LONGEST_WAIT_SECONDS:
            until = time.strftime("%H:%M:%S", time.localtime(pause.until))
            said = f"{self.provider} is left alone until {until}: {pause.reason}"
            for_quota = pause.reason == _QUOTA
            raise ProviderPausedError(said, for_quota=for_quota, seconds=None if for_quota else left)
        if left > 0:
            self._sleep(left)

    @contextmanager
    def _budget(self, texts: Sequence[str]) -> Iterator[None]:
        """Counts before the request, so that workers together stay below the limit; takes it back if it failed."""
        if self._daily_limit is None:
            yield
            return
        tokens, day = sum(_tokens(text) for text in texts), today()
        if not self._queue.spend(self.account, day, tokens, limit=self._daily_limit):
            raise ProviderPausedError(self._refusal(tokens))
        try:
            yield
        except DeadlineError:
            raise  # the provider may have done the work, and bill it
        except ProviderError:
            self._queue.refund(self.account, day, tokens)
            raise

    def _refusal(self, tokens: int) -> str:
        limit = self._daily_limit
        if tokens > (limit or 0):
            return f"remote.dailyTokenLimit ({limit}) is below the {tokens} tokens of one text: raise it"
        return f"remote.dailyTokenLimit ({limit}) is reached; embedding goes on tomorrow (UTC)"

    def close(self) -> None:
        self._embedder.close()


def _tokens(text: str) -> int:
    return -(-estimated_units(text) // UNITS_PER_TOKEN)


def today() -> str:
    """The day that a budget is counted for, in UTC: all hosts agree on it."""
    return time.strftime("%Y-%m-%d", time.gmtime())
