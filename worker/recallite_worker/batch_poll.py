"""Moving an agent's batch jobs on, a step at a time: upload, submit, look, take in.

May be killed at any moment, and run by several at once: one holds the lease, and what a job may do next stands in
its row. Submitting is the only step that costs. Who does it claims the row first; where nobody knows how a claimed
submission ended, the provider is asked for a job of that name before another is submitted.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice

from recallite.config import AgentSettings
from recallite.embeddings.batches import BatchApi, JobLook, LineResult
from recallite.embeddings.checks import BadVector, check_vectors
from recallite.embeddings.choice import choose_fallback, choose_provider
from recallite.embeddings.options import ProviderOptions
from recallite.embeddings.registry import create_batches, create_embedder
from recallite.errors import (
    LeaseHeldError,
    ProviderError,
    ProviderTransientError,
    ProviderUnavailableError,
    RateLimitedError,
)
from recallite.index.batchfile import JobState, batch_path
from recallite.wording import counted
from recallite.work import WorkQueue
from recallite_worker.batch_store import BatchStore, Job, open_store
from recallite_worker.batches import options_for, space_key
from recallite_worker.leases import LeaseKeeper
from recallite_worker.pacing import DEFAULT_PAUSE_SECONDS, today

logger = logging.getLogger(__name__)

GRACE_SECONDS = 60.0
"""How long a submission that nobody saw the end of may still arrive at the provider."""
LONGEST_LOOK_SECONDS = 60.0
NO_SLOT_SECONDS = 10.0
UNASKED_SECONDS = 600.0
"""Until a job is tried again whose provider cannot be asked."""
LIMIT_SECONDS = 600.0
"""While the day's tokens are spent."""
MOST_ATTEMPTS = 8
"""Failures of upload or submission that may pass, until the texts are embedded without a batch."""
MOST_ATTEMPTS_PAID = 40
"""The same for looking at a job that was submitted: over half an hour of failures, one after the other."""
MOST_AGE_SECONDS = 2 * 86_400.0
_GROWTH = 1.5
_LINES = 500

ApiFactory = Callable[[ProviderOptions], BatchApi | None]


@dataclass(frozen=True, slots=True)
class Poll:
    """What a look at an agent's jobs did."""

    open_jobs: int = 0
    delivered: int = 0
    """Vectors that came, for the index to take."""
    freed: int = 0
    """Texts that their job did not give, for ordinary requests."""
    next_seconds: float | None = None
    """When to look again; None when nothing is open that can be looked at."""
    unasked: int = 0
    """Open jobs whose provider cannot be asked now."""


def poll_agent(
    settings: AgentSettings,
    queue: WorkQueue,
    *,
    create: ApiFactory = create_batches,
    grace_seconds: float = GRACE_SECONDS,
) -> Poll:
    """Take each open job as far as it goes now. Raises LeaseHeldError while another process does so."""
    path = batch_path(settings.cache_path)
    if not path.exists():
        queue.settle(settings.agent, "batch")
        return Poll()
    lease = queue.lease(f"{settings.agent}/batch")
    with LeaseKeeper(queue, lease), open_store(path) as store:
        result = _Poller(settings, queue, store, create, grace_seconds).run()
    if result.next_seconds is not None:
        queue.owe(settings.agent, "batch", seconds=result.next_seconds)
    elif result.unasked:
        queue.owe(settings.agent, "batch", seconds=UNASKED_SECONDS)
    else:
        queue.settle(settings.agent, "batch")
    if result.delivered or result.freed:
        queue.owe(settings.agent)
    return result


def open_jobs(settings: AgentSettings) -> list[Job]:
    """The agent's jobs that are not over."""
    path = batch_path(settings.cache_path)
    if not path.exists():
        return []
    with open_store(path) as store:
        return store.open_jobs()


