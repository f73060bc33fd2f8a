"""Packing, retrying, halving: the run over many texts, with an embedder that fails as it is told."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recallite.embeddings import EmbeddingFailure, Kind, Limits, RawVector, Space, Vector, embed_all
from recallite.embeddings.deadline import DeadlineError
from recallite.embeddings.retry import PROBE_TEXT, REJECTIONS_BEFORE_PROBE
from recallite.errors import (
    InputRejectedError,
    ProviderAuthError,
    ProviderError,
    ProviderTransientError,
    ProviderUnavailableError,
    QuotaExceededError,
    RateLimitedError,
)
from recallite.testing.embedder import DeterministicEmbedder

Rule = Callable[[Sequence[str]], None]


class ScriptedEmbedder:
    """A deterministic embedder whose next requests fail in turn, and whose rules hold for all requests."""

    provider = "scripted"

    def __init__(self, *failures: ProviderError | None, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self.failures = list(failures)
        self.rules: list[Rule] = []
        self.sent: list[list[str]] = []
        self.spoil: Callable[[str, RawVector], RawVector] = lambda text, vector: vector
        self._true = DeterministicEmbedder(dims=16)

    @property
    def space(self) -> Space:
        return self._true.space

    def embed(self, texts: Sequence[str], *, kind: Kind) -> list[RawVector]:
        self.sent.append(list(texts))
        failure = self.failures.pop(0) if self.failures else None
        if failure is not None:
            raise failure
        for rule in self.rules:
            rule(texts)
        vectors = self._true.embed(texts, kind=kind)
        return [self.spoil(text, vector) for text, vector in zip(texts, vectors, strict=True)]

    def close(self) -> None: ...


def at_most(count: int) -> Rule:
    def rule(texts: Sequence[str]) -> None:
        if len(texts) > count:
            raise InputRejectedError("too many")

    return rule


def refuse(*bad: str) -> Rule:
    def rule(texts: Sequence[str]) -> None:
        if set(texts) & set(bad):
            raise InputRejectedError("refused")

    return rule


def run(embedder: ScriptedEmbedder, texts: Sequence[str], kind: Kind = "document", **more: object) -> list[object]:
    more.setdefault("sleep", lambda seconds: None)
    return list(embed_all(embedder, texts, kind=kind, **more))


def is_vector(outcome: object) -> bool:
    return isinstance(outcome, np.ndarray) and abs(float(np.linalg.norm(outcome)) - 1) < 1e-5


def words(count: int) -> list[str]:
    return [f"word{number}" for number in range(count)]


def test_every_text_gets_its_own_vector_in_order() -> None:
    texts = words(10)

    outcomes = run(ScriptedEmbedder(limits=Limits(max_items=3)), texts)

    alone = [run(ScriptedEmbedder(), [text])[0] for text in texts]
    assert np.allclose(np.asarray(outcomes), np.asarray(alone))


def test_no_texts_make_no_request() -> None:
    embedder = ScriptedEmbedder()

    assert run(embedder, []) == []
    assert embedder.sent == []


def test_equal_texts_are_sent_once() -> None:
    embedder = ScriptedEmbedder()

    outcomes = run(embedder, ["same", "other", "same"])

    assert embedder.sent == [["same", "other"]]
    assert np.array_equal(outcomes[0], outcomes[2])


@pytest.mark.parametrize("blank", ["", " ", "\n\t \u3000"])
def test_a_blank_text_is_not_sent(blank: str) -> None:
    embedder = ScriptedEmbedder()

    outcomes = run(embedder, [blank, "text"])

    assert outcomes[0] == EmbeddingFailure("the text is blank", permanent=True)
    assert is_vector(outcomes[1])
    assert embedder.sent == [["text"]]


def test_vectors_are_handed_over_after_each_request() -> None:
    embedder = ScriptedEmbedder(limits=Limits(max_items=2))
    handed: list[list[int]] = []

    run(embedder, words(5), on_vectors=lambda pairs: handed.append([number for number, _ in pairs]))

    assert handed == [[0, 1], [2, 3], [4]]


def test_a_transient_error_is_retried(naps: list[float]) -> None:
    embedder = ScriptedEmbedder(ProviderTransientError("500"), ProviderTransientError("500"))

    outcomes = run(embedder, words(2), sleep=naps.append)

    assert all(is_vector(outcome) for outcome in outcomes)
    assert len(embedder.sent) == 3


def test_retries_are_bounded_and_what_came_before_is_kept() -> None:
    embedder = ScriptedEmbedder(None, *[ProviderTransientError("down")] * 9, limits=Limits(max_items=2))
    kept: list[int] = []

    with pytest.raises(ProviderTransientError, match="down"):
        run(embedder, words(6), on_vectors=lambda pairs: kept.extend(number for number, _ in pairs), attempts=3)

    assert kept == [0, 1]
    assert len(embedder.sent) == 1 + 3


def test_retry_after_is_obeyed(naps: list[float]) -> None:
    embedder = ScriptedEmbedder(RateLimitedError("429", retry_after_seconds=7))

    run(embedder, words(1), sleep=naps.append)

    assert 7 <= sum(naps) <= 8


def test_a_wait_of_an_hour_is_not_waited_out(naps: list[float]) -> None:
    embedder = ScriptedEmbedder(RateLimitedError("429", retry_after_seconds=3_600))

    with pytest.raises(RateLimitedError) as raised:
        run(embedder, words(1), sleep=naps.append)

    assert raised.value.retry_after_seconds == 3_600
    assert naps == []


@pytest.mark.parametrize("error", [ProviderAuthError, QuotaExceededError, ProviderUnavailableError])
def test_what_cannot_pass_ends_the_run_at_once(error: type[ProviderError]) -> None:
    embedder = ScriptedEmbedder(error("no"), limits=Limits(max_items=2))

    with pytest.raises(error):
        run(embedder, words(6))

    assert len(embedder.sent) == 1


@pytest.mark.parametrize("position", [0, 7, 31, 63])
def test_one_refused_text_costs_one_text(position: int) -> None:
    texts = words(64)
    embedder = ScriptedEmbedder()
    embedder.rules.append(refuse(texts[position]))

    outcomes = run(embedder, texts)

    failed = [number for number, outcome in enumerate(outcomes) if isinstance(outcome, EmbeddingFailure)]
    assert failed == [position]
    assert outcomes[position] == EmbeddingFailure("refused", permanent=True)
    assert len(embedder.sent) <= 2 * 6 + 1  # two halves for each of the six halvings


def test_a_server_that_takes_fewer_texts_is_learned_once() -> None:
    embedder = ScriptedEmbedder()
    embedder.rules.append(at_most(10))

    outcomes = run(embedder, words(640))

    assert all(is_vector(outcome) for outcome in outcomes)
    refused = [len(texts) for texts in embedder.sent if len(texts) > 10]
    assert refused == [64, 32, 16]


def test_a_bad_text_does_not_make_the_requests_smaller() -> None:
    texts = words(256)
    embedder = ScriptedEmbedder()
    embedder.rules.append(refuse(texts[5]))

    run(embedder, texts)

    assert [len(sent) for sent in embedder.sent[-3:]] == [64, 64, 64]


def test_a_request_that_does_not_end_in_time_is_made_smaller() -> None:
    def slow(texts: Sequence[str]) -> None:
        if len(texts) > 16:
            raise DeadlineError("slow")

    embedder = ScriptedEmbedder()
    embedder.rules.append(slow)

    outcomes = run(embedder, words(192))

    assert all(is_vector(outcome) for outcome in outcomes)
    assert [len(sent) for sent in embedder.sent if len(sent) > 16] == [64, 32]


def test_a_provider_that_refuses_everything_ends_the_run() -> None:
    embedder = ScriptedEmbedder()
    embedder.rules.append(at_most(0))

    with pytest.raises(InputRejectedError, match="every text"):
        run(embedder, words(500))

    assert embedder.sent[-1] == [PROBE_TEXT]
    assert len(embedder.sent) < 20


def test_a_few_refused_texts_alone_are_told_from_a_provider_that_refuses_everything() -> None:
    bad = words(REJECTIONS_BEFORE_PROBE + 2)
    embedder = ScriptedEmbedder()
    embedder.rules.append(refuse(*bad))

    outcomes = run(embedder, bad)

    assert outcomes == [EmbeddingFailure("refused", permanent=True)] * len(bad)


def test_one_refused_text_alone_is_told_from_a_provider_that_refuses_everything() -> None:
    embedder = ScriptedEmbedder()
    embedder.rules.append(at_most(0))

    with pytest.raises(InputRejectedError, match="every text"):
        run(embedder, ["text"])


def test_one_bad_vector_costs_one_text() -> None:
    embedder = ScriptedEmbedder()
    embedder.spoil = lambda text, vector: [math.nan] * 16 if text == "word1" else vector

    outcomes = run(embedder, words(3))

    assert [is_vector(outcome) for outcome in outcomes] == [True, False, True]
    assert outcomes[1] == EmbeddingFailure("the vector is not finite", permanent=True)


@pytest.mark.parametrize("spoilt", [None, [1.0]])
def test_a_lost_vector_or_another_length_is_no_verdict_on_the_text(spoilt: RawVector) -> None:
    embedder = ScriptedEmbedder()
    embedder.spoil = lambda text, vector: spoilt if text == "word1" else vector

    outcomes = run(embedder, words(3))

    assert isinstance(outcomes[1], EmbeddingFailure) and not outcomes[1].permanent


def test_a_reply_without_any_good_vector_is_asked_for_once_more() -> None:
    embedder = ScriptedEmbedder()
    embedder.spoil = lambda text, vector: [math.nan] * 16 if len(embedder.sent) == 1 else vector

    outcomes = run(embedder, words(3))

    assert all(is_vector(outcome) for outcome in outcomes)


def test_a_provider_that_gives_only_bad_vectors_ends_the_run() -> None:
    embedder = ScriptedEmbedder()
    embedder.spoil = lambda text, vector: [0.0] * 16

    with pytest.raises(ProviderTransientError, match="no usable vectors"):
        run(embedder, words(500))

    assert len(embedder.sent) == 3  # the request, once more, the probe


def test_a_provider_of_other_dimensions_is_named_with_both_numbers() -> None:
    embedder = ScriptedEmbedder()
    embedder.spoil = lambda text, vector: [1.0] * 24

    with pytest.raises(ProviderUnavailableError, match=r"24 numbers instead of 16"):
        run(embedder, words(3))


def test_texts_that_always_give_bad_vectors_are_permanent_failures_when_the_provider_works() -> None:
    embedder = ScriptedEmbedder()
    embedder.spoil = lambda text, vector: vector if text == PROBE_TEXT else [0.0] * 16

    outcomes = run(embedder, words(3))

    assert outcomes == [EmbeddingFailure("the vector is zero everywhere", permanent=True)] * 3


def test_a_long_text_is_sent_in_parts_and_averaged() -> None:
    embedder = ScriptedEmbedder(limits=Limits(max_input_tokens=60))
    text = " ".join(words(40))

    (outcome,) = run(embedder, [text])

    assert "".join(part for sent in embedder.sent for part in sent) == text
    assert is_vector(outcome)
    whole = run(ScriptedEmbedder(), [text])[0]
    assert float(np.dot(outcome, whole)) > 0.9


def test_a_long_text_over_several_requests_is_handed_over_when_complete() -> None:
    embedder = ScriptedEmbedder(limits=Limits(max_input_tokens=60, max_items=2))
    handed: list[int] = []

    run(embedder, [" ".join(words(40)), "short"], on_vectors=lambda pairs: handed.extend(n for n, _ in pairs))

    assert handed == [0, 1]


def test_when_a_part_fails_the_other_parts_are_not_sent() -> None:
    embedder = ScriptedEmbedder(limits=Limits(max_input_tokens=60, max_items=1))
    embedder.rules.append(lambda texts: refuse(*[text for text in texts if "word0 " in text])(texts))

    outcomes = run(embedder, [" ".join(words(40)), "short"])

    assert isinstance(outcomes[0], EmbeddingFailure) and is_vector(outcomes[1])
    assert len(embedder.sent) == 2


def test_a_long_query_is_cut_not_averaged() -> None:
    embedder = ScriptedEmbedder(limits=Limits(max_input_tokens=60))
    text = " ".join(words(40))

    (outcome,) = run(embedder, [text], kind="query")

    assert is_vector(outcome)
    assert len(embedder.sent) == 1 and text.startswith(embedder.sent[0][0])


def test_a_refused_query_makes_no_second_request() -> None:
    embedder = ScriptedEmbedder(InputRejectedError("refused"))

    outcomes = run(embedder, ["query"], kind="query")

    assert isinstance(outcomes[0], EmbeddingFailure)
    assert len(embedder.sent) == 1


def test_a_stopped_run_leaves_the_rest_for_later() -> None:
    embedder = ScriptedEmbedder(limits=Limits(max_items=1))

    outcomes = run(embedder, words(3), stop=lambda: len(embedder.sent) == 2)

    assert [is_vector(outcome) for outcome in outcomes] == [True, True, False]
    assert isinstance(outcomes[2], EmbeddingFailure) and not outcomes[2].permanent


def test_a_run_is_stopped_while_it_waits(naps: list[float]) -> None:
    embedder = ScriptedEmbedder(RateLimitedError("429", retry_after_seconds=60))

    outcomes = run(embedder, ["text"], sleep=naps.append, stop=lambda: len(naps) >= 3)

    assert len(naps) == 3
    assert isinstance(outcomes[0], EmbeddingFailure) and not outcomes[0].permanent


def test_what_the_receiver_raises_ends_the_run() -> None:
    def refuse_vectors(pairs: list[tuple[int, Vector]]) -> None:
        raise LookupError("fenced")

    embedder = ScriptedEmbedder(limits=Limits(max_items=1))
    with pytest.raises(LookupError, match="fenced"):
        run(embedder, words(3), on_vectors=refuse_vectors)

    assert len(embedder.sent) == 1


@given(
    st.lists(st.sampled_from([*words(12), "", "bad1", "bad2", "nan"]), max_size=40),
    st.integers(min_value=1, max_value=9),
    st.integers(min_value=1, max_value=9),
)
def test_whatever_is_mixed_only_the_bad_texts_fail(texts: list[str], most_items: int, server_items: int) -> None:
    embedder = ScriptedEmbedder(limits=Limits(max_items=most_items))
    embedder.rules += [at_most(server_items), refuse("bad1", "bad2")]
    embedder.spoil = lambda text, vector: [math.nan] * 16 if text == "nan" else vector
    handed: dict[int, object] = {}

    outcomes = run(embedder, texts, on_vectors=lambda pairs: handed.update(pairs))

    assert len(outcomes) == len(texts)
    for number, (text, outcome) in enumerate(zip(texts, outcomes, strict=True)):
        good = text.startswith("word")
        assert is_vector(outcome) == good == (number in handed)
        assert good or outcome.permanent
