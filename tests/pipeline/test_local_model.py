"""The provider local through the whole path: a real GGUF model, indexed and asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from recallite import MemorySearch
from recallite.testing.file_server import FileServer
from recallite.testing.tiny_model import DIMS, make_tiny_model


@pytest.fixture
def local(lab, tmp_path: Path):
    lab.gguf = make_tiny_model(tmp_path / "tiny.gguf")
    lab.note("memory/a.md", "the quokka sleeps under the acacia")
    lab.note("memory/b.md", "printers are on vlan 7")
    lab.memory_search = {"provider": "local", "local": {"modelPath": str(lab.gguf)}}
    return lab


def test_notes_are_indexed_and_found_with_a_model_file(local) -> None:
    done = local.run("index")

    assert f"2 vectors (local/{local.gguf.name})" in done.stdout
    with MemorySearch(settings=local.settings) as memory:
        reply = memory.search("quokka", min_score=0.0)
        assert (reply.mode, reply.provider, reply.hits[0].path) == ("hybrid", "local", "memory/a.md")
        status = memory.status()
        assert (status.vectors.dims, status.health) == (DIMS, "ok")


def test_a_model_file_that_is_there_is_chosen_without_being_named(local) -> None:
    del local.memory_search["provider"]

    assert "(local/tiny.gguf)" in local.run("index").stdout


def test_another_model_under_the_same_name_rebuilds_the_vectors(local) -> None:
    local.run("index")
    make_tiny_model(local.gguf, seed=9)

    assert any("made in another way" in problem for problem in local.real_status().problems)
    assert "2 texts embedded" in local.run("index").stdout
    assert local.real_status().health == "ok"


def test_index_downloads_the_model_and_shows_it(local) -> None:
    with FileServer(local.gguf.read_bytes()) as hub:
        hub.breaks.append(10_000)
        local.memory_search["local"] = {"modelPath": "hf:owner/repo/tiny.gguf"}

        done = local.run("index", HF_ENDPOINT=hub.url)

        assert "2 vectors (local/hf:owner/repo/tiny.gguf)" in done.stdout
        assert "model" in done.stderr and "B" in done.stderr
        assert len(list((local.root / "state" / "models").glob("*tiny.gguf"))) == 1
        again = local.run("index", HF_ENDPOINT=hub.url)
        assert "0 texts embedded" in again.stdout
        assert len([path for path, _ in hub.requests if path.startswith("/cdn")]) == 2


def test_a_model_that_cannot_be_had_leaves_keyword_search_and_says_so(local) -> None:
    with FileServer(b"x") as hub:
        hub.status = 404
        local.memory_search["local"] = {"modelPath": "hf:owner/repo/tiny.gguf"}

        done = local.run("index", check=False, HF_ENDPOINT=hub.url)

    assert done.returncode == 3
    assert "answered 404 for the model: check local.modelPath" in done.stderr
    assert local.run("search", "quokka").stdout.count("memory/a.md") == 1