class _Poller:
    """Each job with the model that it was made for, and with the key of today."""

    def __init__(
        self, settings: AgentSettings, queue: WorkQueue, store: BatchStore, create: ApiFactory, grace: float
    ) -> None:
        self._settings = settings
        self._config = settings.search.remote.batch
        self._queue = queue
        self._store = store
        self._create = create
        self._grace = grace
        self._apis: dict[str, BatchApi | None] = {}
        choices = (choose_provider(settings), choose_fallback(settings))
        self._options = [c.options for c in choices if c is not None and c.options is not None]
        self._delivered = self._freed = self._unasked = 0

    def run(self) -> Poll:
        waits: list[float] = []
        wanted = self._wanted_spaces()
        jobs = self._store.open_jobs()
        for job in jobs:  # first of all, should the queue have lost its memory
            if job.state in ("creating", "running"):
                self._queue.keep_slot(job.account, job.name)
        try:
            for job in jobs:
                if job.state in ("planned", "uploaded") and wanted is not None and job.space not in wanted:
                    self._drop(job)
                elif (api := self._api(job.space)) is None:
                    self._put_off(job)
                elif (wait := self._guarded(api, job)) is not None:
                    waits.append(wait)
        finally:
            for found in self._apis.values():
                if found is not None:
                    found.close()
        left = len(self._store.open_jobs())
        return Poll(left, self._delivered, self._freed, min(waits) if waits and left else None, self._unasked)

    def cancel(self, job: Job) -> str:
        """End a job, and say how."""
        if self._store.drop_unsent(job, "by hand", forget=False):
            self._queue.free_slot(job.account, job.name)
            return "cancelled before it was submitted"
        api = self._api(job.space)
        if job.provider_id is None or api is None:
            return "cannot be cancelled now: try again in a minute"
        try:
            api.cancel(job.provider_id)
        except ProviderError as error:
            return f"not cancelled: {error}"
        self._store.look_later(job, 0.0)
        return "the provider was asked to end it; what it has done is kept"

    def _api(self, space: str) -> BatchApi | None:
        """The service for the jobs of a space; None while its provider cannot be used."""
        if space not in self._apis:
            options = options_for(space, self._options)
            self._apis[space] = self._create(options) if options is not None else None
        return self._apis[space]

    def _wanted_spaces(self) -> set[str] | None:
        """The spaces that the settings ask for now; None when no provider can be used, which may be for a moment."""
        wanted = set()
        for options in self._options:
            with contextlib.suppress(ProviderError):
                embedder = create_embedder(options)
                wanted.add(space_key(embedder.space, options))
                embedder.close()
        return wanted or None

    def _drop(self, job: Job) -> None:
        """A job that costs nothing yet, for a model that is not asked for any more."""
        if self._store.drop_unsent(job, "the settings ask for another model now", forget=True):
            self._queue.free_slot(job.account, job.name)

    def _put_off(self, job: Job) -> None:
        """A job that was paid for waits until its provider can be asked again."""
        self._unasked += 1
        self._store.look_later(job, 0.0, reason="its provider is not configured, or has no key, now")

    def _guarded(self, api: BatchApi, job: Job) -> float | None:
        """Seconds until the job wants to be looked at again; None when it is over."""
        try:
            return self._step(api, job)
        except ProviderTransientError as error:
            return self._retry(job, error)
        except ProviderError as error:
            if job.state in ("creating", "running") and job.attempts + 1 < MOST_ATTEMPTS_PAID:
                # It was paid for: a key that was refused may be replaced, a gateway may have its 404 for itself.
                return self._retry(job, error)
            self._fail(job, error)
            return None

    def _step(self, api: BatchApi, job: Job) -> float | None:
        now = time.time()
        if (pause := self._queue.paused(job.account)) is not None:
            return max(0.0, pause.until - now)
        if job.state == "running":
            return self._look(api, job) if job.next_look <= now else job.next_look - now
        if job.next_look > now:
            return job.next_look - now
        if job.state == "creating":
            return self._recover(api, job, now)
        if not self._queue.take_slot(job.account, job.name, limit=self._config.concurrency):
            return NO_SLOT_SECONDS
        if job.state == "planned":
            lines = (api.line(hash_.hex(), text) for hash_, text in self._store.texts(job))
            self._store.uploaded(job, api.upload(job.name, lines))
        current = self._store.job(job.id)
        if current is None:  # it was given up meanwhile
            self._queue.free_slot(job.account, job.name)
            return None
        return self._submit(api, current)

    def _submit(self, api: BatchApi, job: Job) -> float | None:
        if not self._spend(job):
            limit = self._settings.search.remote.daily_token_limit
            self._queue.free_slot(job.account, job.name)
            self._store.look_later(job, LIMIT_SECONDS, reason=f"remote.dailyTokenLimit ({limit}) is reached")
            return LIMIT_SECONDS
        claim = self._store.claim(job)
        if claim is None or job.file is None:
            self._refund(job)
            return self._grace
        try:
            provider_id = api.create(job.name, job.file)
        except ProviderTransientError:
            raise  # it may have arrived: the row stays claimed, and the next look asks the provider
        except ProviderError:
            self._store.unclaim(job, claim)
            self._refund(job)
            raise
        if not self._store.submitted(job, provider_id, claim=claim):
            # This process was paused for longer than the grace, and another one has submitted it meanwhile.
            logger.warning("agent %s: a batch job was submitted twice; one is cancelled", self._settings.agent)
            with contextlib.suppress(ProviderError):  # the other one goes on, whatever becomes of this one
                api.cancel(provider_id)
            return self._pause(0)
        logger.info(
            "agent %s: batch job %s with %s is submitted", self._settings.agent, provider_id, counted(job.items, "text")
        )
        return self._pause(0)

    def _spend(self, job: Job) -> bool:
        """Count a job against the day's limit of its account; a job above it is let through, or it would never go."""
        limit = self._settings.search.remote.daily_token_limit
        return limit is None or self._queue.spend(job.account, today(), min(job.tokens, limit), limit=limit)

    def _refund(self, job: Job) -> None:
        limit = self._settings.search.remote.daily_token_limit
        if limit is not None:
            self._queue.refund(job.account, today(), min(job.tokens, limit))

    def _recover(self, api: BatchApi, job: Job, now: float) -> float | None:
        age = now - (job.claimed or 0.0)
        if age < self._grace:
            return self._grace - age
        found = api.find(job.name)
        if found is None:
            self._refund(job)
            self._store.reopen(job)
        else:
            self._store.submitted(job, found, claim=None)
        return 0.0

    def _look(self, api: BatchApi, job: Job) -> float | None:
        assert job.provider_id is not None
        look = api.look(job.provider_id)
        if look.outcome == "running" and time.time() - (job.submitted_at or 0.0) > MOST_AGE_SECONDS:
            self._give_up(api, job, look)
            return None
        if look.outcome == "running":
            wait = self._pause(job.looks)
            self._store.look_later(job, wait)
            return wait
        faults = [fault for file in look.files if (fault := self._take(job, api.read(file))) is not None]
        self._close_job(job, look, fault=faults[0] if faults else None)
        for used in (*look.files, job.file):
            if used:
                with contextlib.suppress(ProviderError):
                    api.discard(used)
        return None

    def _give_up(self, api: BatchApi, job: Job, look: JobLook) -> None:
        """No service takes longer than a day: one that never says that it has ended may not know the model."""
        with contextlib.suppress(ProviderError):
            api.cancel(str(job.provider_id))
        days = MOST_AGE_SECONDS / 86_400
        self._close_job(job, JobLook("expired", (), look.reason or f"not done after {days:g} days: check the model"))

    def _take(self, job: Job, results: Iterable[LineResult]) -> str | None:
        """Keep what is good; all else is tried again without a batch. What was wrong with a vector, if one was."""
        fault = None
        left = iter(results)
        while part := list(islice(left, _LINES)):
            with_vector = [line for line in part if line.vector is not None]
            checked = check_vectors([line.vector for line in with_vector], expected=len(with_vector), dims=job.dims)
            good = {
                key: vector
                for line, vector in zip(with_vector, checked, strict=True)
                if not isinstance(vector, BadVector) and (key := _key(line.key)) is not None
            }
            bad = [result.reason for result in checked if isinstance(result, BadVector)]
            fault = fault or next(iter(bad), None)
            self._delivered += self._store.deliver(job, good)
        return fault

    def _close_job(self, job: Job, look: JobLook, *, fault: str | None = None) -> None:
        left = self._end(job, look.outcome, look.reason)
        if look.outcome == "done" and left < job.items:
            self._store.note_success(job.space)
        elif look.outcome == "done":
            self._store.note_failure(job.space, f"a batch job gave no vector that can be used: {fault or 'none came'}")
        elif look.outcome != "cancelled":
            why = f" ({look.reason})" if look.reason else ""
            self._store.note_failure(job.space, f"a batch job {look.outcome}{why}")

    def _end(self, job: Job, state: JobState, reason: str | None) -> int:
        # The slot first: a crash in between finds the job open, and ends it again.
        self._queue.free_slot(job.account, job.name)
        left = self._store.finish(job, state, reason)
        self._freed += left
        logger.info(
            "agent %s: a batch job is %s; %s left", self._settings.agent, state, counted(left, "text is", "texts are")
        )
        return left

    def _fail(self, job: Job, error: ProviderError) -> None:
        logger.warning("agent %s: batch job: %s", self._settings.agent, error)
        self._end(job, "failed", str(error))
        self._store.note_failure(job.space, str(error), at_once=isinstance(error, ProviderUnavailableError))

    def _retry(self, job: Job, error: ProviderError) -> float | None:
        if job.attempts + 1 >= MOST_ATTEMPTS and job.state in ("planned", "uploaded"):
            self._fail(job, error)
            return None
        wait = max(self._pause(job.attempts), 1.0)
        if isinstance(error, RateLimitedError):  # for all who use the account
            wait = max(wait, error.retry_after_seconds or DEFAULT_PAUSE_SECONDS)
            self._queue.pause(job.account, wait, "the provider asks to slow down (429)")
        self._store.look_later(job, wait, reason=str(error), failed=True)
        return wait

    def _pause(self, turns: int) -> float:
        """Longer each time: a job takes minutes at least, and hours as a rule."""
        shortest = self._config.poll_interval_ms / 1000
        return min(max(LONGEST_LOOK_SECONDS, shortest), shortest * _GROWTH ** min(turns, 30))


def cancel_jobs(
    settings: AgentSettings, queue: WorkQueue, ids: Iterable[int], *, create: ApiFactory = create_batches
) -> list[tuple[int, str]]:
    """Ask the provider to end jobs; what became of each, in words. Raises LeaseHeldError as `poll_agent`."""
    wanted = set(ids)
    lease = queue.lease(f"{settings.agent}/batch")
    with LeaseKeeper(queue, lease), open_store(batch_path(settings.cache_path)) as store:
        poller = _Poller(settings, queue, store, create, GRACE_SECONDS)
        told = [(job.id, poller.cancel(job)) for job in store.open_jobs() if job.id in wanted]
    queue.owe(settings.agent, "batch")
    queue.owe(settings.agent)
    return told


def poll_if_free(settings: AgentSettings, queue: WorkQueue) -> Poll | None:
    """As `poll_agent`; None while another process does it."""
    try:
        return poll_agent(settings, queue)
    except LeaseHeldError:
        return None


def _key(text: str) -> bytes | None:
    try:
        return bytes.fromhex(text)
    except ValueError:
        return None
