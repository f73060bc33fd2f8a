"""From waiting chunks to vectors: the cache first, then the provider, each reply kept as it arrives."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from recallite.embeddings.calibration import KNOWN, measure
from recallite.embeddings.protocol import Embedder, EmbeddingFailure, Space
from recallite.embeddings.retry import embed_all
from recallite_worker.batches import LEAST_TEXTS, Batching
from recallite_worker.cache import EmbeddingCache, Vector, rounded
from recallite_worker.inherited import InheritedVectors
from recallite_worker.vectors import PendingChunk, VectorWriter

logger = logging.getLogger(__name__)

_CHUNKS = 1024
"""Taken from the waiting list at once, for each request that may be under way."""
_CALIBRATION_SAMPLE = 200


@dataclass(slots=True)
class EmbeddingTally:
    """What a run of embedding did."""

    embedded: int = 0
    """Texts that the provider gave a vector for."""
    cached: int = 0
    """Chunks whose vector was in the cache."""
    failed: int = 0
    in_batch: int = 0
    """Chunks that are left to a batch job."""


class EmbeddingRun:
    """Embeds the waiting chunks of one space. `stop` is asked before every request."""

    def __init__(
        self,
        writer: VectorWriter,
        embedder: Embedder,
        cache: EmbeddingCache | None,
        *,
        stop: Callable[[], bool],
        on_progress: Callable[[int], None],
        batching: Batching | None = None,
        makes_jobs: bool = False,
    ) -> None:
        """`makes_jobs`: what is in no cache goes into batch jobs, where there are enough texts for one."""
        self.writer = writer
        self.embedder = embedder
        self.cache = cache
        self.stop = stop
        self.on_progress = on_progress
        self.batching = batching
        self.makes_jobs = makes_jobs and batching is not None
        self.tally = EmbeddingTally()
        self._inherited = InheritedVectors(writer.store.connection, writer.space)

    def run(self, *, after: int = 0) -> int:
        """Embed until nothing waits or `stop` says so; the last chunk id seen, to go on from.

        Raises ProviderError when the provider fails as a whole; what it delivered before is kept.
        """
        self.writer.fill_pending()
        self.writer.move_plain()
        if self.writer.space.dims is None:
            self._learn_dims()
        if self.makes_jobs and self.writer.pending_count() < LEAST_TEXTS:
            self.makes_jobs = False
        limit = _CHUNKS * self.embedder.limits.parallel_requests
        while not self.stop():
            chunks = self.writer.pending(after=after, limit=limit)
            if not chunks:
                break
            done = self._embed(chunks)
            if not done:
                break
            after = chunks[-1].id
        else:
            return after
        self._calibrate()
        return after

    def _learn_dims(self) -> None:
        """The length of the vectors, when the embedder or the cache knows it before any was sent."""
        dims = self.embedder.space.dims
        if dims is None and self.cache is not None:
            dims = self.cache.known_dims(self.embedder.space)
        if dims is None:
            dims = self._inherited.dims
        if dims is not None:
            self.writer.set_dims(dims)

    @property
    def _space(self) -> Space:
        own = self.embedder.space
        return Space(own.provider, own.model, self.writer.space.dims, own.variant)

    def _embed(self, chunks: Sequence[PendingChunk]) -> bool:
        """Whether all chunks were dealt with (False: stopped half-way)."""
        by_hash: dict[bytes, list[PendingChunk]] = {}
        for chunk in chunks:
            by_hash.setdefault(chunk.hash, []).append(chunk)
        self._take_cached(by_hash)
        self._take_inherited(by_hash)
        self._take_rejected(by_hash)
        if self.batching is not None:
            self._take_delivered(self.batching, by_hash)
            self._leave_to_jobs(self.batching, by_hash)
        waiting = [found[0] for found in by_hash.values()]
        if not waiting:
            return True
        hashes = [chunk.hash for chunk in waiting]

        def keep(results: list[tuple[int, Vector]]) -> None:
            self._keep({hashes[index]: vector for index, vector in results}, by_hash)

        outcomes = embed_all(
            self.embedder, [chunk.text for chunk in waiting], kind="document", on_vectors=keep, stop=self.stop
        )
        failures = {
            hash_: outcome
            for hash_, outcome in zip(hashes, outcomes, strict=True)
            if isinstance(outcome, EmbeddingFailure) and hash_ in by_hash
        }
        stopped = self.stop()
        if not stopped or any(failure.permanent for failure in failures.values()):
            self._note_failures(failures, by_hash, only_permanent=stopped)
        return not stopped

    def _take_cached(self, by_hash: dict[bytes, list[PendingChunk]]) -> None:
        if self.cache is None:
            return
        found = self.cache.find(self._space, list(by_hash))
        if not found:
            return
        chunks = {chunk.id: vector for hash_, vector in found.items() for chunk in by_hash.pop(hash_)}
        self.tally.cached += self.writer.write(chunks)
        self.on_progress(len(chunks))

    def _take_inherited(self, by_hash: dict[bytes, list[PendingChunk]]) -> None:
        waiting = [chunk.id for chunks in by_hash.values() for chunk in chunks]
        found = self._inherited.find(waiting, dims=self.writer.space.dims)
        if found:
            self.tally.cached += self.writer.write(found)
            for hash_, chunks in list(by_hash.items()):
                by_hash[hash_] = [chunk for chunk in chunks if chunk.id not in found]
                if not by_hash[hash_]:
                    del by_hash[hash_]
            self.on_progress(len(found))

    def _take_delivered(self, batching: Batching, by_hash: dict[bytes, list[PendingChunk]]) -> None:
        vectors = batching.delivered(list(by_hash))
        if not vectors:
            return
        self._keep(vectors, by_hash)
        batching.refuse(hash_ for hash_ in vectors if hash_ in by_hash)  # of another length than the index has

    def _leave_to_jobs(self, batching: Batching, by_hash: dict[bytes, list[PendingChunk]]) -> None:
        """Take out what a job will bring, and let jobs bring what is not known to fail in one."""
        states = batching.states(list(by_hash))
        left = {hash_ for hash_, state in states.items() if state == "waiting"}
        if self.makes_jobs:
            new = {hash_: found[0].text for hash_, found in by_hash.items() if hash_ not in states}
            left |= batching.plan(new, max_input_tokens=self.embedder.limits.max_input_tokens)
        for hash_ in left:
            self.tally.in_batch += len(by_hash.pop(hash_))

    def _take_rejected(self, by_hash: dict[bytes, list[PendingChunk]]) -> None:
        if self.cache is None:
            return
        known = self.cache.rejections(self._space, list(by_hash))
        failed = {chunk.id: (why, True) for hash_, why in known.items() for chunk in by_hash.pop(hash_)}
        if failed:
            self.writer.fail(failed)
            self.tally.failed += len(failed)
            self.on_progress(len(failed))

    def _keep(self, vectors: dict[bytes, Vector], by_hash: dict[bytes, list[PendingChunk]]) -> None:
        """Into the cache first: what was paid for is safe before anything else happens."""
        if self.writer.space.dims is None:
            self.writer.set_dims(len(next(iter(vectors.values()))))
        good = {hash_: v for hash_, v in vectors.items() if len(v) == self.writer.space.dims}
        if self.cache is not None and good:
            self.cache.add(self._space, good)
        chunks = {chunk.id: rounded(v) for hash_, v in good.items() for chunk in by_hash.pop(hash_)}
        self.writer.write(chunks)
        if self.batching is not None:
            self.batching.forget(good)
        self.tally.embedded += len(good)
        self.on_progress(len(chunks))

    def _note_failures(
        self,
        failures: dict[bytes, EmbeddingFailure],
        by_hash: dict[bytes, list[PendingChunk]],
        *,
        only_permanent: bool,
    ) -> None:
        noted = {h: f for h, f in failures.items() if f.permanent or not only_permanent}
        for hash_ in by_hash.keys() - failures.keys():
            noted[hash_] = EmbeddingFailure(self._wrong_length(), permanent=False)
        rejected = {hash_: failure.reason for hash_, failure in noted.items() if failure.permanent}
        if self.cache is not None and rejected:
            self.cache.reject(self._space, rejected)
        chunks = {
            chunk.id: (failure.reason, failure.permanent)
            for hash_, failure in noted.items()
            for chunk in by_hash[hash_]
        }
        self.writer.fail(chunks)
        self.tally.failed += len(chunks)
        self.on_progress(len(chunks))

    def _wrong_length(self) -> str:
        return f"the provider's vector does not have the {self.writer.space.dims} numbers of this index"

    def _calibrate(self) -> None:
        space = self.writer.space
        changed = self.tally.embedded + self.tally.cached
        if not changed or (space.provider, space.model) in KNOWN or space.dims is None:
            return
        measured = measure(self.writer.stored_sample(_CALIBRATION_SAMPLE))
        if measured is not None:
            self.writer.set_calibration(measured.floor, measured.middle)
