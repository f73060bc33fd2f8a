"""Taking over from the program whose index stands at our path: moved aside, vectors kept."""

from __future__ import annotations

import hashlib
import json

import apsw
import pytest

from recallite.errors import IndexUnusableError
from recallite.testing.embedder import DeterministicEmbedder
from recallite_worker.adoption import adopt


def foreign_index(path, texts: list[str]) -> None:
    """An index of the shape that OpenClaw writes: JSON vectors in `chunks` and `embedding_cache`."""
    path.parent.mkdir(parents=True)
    connection = apsw.Connection(str(path))
    connection.execute(
        "CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL);"
        "CREATE TABLE chunks(id TEXT PRIMARY KEY, path TEXT, source TEXT, start_line INTEGER, end_line INTEGER,"
        " hash TEXT, model TEXT, text TEXT, embedding TEXT, updated_at INTEGER);"
        "CREATE TABLE embedding_cache(provider TEXT, model TEXT, provider_key TEXT, hash TEXT, embedding TEXT,"
        " dims INTEGER, updated_at INTEGER, PRIMARY KEY (provider, model, provider_key, hash));"
    )
    meta = json.dumps({"model": "test-64", "provider": "test", "chunkTokens": 400})
    connection.execute("INSERT INTO meta VALUES ('memory_index_meta_v1', ?)", (meta,))
    vectors = DeterministicEmbedder(dims=64).embed(texts, kind="document")
    for number, (text, vector) in enumerate(zip(texts, vectors, strict=True)):
        stored = json.dumps([float(x) for x in vector])
        digest = hashlib.sha256(text.encode()).hexdigest()
        if number % 2:
            row = ("test", "test-64", "k", digest, stored, 64, 0)
            connection.execute("INSERT INTO embedding_cache VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        else:
            chunk = (str(number), "memory/a.md", "memory", 1, 2, digest, "test-64", text, stored, 0)
            connection.execute("INSERT INTO chunks VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", chunk)
    connection.execute("INSERT INTO chunks VALUES ('bad', 'x', 'memory', 1, 1, 'zz', 'test-64', 'bad', '[0, 0]', 0)")
    connection.close()


def test_texts_that_the_other_program_embedded_are_not_embedded_again(lab) -> None:
    lab.note("memory/a.md", "configured the router\n")
    lab.note("memory/b.md", "moved the printer")
    lab.note("memory/c.md", "a text that is new")
    foreign_index(lab.settings.index_path, ["configured the router\n", "moved the printer"])
    before = lab.settings.index_path.read_bytes()

    result = adopt(lab.settings.index_path, lab.settings.cache_path, max_entries=1000)
    embedder = DeterministicEmbedder(dims=64)
    lab.index(embedders=lambda settings: (embedder, None))

    assert embedder.embedded == ["a text that is new"]
    assert result.moved_to.read_bytes() == before
    assert result.unusable == 1
    assert lab.memory().status().health == "ok"


def test_the_command_says_what_it_did(lab) -> None:
    lab.note("memory/a.md", "configured the router")
    foreign_index(lab.settings.index_path, ["configured the router", "x"])

    refused = lab.run("index", check=False)
    done = lab.run("adopt")

    assert refused.returncode == 1 and "recallite adopt" in refused.stderr
    assert "2 vectors" in done.stdout or "3 vectors" in done.stdout
    assert ".foreign-" in done.stdout


def test_an_index_of_ours_is_not_adopted(lab) -> None:
    lab.note("memory/a.md", "text")
    lab.index()

    with pytest.raises(IndexUnusableError, match="already"):
        adopt(lab.settings.index_path, lab.settings.cache_path, max_entries=10)


def test_nothing_is_not_adopted(lab) -> None:
    with pytest.raises(IndexUnusableError, match="nothing"):
        adopt(lab.settings.index_path, lab.settings.cache_path, max_entries=10)
