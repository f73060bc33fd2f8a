"""An index follows its files: every change, once, and nothing else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from recallite.index.connection import IndexReader
from recallite.index.rows import fetch
from recallite.index.vector import VectorIndex
from recallite.testing.embedder import DeterministicEmbedder


class Counting:
    """An embedder factory that counts the texts it was asked for."""

    def __init__(self, dims: int = 64) -> None:
        self.embedder = DeterministicEmbedder(dims=dims, model=f"test-{dims}")

    def __call__(self, settings: object) -> tuple[DeterministicEmbedder, None]:
        return self.embedder, None

    @property
    def texts(self) -> list[str]:
        return self.embedder.embedded


def rows(lab) -> dict[str, int]:
    """Counts of the active index: chunks, keyword rows, vectors, and what is left over."""
    status = lab.memory().status()
    return {"files": status.files_indexed, "chunks": status.chunks, "vectors": status.vectors.indexed}


def test_a_second_run_reads_no_file_and_embeds_nothing(lab, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(20):
        lab.note(f"memory/{number}.md", f"note {number}")
    counting = Counting()
    lab.index(embedders=counting)
    lab.settle()
    lab.index(embedders=counting)
    sent = len(counting.texts)
    opened: list[str] = []
    real_open = os.open
    monkeypatch.setattr(os, "open", lambda path, *a, **k: opened.append(str(path)) or real_open(path, *a, **k))

    outcome = lab.index(embedders=counting)

    assert outcome.files_written == 0
    assert len(counting.texts) == sent == 20
    assert not [path for path in opened if path.endswith(".md")]


@pytest.mark.parametrize("way", ["append", "rewrite", "same size and time", "rename over", "delete", "empty"])
def test_each_kind_of_change_is_seen(lab, way: str) -> None:
    note = lab.note("memory/a.md", "the old word: aardvark")
    lab.index()
    lab.settle()
    before = note.stat()
    new = "the new word: zygodont"
    if way == "append":
        note.write_text("the old word: aardvark\n\nzygodont")
    elif way == "rewrite":
        note.write_text(new)
    elif way == "same size and time":
        note.write_text(new)
        os.utime(note, ns=(before.st_atime_ns, before.st_mtime_ns))
    elif way == "rename over":
        other = lab.root / "tmp"
        other.write_text(new)
        other.replace(note)
    elif way == "delete":
        note.unlink()
    else:
        note.write_text("")

    lab.index()

    found = lab.paths("zygodont", min_score=0.5)
    gone = [hit for hit in lab.search("aardvark").hits if "aardvark" in hit.snippet]
    assert (found == ["memory/a.md"]) is (way not in ("delete", "empty"))
    assert bool(gone) is (way == "append")
    assert lab.memory().status().health in ("ok", "empty")


def test_only_changed_text_is_embedded(lab) -> None:
    paragraphs = [f"## Part {n}\n\n" + f"Sentence about topic number {n}. " * 40 for n in range(30)]
    lab.note("memory/long.md", "\n\n".join(paragraphs))
    counting = Counting()
    lab.index(embedders=counting)
    first = len(counting.texts)

    with (lab.workspace / "memory/long.md").open("a") as file:
        file.write("\n\none more line\n")
    lab.index(embedders=counting)
    appended = len(counting.texts) - first
    (lab.workspace / "memory/long.md").rename(lab.workspace / "memory/renamed.md")
    (lab.workspace / "memory/sub").mkdir()
    lab.index(embedders=counting)
    (lab.workspace / "memory/renamed.md").rename(lab.workspace / "memory/sub/moved.md")
    os.utime(lab.workspace / "memory/sub/moved.md")
    lab.index(embedders=counting)
    lab.index(rebuild=True, embedders=counting)

    assert first > 20
    assert appended <= 2
    assert len(counting.texts) - first == appended
    assert lab.paths("topic number 7")[0] == "memory/sub/moved.md"


def test_a_directory_that_is_moved_away_takes_all_its_rows_along(lab) -> None:
    for number in range(10):
        lab.note(f"memory/project/{number}.md", f"secret plan {number}")
    lab.note("memory/other.md", "something else")
    lab.index()
    assert rows(lab) == {"files": 11, "chunks": 11, "vectors": 11}

    (lab.workspace / "memory/project").rename(lab.root / "elsewhere")
    lab.index()

    assert rows(lab) == {"files": 1, "chunks": 1, "vectors": 1}
    assert all("plan" not in hit.snippet for hit in lab.search("secret plan").hits)


def test_text_is_found_before_any_vector_exists(lab) -> None:
    lab.note("memory/a.md", "the word is quokka")
    seen: list[list[str]] = []

    class Slow(Counting):
        def __call__(self, settings: object) -> tuple[DeterministicEmbedder, None]:
            real = self.embedder.embed

            def embed(texts, *, kind):
                if kind == "document":
                    seen.append(lab.paths("quokka"))
                return real(texts, kind=kind)

            self.embedder.embed = embed  # type: ignore[method-assign]
            return self.embedder, None

    lab.index(embedders=Slow())

    assert seen == [["memory/a.md"]]


def test_nothing_is_ever_written_into_the_notes(lab) -> None:
    lab.note("MEMORY.md", "---\ntitle: x\n---\nbody")
    lab.note("memory/a.md", "no front matter")
    before = _tree(lab.workspace)

    lab.index()
    lab.search("body")
    lab.index(rebuild=True)

    assert _tree(lab.workspace) == before


def _tree(root: Path) -> dict[str, tuple[bytes, int]]:
    return {str(p): (p.read_bytes(), p.stat().st_mtime_ns) for p in root.rglob("*") if p.is_file()}


def test_new_chunk_settings_cut_anew_and_embed_only_new_texts(lab) -> None:
    lab.note("memory/short.md", "a short note stays one chunk")
    lab.note("memory/long.md", "\n\n".join(f"Paragraph {n}. " * 30 for n in range(12)))
    counting = Counting()
    lab.index(embedders=counting)
    before, chunks = len(counting.texts), rows(lab)["chunks"]

    lab.memory_search = {"chunking": {"tokens": 200, "overlap": 0}}
    lab.index(embedders=counting)

    assert rows(lab)["chunks"] > chunks
    assert "a short note stays one chunk" in counting.texts[:before]
    assert "a short note stays one chunk" not in counting.texts[before:]
    assert lab.memory().status().health == "ok"


def test_the_old_index_answers_until_the_new_model_is_complete(lab) -> None:
    for number in range(40):
        lab.note(f"memory/{number}.md", f"note number {number} is about subject {number}")
    lab.index()
    during: list[tuple[str, int]] = []

    class Watching(Counting):
        def __call__(self, settings: object) -> tuple[DeterministicEmbedder, None]:
            real = self.embedder.embed

            def embed(texts, *, kind):
                reply = lab.search("subject 7")
                during.append((reply.mode, len(reply.hits)))
                lab.model = "test-32"
                keyword = lab.search("subject 7")
                lab.model = "test-64"
                during.append((keyword.mode, len(keyword.hits)))
                return real(texts, kind=kind)

            self.embedder.embed = embed  # type: ignore[method-assign]
            return self.embedder, None

    lab.index(embedders=Watching(dims=32))
    lab.model = "test-32"
    after = lab.search("subject 7")

    assert during[0][0] == "hybrid" and during[0][1] > 0
    assert during[1][0] == "keyword" and during[1][1] > 0
    assert (after.mode, after.model) == ("hybrid", "test-32")
    assert rows(lab) == {"files": 40, "chunks": 40, "vectors": 40}


def test_going_back_to_the_old_model_embeds_nothing_again(lab) -> None:
    lab.note("memory/a.md", "first note")
    old, new = Counting(64), Counting(32)
    lab.index(embedders=old)
    lab.index(embedders=new)
    lab.note("memory/b.md", "second note")
    lab.index(embedders=new)

    lab.index(embedders=old)

    assert old.texts == ["first note", "second note"]
    assert new.texts == ["first note", "second note"]
    assert rows(lab)["vectors"] == 2


def test_losing_the_provider_keeps_text_and_vectors(lab) -> None:
    lab.note("memory/a.md", "first note")
    lab.index()
    lab.model = None
    lab.note("memory/b.md", "second note")
    lab.index()
    assert lab.paths("second") == ["memory/b.md"]

    lab.model = "test-64"
    counting = Counting()
    lab.index(embedders=counting)

    assert counting.texts == ["second note"]
    assert rows(lab)["vectors"] == 2


def test_without_the_cache_nothing_is_kept_but_all_is_indexed(lab) -> None:
    lab.memory_search = {"cache": {"enabled": False}}
    lab.note("memory/a.md", "first note")

    lab.index()

    assert rows(lab)["vectors"] == 1
    assert not lab.settings.cache_path.exists()


@pytest.mark.parametrize("cache", [{"enabled": False}, {"maxEntries": 5}])
@pytest.mark.parametrize("extension", [True, False])
def test_a_rebuild_pays_for_new_texts_only_also_where_the_cache_holds_none(lab, cache, extension: bool) -> None:
    lab.memory_search = {"cache": cache, "store": {"vector": {"enabled": extension}}}
    for number in range(40):
        lab.note(f"memory/{number}.md", f"the short note {number}")
    lab.note("memory/long.md", "a sentence of some words. " * 80)
    lab.index()
    before = {text: vector for text, vector in vectors(lab).items() if text.startswith("the short")}
    lab.memory_search = {**lab.memory_search, "chunking": {"tokens": 100, "overlap": 20}}
    counting = Counting()

    lab.index(embedders=counting)

    assert counting.texts and all(text.startswith("a sentence") for text in counting.texts)
    assert {text: vector for text, vector in vectors(lab).items() if text.startswith("the short")} == before
    assert lab.memory().status().health == "ok"


def test_the_cache_is_pruned_oldest_first(lab) -> None:
    lab.memory_search = {"cache": {"maxEntries": 5}}
    for number in range(12):
        lab.note(f"memory/{number}.md", f"note {number}")

    lab.index()

    assert lab.memory().status().cache_entries == 5


def test_fifty_rounds_of_edits_do_not_let_the_file_grow(lab) -> None:
    for number in range(100):
        lab.note(f"memory/{number}.md", f"note {number} round 0")
    lab.index()
    lab.index(rebuild=True)
    size = lab.settings.index_path.stat().st_size

    for turn in range(1, 51):
        for number in range(0, 100, 2):
            lab.note(f"memory/{number}.md", f"note {number} round {turn}")
        lab.index()

    assert lab.settings.index_path.stat().st_size < 3 * size
    assert rows(lab)["vectors"] == 100


def test_thousands_of_small_files_are_all_indexed_in_one_run(lab) -> None:
    for number in range(3000):
        lab.note(f"memory/{number % 30}/{number}.md", f"tiny note {number}")

    lab.index()

    assert rows(lab) == {"files": 3000, "chunks": 3000, "vectors": 3000}


def test_a_rebuild_that_is_forced_twice_ends_in_a_searchable_index(lab) -> None:
    lab.note("memory/a.md", "the word is quokka")
    for _ in range(2):
        lab.index(rebuild=True)

    assert lab.paths("quokka") == ["memory/a.md"]
    assert lab.memory().status().health == "ok"
    assert lab.memory().status().rebuild is None


def test_equal_texts_in_many_files_all_keep_their_vectors(lab) -> None:
    for number in range(40):
        lab.note(f"memory/{number:02d}.md", "the same text" if number in (3, 20, 38) else f"note {number}")
    lab.index()

    assert rows(lab) == {"files": 40, "chunks": 40, "vectors": 40}
    lab.note("memory/99.md", "the same text")
    lab.index()
    assert rows(lab) == {"files": 41, "chunks": 41, "vectors": 41}


def test_a_vector_that_comes_later_takes_none_away(lab) -> None:
    from recallite.testing.scripted_embedder import ScriptedEmbedder

    for number in range(30):
        lab.note(f"memory/{number:02d}.md", f"word{number} text")
    embedder = ScriptedEmbedder()
    embedder.spoil = lambda text, vector: None if "word7 " in text and len(embedder.sent) < 3 else vector
    for _ in range(3):
        lab.index(embedders=lambda settings: (embedder, None))

    assert rows(lab) == {"files": 30, "chunks": 30, "vectors": 30}


def test_a_text_that_got_a_bad_vector_once_is_asked_for_again(lab) -> None:
    import math

    from recallite.testing.scripted_embedder import ScriptedEmbedder

    lab.note("memory/a.md", "good")
    lab.note("memory/b.md", "spoilt")
    embedder = ScriptedEmbedder()
    bad = [True]
    embedder.spoil = lambda text, vector: [math.nan] * 16 if text == "spoilt" and bad else vector
    lab.index(embedders=lambda settings: (embedder, None))
    assert rows(lab)["vectors"] == 1

    bad.clear()
    lab.index(embedders=lambda settings: (embedder, None))

    assert rows(lab)["vectors"] == 2


def test_extra_paths_inside_each_other_lose_nothing(lab) -> None:
    lab.memory_search = {"extraPaths": [str(lab.root / "notes"), str(lab.root / "notes/zz/.inner")]}
    for path in ("notes/a.md", "notes/zz/.inner/b.md"):
        (lab.root / path).parent.mkdir(parents=True, exist_ok=True)
        (lab.root / path).write_text(f"quokka in {path}")
    lab.index()
    (lab.root / "notes/zz/.inner/b.md").write_text("quokka, edited")
    settings = lab.settings
    from recallite.work.sqlite import SqliteQueue, queue_path
    from recallite_worker.sync import sync_agent

    queue = SqliteQueue(queue_path(settings.state_dir))
    queue.mark(settings.agent, [str(lab.root / "notes/zz/.inner/b.md")])
    sync_agent(settings, queue, embedders=lab.embedders)
    queue.close()

    assert sorted(lab.paths("quokka")) == [str(lab.root / "notes/a.md"), str(lab.root / "notes/zz/.inner/b.md")]
    assert lab.paths("edited") == [str(lab.root / "notes/zz/.inner/b.md")]


def vectors(lab) -> dict[str, bytes]:
    """The vectors that answer, by the text of their chunks."""
    reader = IndexReader(lab.settings.index_path)
    with reader.reading() as connection:
        space = reader.snapshot().space
        assert space is not None
        texts = dict(
            fetch(
                connection,
                "SELECT c.id, c.text FROM chunks c JOIN files f ON f.id = c.file_id WHERE f.generation = ?",
                (space.generation,),
            )
        )
        found = VectorIndex(connection).vectors(texts, space)
    reader.close()
    return {texts[id_]: vector.tobytes() for id_, vector in found.items()}
