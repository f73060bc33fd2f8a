"""The second half of a slice: vectors for the chunks that wait for one, after all text is written."""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
from collections.abc import Callable
from typing import Protocol

from recallite.config import AgentSettings, provider_base_url
from recallite.embeddings.choice import choose_fallback, choose_provider
from recallite.embeddings.options import ProviderOptions
from recallite.embeddings.protocol import Embedder, Space
from recallite.embeddings.registry import create_embedder
from recallite.errors import ProviderError, ProviderPausedError, ProviderTransientError
from recallite.index.connection import TROUBLE, SpaceRow
from recallite.work import WorkQueue
from recallite_worker.batches import Batching, open_batching
from recallite_worker.cache import EmbeddingCache
from recallite_worker.embedding import EmbeddingRun
from recallite_worker.failover import Failover
from recallite_worker.pacing import live_outage, note_outage, pace, pause_seconds
from recallite_worker.results import SyncProgress, SyncResult
from recallite_worker.store import IndexStore, get_meta, set_meta
from recallite_worker.vectors import VectorWriter

logger = logging.getLogger(__name__)

RETRY_SECONDS = 30.0
"""After a provider failed it is asked again."""
LONGEST_RETRY_SECONDS = 3600.0
"""The same where it refuses what is asked of it: each time costs, and only a change of the settings helps."""


class EmbedderFactory(Protocol):
    """Gives the embedder of an agent, or None and the reason for keyword search only."""

    def __call__(self, settings: AgentSettings) -> tuple[Embedder | None, str | None]: ...


def open_embedder(settings: AgentSettings) -> tuple[Embedder | None, str | None]:
    """The embedder that the settings ask for."""
    choice = choose_provider(settings)
    if choice.options is None:
        return None, choice.reason
    try:
        return create_embedder(choice.options), None
    except ProviderError as error:
        return None, str(error)


