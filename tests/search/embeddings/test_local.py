"""A real GGUF model in llama.cpp, and its download from a real server that breaks off."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from recallite.embeddings import EmbeddingFailure, embed_all
from recallite.embeddings.gguf import read_gguf
from recallite.embeddings.model_files import download, model_file
from recallite.embeddings.options import ProviderOptions
from recallite.embeddings.protocol import Embedder
from recallite.embeddings.registry import create_embedder
from recallite.errors import ProviderPausedError, ProviderUnavailableError
from recallite.testing.file_server import FileServer
from recallite.testing.tiny_model import CONTEXT_TOKENS, DIMS, make_tiny_model


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_model(tmp_path_factory.mktemp("model") / "tiny.gguf")


@pytest.fixture
def hub(model: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FileServer]:
    monkeypatch.setattr("recallite.embeddings.model_files.wait_seconds", lambda error, *, failures: 0.0)
    with FileServer(model.read_bytes()) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        yield server


def local(model_path: Path | str, cache_dir: Path | None = None) -> Embedder:
    return create_embedder(ProviderOptions("local", model_path=str(model_path), model_cache_dir=cache_dir))


def vectors(embedder: Embedder, *texts: str) -> np.ndarray:
    outcomes = embed_all(embedder, texts, kind="document")
    assert not any(isinstance(outcome, EmbeddingFailure) for outcome in outcomes), outcomes
    return np.asarray(outcomes)


def test_a_real_model_embeds_and_equal_texts_get_equal_vectors(model: Path) -> None:
    embedder = local(model)

    found = vectors(embedder, "hello", "other words", "hello ")

    assert found.shape == (3, DIMS)
    assert np.allclose(np.linalg.norm(found, axis=1), 1.0, atol=1e-5)
    alone = vectors(embedder, "hello")
    assert np.allclose(found[0], alone[0], atol=1e-5)
    assert found[0] @ found[1] < 0.99
    assert embedder.space.dims == DIMS


def test_a_text_above_the_context_is_embedded_in_parts(model: Path) -> None:
    long = "a b c d e f g h " * 200

    (vector,) = vectors(local(model), long)

    assert len(long) > 20 * CONTEXT_TOKENS
    assert np.isfinite(vector).all()


def test_many_threads_get_the_vectors_of_their_own_texts(model: Path) -> None:
    embedder = local(model)
    words = [f"word {number}" for number in range(40)]
    expected = vectors(embedder, *words)
    wrong: list[str] = []

    def ask(start: int) -> None:
        for number in range(start, 40, 4):
            if not np.allclose(vectors(embedder, words[number])[0], expected[number], atol=1e-5):
                wrong.append(words[number])

    threads = [threading.Thread(target=ask, args=(start,)) for start in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_forked_child_has_an_engine_of_its_own(model: Path) -> None:
    embedder = local(model)
    expected = vectors(embedder, "hello")[0]
    answers: multiprocessing.queues.SimpleQueue[list[float]] = multiprocessing.get_context("fork").SimpleQueue()

    def child() -> None:
        answers.put(vectors(embedder, "hello")[0].tolist())

    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    process.join(30)

    assert process.exitcode == 0
    assert np.allclose(answers.get(), expected, atol=1e-5)


def test_another_file_under_the_same_name_is_another_space(tmp_path: Path) -> None:
    first = local(make_tiny_model(tmp_path / "m.gguf", seed=1)).space
    second = local(make_tiny_model(tmp_path / "m.gguf", seed=2)).space

    assert (first.model, second.model) == ("m.gguf", "m.gguf")
    assert first.variant != second.variant


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not a whole GGUF file"),
        (b"<!DOCTYPE html>", "does not begin with GGUF"),
        (b"GGUF\x03\0\0\0", "ends early"),
        (b"GGUF" + b"\xff" * 100, "version"),
    ],
)
def test_a_file_that_is_no_model_is_named_with_what_is_wrong(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "bad.gguf"
    path.write_bytes(content)

    with pytest.raises(ProviderUnavailableError, match=message) as raised:
        local(path)
    assert "bad.gguf" in str(raised.value)


def test_a_cut_model_is_refused_at_every_length(model: Path, tmp_path: Path) -> None:
    whole = model.read_bytes()
    head_end = whole.index(b"tokenizer.ggml.mask_token_id")
    for size in range(0, head_end, 997):
        (tmp_path / "cut.gguf").write_bytes(whole[:size])
        with pytest.raises(ProviderUnavailableError):
            read_gguf(tmp_path / "cut.gguf")
    (tmp_path / "cut.gguf").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ProviderUnavailableError, match="cannot load"):
        local(tmp_path / "cut.gguf").embed(["x"], kind="document")


def test_a_missing_file_says_which(tmp_path: Path) -> None:
    with pytest.raises(ProviderUnavailableError, match=r"nothing\.gguf cannot be read: No such file"):
        local(tmp_path / "nothing.gguf")


def test_without_llama_cpp_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recallite.embeddings.local.find_spec", lambda name: None)

    with pytest.raises(ProviderUnavailableError, match=r"pip install 'recallite\[local\]'"):
        create_embedder(ProviderOptions("local"))


def test_a_download_that_breaks_off_goes_on_where_it_was(hub: FileServer, tmp_path: Path) -> None:
    hub.breaks.extend([10_000, 15_000])
    progress: list[int] = []

    path = download(
        model_file("hf:owner/repo/tiny.gguf", tmp_path), on_progress=lambda done, total: progress.append(done)
    )

    assert path.read_bytes() == hub.content
    ranges = [wanted for request, wanted in hub.requests if request.startswith("/cdn")]
    assert ranges == [None, "bytes=10000-", "bytes=25000-"]
    assert progress[-1] == len(hub.content)
    assert [file.name for file in tmp_path.iterdir() if not file.name.endswith(".lock")] == [path.name]


def test_what_an_earlier_process_left_is_used_unless_the_file_has_changed(hub: FileServer, tmp_path: Path) -> None:
    file = model_file("hf:owner/repo/tiny.gguf", tmp_path)
    program = (
        "import sys; from pathlib import Path; from recallite.embeddings import model_files\n"
        "model_files.TRIES = 1\n"
        "model_files.download(model_files.model_file('hf:owner/repo/tiny.gguf', Path(sys.argv[1])))"
    )
    hub.breaks.append(20_000)
    first = subprocess.run([sys.executable, "-c", program, str(tmp_path)], env={**os.environ}, capture_output=True)
    assert first.returncode != 0

    download(file)
    assert [wanted for request, wanted in hub.requests if request.startswith("/cdn")] == [None, "bytes=20000-"]

    file.path.unlink()
    hub.breaks.append(20_000)
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], env={**os.environ}, capture_output=True)
    hub.content = hub.content[:-1] + b"!"
    assert download(file).read_bytes() == hub.content, "the old beginning is not glued to the new end"


def test_a_file_that_is_not_what_the_hub_says_is_thrown_away(hub: FileServer, tmp_path: Path) -> None:
    hub.sha256 = "0" * 64
    with pytest.raises(ProviderUnavailableError, match="SHA-256"):
        download(model_file("hf:owner/repo/tiny.gguf", tmp_path))
    hub.sha256, hub.content = None, b"<html>log in</html>"
    with pytest.raises(ProviderUnavailableError, match="not a GGUF file"):
        download(model_file("hf:owner/repo/tiny.gguf", tmp_path))

    assert not [file for file in tmp_path.iterdir() if file.suffix != ".lock"]


@pytest.mark.parametrize("status", [401, 404])
def test_a_model_that_the_hub_does_not_give_is_an_error_at_once(hub: FileServer, tmp_path: Path, status: int) -> None:
    hub.status = status

    with pytest.raises(ProviderUnavailableError, match=f"answered {status}"):
        download(model_file("hf:owner/repo/tiny.gguf", tmp_path))
    assert len(hub.requests) == 1


def test_the_hubs_token_goes_to_the_hub_only(hub: FileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_planted")
    download(model_file("hf:owner/repo/tiny.gguf", tmp_path))
    with FileServer(hub.content) as other:
        download(model_file(f"{other.url}/tiny.gguf", tmp_path))

        assert other.authorizations == [None]
    assert hub.authorizations[0] == "Bearer hf_planted"


@pytest.mark.parametrize("address", ["hf:", "hf:owner/repo", "hf:owner/repo/", "hf:owner/repo/../../x.gguf"])
def test_an_address_without_a_file_is_refused(tmp_path: Path, address: str) -> None:
    with pytest.raises(ProviderUnavailableError, match="OWNER/REPOSITORY/FILE"):
        model_file(address, tmp_path)


def test_two_addresses_never_share_a_file(tmp_path: Path) -> None:
    addresses = ["hf:a/b/c.gguf", "hf:a/b_c.gguf/x", "hf:a_b/c/c.gguf", "http://h/a/b/c.gguf"]

    assert len({model_file(address, tmp_path).path for address in addresses}) == len(addresses)


def test_indexing_goes_on_while_the_model_comes(hub: FileServer, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("recallite.embeddings.local._Downloading.PATIENCE_SECONDS", 0.2)
    hub.pause.clear()
    embedder = local("hf:owner/repo/tiny.gguf", tmp_path)

    with pytest.raises(ProviderPausedError, match="is being downloaded"):
        embedder.embed(["x"], kind="document")
    with pytest.raises(ProviderUnavailableError, match="run `recallite index`"):
        embedder.embed(["x"], kind="query")

    hub.pause.set()
    deadline = time.monotonic() + 60
    while True:
        try:
            assert len(vectors(embedder, "x")) == 1
            break
        except ProviderPausedError:
            assert time.monotonic() < deadline
    assert len([request for request, _ in hub.requests if request.startswith("/cdn")]) == 1
