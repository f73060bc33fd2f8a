"""The run over many texts when the provider fails: retrying, halving, blaming the right one."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recallite.embeddings import EmbeddingFailure, Kind, Limits, RawVector, embed_all
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
from recallite.testing.scripted_embedder import ScriptedEmbedder, at_most, refuse


def run(embedder: ScriptedEmbedder, texts: Sequence[str], kind: Kind = "document", **more: object) -> list[object]:
    more.setdefault("sleep", lambda seconds: None)
    return list(embed_all(embedder, texts, kind=kind, **more))


def is_vector(outcome: object) -> bool:
    return isinstance(outcome, np.ndarray) and abs(float(np.linalg.norm(outcome)) - 1) < 1e-5


def words(count: int) -> list[str]:
    return [f"word{number}" for number in range(count)]


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
    assert outcomes[1] == EmbeddingFailure("the vector is not finite", permanent=False)


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


def test_texts_that_give_bad_vectors_are_failures_of_their_own_when_the_provider_works() -> None:
    embedder = ScriptedEmbedder()
    embedder.spoil = lambda text, vector: vector if text == PROBE_TEXT else [0.0] * 16

    outcomes = run(embedder, words(3))

    assert outcomes == [EmbeddingFailure("the vector is zero everywhere", permanent=False)] * 3


def test_a_refused_query_makes_no_second_request() -> None:
    embedder = ScriptedEmbedder(InputRejectedError("refused"))

    outcomes = run(embedder, ["query"], kind="query")

    assert isinstance(outcomes[0], EmbeddingFailure)
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
        assert good or outcome.permanent == (text != "nan")


def test_vectors_of_a_wrong_length_end_the_run_after_one_request() -> None:
    embedder = ScriptedEmbedder(limits=Limits(max_items=5))
    embedder.spoil = lambda text, vector: [1.0] * 7

    with pytest.raises(ProviderUnavailableError, match="7 numbers instead of 16"):
        list(embed_all(embedder, [f"word{number}" for number in range(50)], kind="document"))

    assert [len(request) for request in embedder.sent] == [5, 1], "one request, and the probe"
