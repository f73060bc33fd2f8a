"""Several requests under way at once: never more than allowed, nothing mixed up, nothing paid for lost."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
import pytest

from recallite.embeddings import EmbeddingFailure, Kind, Limits, RawVector, embed_all
from recallite.errors import InputRejectedError, ProviderAuthError, ProviderTransientError, RateLimitedError
from recallite.testing.scripted_embedder import ScriptedEmbedder

PARALLEL = Limits(max_items=2, parallel_requests=3)


class Counting(ScriptedEmbedder):
    """Waits until as many requests are under way as may be, or nobody else comes."""

    def __init__(self, *failures: object, limits: Limits = PARALLEL) -> None:
        super().__init__(*failures, limits=limits)  # type: ignore[arg-type]
        self.lock = threading.Lock()
        self.now = self.most = 0
        self.full = threading.Event()

    def embed(self, texts: Sequence[str], *, kind: Kind) -> list[RawVector]:
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)
            if self.now == self.limits.parallel_requests:
                self.full.set()
        self.full.wait(5)
        try:
            with self.lock:
                return super().embed(texts, kind=kind)
        finally:
            with self.lock:
                self.now -= 1


def texts(count: int) -> list[str]:
    return [f"word{number}" for number in range(count)]


def embedded(embedder: ScriptedEmbedder, wanted: list[str], **more: object) -> list[object]:
    more.setdefault("sleep", lambda seconds: None)
    return list(embed_all(embedder, wanted, kind="document", **more))  # type: ignore[arg-type]


def test_as_many_requests_as_allowed_are_under_way_and_all_results_stand_where_they_belong() -> None:
    embedder = Counting()

    outcomes = embedded(embedder, texts(41))

    assert embedder.most == 3
    assert len(embedder.sent) == 21
    alone = embedded(ScriptedEmbedder(), texts(41))
    assert np.allclose(np.asarray(outcomes), np.asarray(alone))


def test_results_are_given_and_stop_is_asked_on_the_callers_thread() -> None:
    threads: set[int] = set()

    def note(*_: object) -> bool:
        threads.add(threading.get_ident())
        return False

    embedded(Counting(), texts(20), on_vectors=note, stop=note, sleep=note)

    assert threads == {threading.get_ident()}


def test_an_error_that_ends_the_run_keeps_what_others_deliver() -> None:
    embedder = Counting(ProviderAuthError("no"))
    kept: list[int] = []

    with pytest.raises(ProviderAuthError):
        embedded(embedder, texts(40), on_vectors=lambda pairs: kept.extend(number for number, _ in pairs))

    served = [int(text.removeprefix("word")) for request in embedder.sent[1:] for text in request]
    assert sorted(kept) == sorted(served)
    assert 2 <= len(kept) <= 8


def test_failures_that_pass_are_tried_again() -> None:
    embedder = Counting(RateLimitedError("429", retry_after_seconds=1), None, ProviderTransientError("reset"))

    outcomes = embedded(embedder, texts(30))

    assert not any(isinstance(outcome, EmbeddingFailure) for outcome in outcomes)


def test_a_refused_text_fails_alone() -> None:
    embedder = Counting()

    def refuse(request: Sequence[str]) -> None:
        if "word7" in request:
            raise InputRejectedError("refused")

    embedder.rules.append(refuse)
    outcomes = embedded(embedder, texts(20))

    failed = [number for number, outcome in enumerate(outcomes) if isinstance(outcome, EmbeddingFailure)]
    assert failed == [7]


def test_stop_lets_what_is_under_way_end_and_sends_no_more() -> None:
    embedder = Counting()
    kept: list[int] = []

    embedded(
        embedder,
        texts(40),
        stop=lambda: bool(kept),
        on_vectors=lambda pairs: kept.extend(number for number, _ in pairs),
    )

    assert len(embedder.sent) <= 5
    assert len(kept) == sum(len(request) for request in embedder.sent)
