"""The run over many texts: order, packing, long texts, stopping."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from recallite.embeddings import EmbeddingFailure, Kind, Limits, Space, Vector, embed_all
from recallite.errors import RateLimitedError
from recallite.testing.scripted_embedder import ScriptedEmbedder, refuse


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


def test_when_the_embedder_does_not_know_its_length_the_first_vector_of_the_run_tells() -> None:
    class Unsure(ScriptedEmbedder):
        @property
        def space(self) -> Space:
            return Space("unsure", "model", None)

    embedder = Unsure(limits=Limits(max_items=2))
    embedder.spoil = lambda text, vector: [1.0] * 24 if text == "word3" else vector

    outcomes = run(embedder, words(4))

    assert [is_vector(outcome) for outcome in outcomes] == [True, True, True, False]


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


def test_a_stopped_run_leaves_the_rest_for_later() -> None:
    embedder = ScriptedEmbedder(limits=Limits(max_items=1))

    outcomes = run(embedder, words(3), stop=lambda: len(embedder.sent) == 2)

    assert [is_vector(outcome) for outcome in outcomes] == [True, True, False]
    assert isinstance(outcomes[2], EmbeddingFailure) and not outcomes[2].permanent


def test_a_run_is_stopped_while_it_waits(naps: list[float]) -> None:
    embedder = ScriptedEmbedder(RateLimitedError("429", retry_after_seconds=60))

    with pytest.raises(RateLimitedError):
        run(embedder, ["text"], sleep=naps.append, stop=lambda: len(naps) >= 3)

    assert len(naps) == 3


def test_what_the_receiver_raises_ends_the_run() -> None:
    def refuse_vectors(pairs: list[tuple[int, Vector]]) -> None:
        raise LookupError("fenced")

    embedder = ScriptedEmbedder(limits=Limits(max_items=1))
    with pytest.raises(LookupError, match="fenced"):
        run(embedder, words(3), on_vectors=refuse_vectors)

    assert len(embedder.sent) == 1
