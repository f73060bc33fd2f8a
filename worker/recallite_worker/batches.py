"""Which texts are embedded by batch jobs, and what comes back of them: the side of the index."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from recallite.config import AgentSettings
from recallite.embeddings.batches import BatchLimits
from recallite.embeddings.limits import estimate_tokens
from recallite.embeddings.options import ProviderOptions
from recallite.embeddings.protocol import Space, Vector
from recallite.embeddings.registry import create_batches
from recallite.index.batchfile import batch_path
from recallite.work import WorkQueue
from recallite_worker.batch_store import BatchStore
from recallite_worker.chunking import UNITS_PER_TOKEN, estimated_units
from recallite_worker.pacing import account_key

LEAST_TEXTS = 100
"""Fewer texts than this that wait are embedded by ordinary requests: they are there within seconds."""


class Batching:
    """For one space of one agent."""

    def __init__(self, store: BatchStore, space: Space, options: ProviderOptions, limits: BatchLimits) -> None:
        self._store = store
        self._account = account_key(options)
        self._limits = limits
        self.space = space_key(space, options)

    def delivered(self, hashes: Sequence[bytes]) -> dict[bytes, Vector]:
        """Vectors that have come for these texts."""
        return self._store.delivered(self.space, hashes)

    def forget(self, hashes: Iterable[bytes]) -> None:
        """These texts have their vectors."""
        self._store.forget(self.space, list(hashes))

    def states(self, hashes: Sequence[bytes]) -> dict[bytes, str]:
        """`waiting` for a job, or `normal` when it did not give them; others are not known."""
        return self._store.states(self.space, hashes)

    def refuse(self, hashes: Iterable[bytes]) -> None:
        """What came for these texts cannot be used."""
        self._store.refuse(self.space, list(hashes))

    def leftovers(self) -> dict[bytes, Vector]:
        """Vectors that came and that nothing waits for any more."""
        return self._store.leftovers(self.space)

    def off_reason(self) -> str | None:
        """Why no jobs are made for now, after repeated failures."""
        return self._store.off_reason(self.space)

    def plan(self, texts: Mapping[bytes, str], *, max_input_tokens: int) -> set[bytes]:
        """Let jobs embed these texts; those that have to be split first are left. What was taken."""
        fitting = {hash_: text for hash_, text in texts.items() if estimate_tokens(text) <= max_input_tokens}
        costs = {hash_: (text, -(-estimated_units(text) // UNITS_PER_TOKEN)) for hash_, text in fitting.items()}
        self._store.plan(self.space, costs)
        return set(fitting)

    def cut(self, *, dims: int | None, max_tokens: int | None = None) -> int:
        """Make jobs of what was planned, none with more tokens than may be spent in a day; how many."""
        return self._store.cut(self.space, self._account, self._limits, dims=dims, max_tokens=max_tokens)

    def release_unsent(self, queue: WorkQueue) -> None:
        """Nothing that was not submitted shall wait for a job, or hold a slot."""
        for job in self._store.release_unsent(self.space):
            queue.free_slot(job.account, job.name)

    def close(self) -> None:
        self._store.close()


def open_batching(settings: AgentSettings, space: Space, options: ProviderOptions | None) -> Batching | None:
    """None where there are no jobs and none are wanted, or the provider has no batch service."""
    path = batch_path(settings.cache_path)
    wanted = settings.search.remote.batch.enabled
    if options is None or not (wanted or path.exists()):
        return None
    api = create_batches(options)
    if api is None:
        return None
    limits = api.limits
    api.close()
    return Batching(BatchStore(path), space, options, limits)


def space_key(space: Space, options: ProviderOptions) -> str:
    """What a vector that a job gives is good for. By the dimensions asked for: the true ones may not be known yet."""
    return json.dumps([space.provider, space.model, space.variant, options.dimensions], ensure_ascii=False)


def options_for(space: str, available: Iterable[ProviderOptions]) -> ProviderOptions | None:
    """Today's access to the provider of a `space_key`, with that space's own model and dimensions.

    None when the provider cannot be used now. The key may have changed since a job was made.
    """
    provider, model, _, dimensions = json.loads(space)
    fitting = next((options for options in available if options.provider == provider), None)
    return replace(fitting, model=model, dimensions=dimensions) if fitting is not None else None