class VectorStage:
    """For one slice. What it did is added to the slice's result."""

    def __init__(
        self,
        settings: AgentSettings,
        queue: WorkQueue,
        store: IndexStore,
        result: SyncResult,
        progress: SyncProgress,
        observe: Callable[[SyncProgress], None],
    ) -> None:
        self.settings = settings
        self.queue = queue
        self.store = store
        self.result = result
        self.progress = progress
        self.observe = observe
        self.switched = False
        """The fallback has its turn from now on: the next slice begins with it."""
        self._failover = Failover(store, settings, queue)
        self._uses_fallback = False
        self._may_pass = True
        self._embedder: Embedder | None = None
        self._options: ProviderOptions | None = None

    def open(self, embedders: EmbedderFactory) -> Embedder | None:
        """The primary's, or the fallback's while that one has its turn; None leaves the reason in the result."""
        choice = choose_provider(self.settings)
        primary, reason = embedders(self.settings)
        if primary is not None:
            limit = self.settings.search.remote.daily_token_limit
            primary = pace(primary, choice.options, self.queue, daily_limit=limit)
        name = primary.provider if primary is not None else choice.provider or choice.requested
        opened = self._failover.open(primary, reason, name=name)
        used = choose_fallback(self.settings) if opened.is_fallback else choice
        self._uses_fallback = opened.is_fallback
        self._options = used.options if used is not None else None
        self._embedder = opened.embedder
        self.result.provider_reason = opened.reason
        return opened.embedder

    def note_address(self, provider: str) -> None:
        """A provider at a new address is taken to have the same model; say so once, unless the settings say it."""
        address = provider_base_url(self.settings, provider) or ""
        mark = f"{provider} {hashlib.sha256(address.encode()).hexdigest()[:16]}"
        before = get_meta(self.store.connection, "address")
        if before == mark:
            return
        with self.store.transaction() as connection:
            set_meta(connection, "address", mark)
        same_provider = before is not None and str(before).partition(" ")[0] == provider
        if same_provider and not self.settings.search.remote.same_model:
            logger.warning(
                "agent %s: the address of %s changed; its vectors are kept as of the same model. If another one "
                "answers there, change `model`; if it is the same, set remote.sameModel to true",
                self.settings.agent,
                provider,
            )

    def run(self, spaces: list[SpaceRow], *, stop: Callable[[], bool], after: int | None) -> None:
        """Embed what waits. `after`: only chunks with greater ids, as fresh edits do, which wait for no outage."""
        assert self._embedder is not None
        is_live = after is not None
        outage = live_outage(self._embedder, self.queue) if is_live else None
        if outage is not None:
            self.result.provider_reason = outage
            return
        with contextlib.ExitStack() as closing:
            cache = self._open_cache()
            if cache is not None:
                closing.callback(cache.close)
            batching = self._open_batching(self._embedder)
            if batching is not None:
                closing.callback(batching.close)
            for space in spaces:
                writer = VectorWriter(self.store, space)
                writer.fill_pending()
                self.progress.vectors_waiting = writer.pending_count()
                makes_jobs = not is_live and batching is not None and self._makes_jobs(batching)
                run = EmbeddingRun(writer, self._embedder, cache, stop=stop, on_progress=self._done,
                                   batching=batching, makes_jobs=makes_jobs)  # fmt: skip
                self._embed(run, after or 0)
                if batching is not None and makes_jobs and (not stop() or self.result.provider_reason is not None):
                    limit = self.settings.search.remote.daily_token_limit
                    dims = writer.space.dims or self._embedder.space.dims
                    self.result.jobs_made += batching.cut(dims=dims, max_tokens=limit)
                if self.result.provider_reason is not None:
                    break
            if cache is not None and batching is not None and not is_live and not stop():
                self._keep_leftovers(batching, cache)
            if cache is not None:
                cache.prune()

    def note_owed(self) -> None:
        """Let the queue know whether vectors wait, and whether to come back soon or when the provider may be back."""
        if self._embedder is None:
            return
        if self.result.vectors_in_batch:
            self.queue.owe(self.settings.agent, "batch")
        if self.result.vectors_waiting <= self.result.vectors_in_batch:
            self.queue.settle(self.settings.agent)
            self._note_trouble(None)
            return
        if self.result.provider_reason is not None and not self.switched:
            later = self._note_trouble(self.result.provider_reason)
            self.result.retry_after_seconds = later if self.result.pause_seconds is None else self.result.pause_seconds
        elif self.result.texts_embedded:
            self._note_trouble(None)
        self.queue.owe(self.settings.agent, seconds=self.result.retry_after_seconds or 0.0)

    def _note_trouble(self, reason: str | None) -> float:
        """Keep in the index why vectors wait, for status; when to ask again: later each time, if it cannot pass."""
        held = get_meta(self.store.connection, TROUBLE)
        before = json.loads(str(held)) if held is not None else None
        if reason is None:
            if before is not None:
                with self.store.transaction() as connection:
                    set_meta(connection, TROUBLE, None)
            return 0.0
        count = before["count"] + 1 if before is not None and not self._may_pass else 1
        with self.store.transaction() as connection:
            set_meta(connection, TROUBLE, json.dumps({"reason": reason, "count": count}))
        return float(min(LONGEST_RETRY_SECONDS, RETRY_SECONDS * 2 ** min(count - 1, 10)))

    def close(self) -> None:
        if self._embedder is not None:
            self._embedder.close()

    def _embed(self, run: EmbeddingRun, after: int) -> None:
        try:
            run.run(after=after)
        except ProviderError as error:
            self.result.provider_reason = f"{type(error).__name__}: {error}"
            self.result.pause_seconds = pause_seconds(error)
            note_outage(run.embedder, self.queue, error)
            logger.warning("agent %s: %s", self.settings.agent, error)
            if self._uses_fallback:
                self._failover.fallback_failed(error)
            else:
                self.switched = self._failover.failed(error)
            self._may_pass = isinstance(error, ProviderTransientError | ProviderPausedError)
        if run.tally.embedded and not self._uses_fallback and not self.switched:
            self._failover.served()
        self.result.texts_embedded += run.tally.embedded
        self.result.vectors_cached += run.tally.cached
        self.result.vectors_in_batch += run.tally.in_batch

    def _done(self, count: int) -> None:
        self.progress.vectors_done += count
        self.progress.vectors_waiting = max(0, self.progress.vectors_waiting - count)
        self.observe(self.progress)

    def _open_cache(self) -> EmbeddingCache | None:
        cache = self.settings.search.cache
        if not cache.enabled:
            return None
        return EmbeddingCache(self.settings.cache_path, max_entries=cache.max_entries)

    def _open_batching(self, embedder: Embedder) -> Batching | None:
        if self._options is None or self._options.provider != embedder.provider:
            return None
        return open_batching(self.settings, embedder.space, self._options)

    def _keep_leftovers(self, batching: Batching, cache: EmbeddingCache) -> None:
        """What a job gave for texts that are no longer in the index was paid for all the same."""
        own = self._embedder.space if self._embedder is not None else None
        left = batching.leftovers() if own is not None and self.result.provider_reason is None else {}
        if own is None or not left:
            return
        for dims in {len(vector) for vector in left.values()}:
            found = {hash_: vector for hash_, vector in left.items() if len(vector) == dims}
            cache.add(Space(own.provider, own.model, dims, own.variant), found)
        batching.forget(left)

    def _makes_jobs(self, batching: Batching) -> bool:
        if self._uses_fallback:
            return False
        if not self.settings.search.remote.batch.enabled or batching.off_reason() is not None:
            batching.release_unsent(self.queue)
            return False
        return True
