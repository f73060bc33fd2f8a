"""The embedder for tests: similar where words are shared, and the same everywhere."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recallite.embeddings import BadVector, ProviderOptions, Space, check_vectors, create_embedder
from recallite.testing.embedder import DeterministicEmbedder, text_hash, words_of


def cosine(one: str, other: str) -> float:
    first, second = DeterministicEmbedder().embed([one, other], kind="document")
    return float(np.dot(np.asarray(first), np.asarray(second)))


def test_texts_that_share_words_are_similar() -> None:
    near = cosine("the router drops IPv6 after a day", "after a day the router drops packets")

    assert near > 0.6
    assert abs(cosine("the router drops IPv6", "backups go elsewhere")) < 0.4


def test_chinese_texts_that_share_words_are_similar() -> None:
    note = "服务器的配置文件放在硬盘上"

    assert cosine(note, "配置文件放在哪里") > cosine(note, "今天天气很好")


def test_the_vectors_are_the_same_in_another_process() -> None:
    code = (
        "from recallite.testing.embedder import DeterministicEmbedder\n"
        "print(DeterministicEmbedder().embed(['some words here'], kind='query')[0].tobytes().hex())"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    (vector,) = DeterministicEmbedder().embed(["some words here"], kind="document")
    assert done.stdout.strip() == np.asarray(vector).tobytes().hex()


def test_the_vectors_do_not_depend_on_what_was_embedded_before() -> None:
    fresh, used = DeterministicEmbedder(), DeterministicEmbedder()
    used.embed([f"many other words {number}" for number in range(3_000)], kind="document")

    assert np.array_equal(*(e.embed(["some words here"], kind="query")[0] for e in (fresh, used)))


def test_forgetting_words_changes_no_vector(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recallite.testing.embedder._WORDS_KEPT", 10)
    embedder = DeterministicEmbedder()
    texts = [f"word{number} word{number + 1}" for number in range(50)]

    together = embedder.embed(texts, kind="document")
    again = [embedder.embed([text], kind="document")[0] for text in texts]

    assert np.allclose(np.asarray(together), np.asarray(again))


@given(st.lists(st.text(max_size=30), min_size=1, max_size=8))
def test_every_text_has_a_good_vector(texts: list[str]) -> None:
    raw = DeterministicEmbedder().embed(texts, kind="document")

    assert not any(isinstance(one, BadVector) for one in check_vectors(raw, expected=len(texts), dims=64))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The VPN, port 51821!", ["the", "vpn", "port", "51821"]),
        ("配置文件", ["配置", "置文", "文件"]),
        ("SSH铁律", ["ssh", "铁律"]),
        ("水", ["水"]),
        ("...", ["\0..."]),
    ],
)
def test_words_are_found_in_every_script(text: str, words: list[str]) -> None:
    assert words_of(text) == words


def test_it_remembers_what_it_embedded() -> None:
    embedder = DeterministicEmbedder()

    embedder.embed(["a", "b"], kind="document")
    embedder.embed(["a"], kind="query")

    assert embedder.embedded == ["a", "b", "a"]


def test_it_is_the_provider_test_and_logs_to_a_file(tmp_path: Path) -> None:
    log = tmp_path / "embedded log"
    embedder = create_embedder(ProviderOptions(provider="test", dimensions=8, base_url=log.as_uri()))

    embedder.embed(["one", "two"], kind="document")
    embedder.embed(["one"], kind="query")

    assert embedder.space == Space("test", "test-8", 8)
    assert log.read_text().split() == [text_hash("one"), text_hash("two"), text_hash("one")]


def test_it_is_fast() -> None:
    chunks = [f"note {n} says that the router at port {n % 97} drops packets after a day" for n in range(20_000)]
    embedder = DeterministicEmbedder()

    started = time.process_time()
    for at in range(0, len(chunks), 64):
        embedder.embed(chunks[at : at + 64], kind="document")

    assert time.process_time() - started < 2  # measured: 0.3 s
