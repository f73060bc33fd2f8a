"""Order, filters, threads, forks and agents: what holds for every search."""

from __future__ import annotations

import math
import multiprocessing
import os
import random
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from recallite import MemorySearch, load_settings
from recallite.work import SCAN
from recallite.work.sqlite import SqliteQueue, queue_path
from recallite_worker.executor import EmbeddedExecutor

WORDS = ["router", "printer", "garden", "tax", "invoice", "coffee", "server", "backup", "train", "doctor"]


@pytest.fixture
def mixed(lab):
    """200 notes of random words, so that scores differ in many ways."""
    rng = random.Random(1)
    for number in range(200):
        words = " ".join(rng.choices(WORDS, k=rng.randrange(5, 60)))
        lab.note(f"memory/{number % 10}/{number}.md", f"{words} n{number}")
    lab.index()
    return lab


@pytest.mark.parametrize("fusion", ["weighted", "rrf"])
@pytest.mark.parametrize("model", ["test-64", None])
@pytest.mark.parametrize("query", ["router backup", "coffee", "invoice for the doctor n17", "unknownword printer"])
def test_results_for_k_begin_those_for_k_plus_one(mixed, fusion: str, model: str | None, query: str) -> None:
    mixed.memory_search = {"query": {"hybrid": {"fusion": fusion}}}
    mixed.model = model
    memory = mixed.memory()
    longest = [hit.chunk_id for hit in memory.search(query, max_results=60).hits]

    for k in range(1, 60):
        assert [hit.chunk_id for hit in memory.search(query, max_results=k).hits] == longest[:k]


@pytest.mark.parametrize("fusion", ["weighted", "rrf"])
def test_scores_are_finite_fall_and_never_put_none_above_all(mixed, fusion: str) -> None:
    mixed.memory_search = {"query": {"hybrid": {"fusion": fusion}}}
    memory = mixed.memory()
    for query in (*WORDS, "router backup", "tax invoice doctor", "garden coffee n3"):
        hits = memory.search(query, max_results=200, min_score=0, explain=True).hits
        scores = [hit.score for hit in hits]
        assert all(math.isfinite(score) and 0 <= score <= 1 for score in scores)
        assert scores == sorted(scores, reverse=True)
        worst_exact = min((hit.score for hit in hits if hit.parts.exact), default=1.0)
        best_none = max((hit.score for hit in hits if hit.parts.keyword == 0), default=0.0)
        assert worst_exact >= best_none


def test_keyword_scores_rise_with_the_rank_and_differ(lab) -> None:
    lab.model = None
    for count in range(1, 12):
        lab.note(f"memory/{count}.md", "quokka " * count + "filler " * (60 - count))
    for number in range(20):
        lab.note(f"memory/other{number}.md", "filler " * 60)
    lab.index()

    hits = lab.search("quokka", max_results=20, explain=True).hits

    ranks = [hit.parts.bm25 for hit in hits]
    assert len(hits) == 11
    assert len({round(hit.score, 9) for hit in hits}) == 11
    assert ranks == sorted(ranks)


def test_min_score_never_hides_an_exact_hit(mixed) -> None:
    hits = mixed.search("n17", min_score=1.0).hits

    assert [hit.path for hit in hits] == ["memory/7/17.md"]


def test_a_folder_filter_loses_no_row_that_matches(lab) -> None:
    for number in range(5000):
        lab.note(f"memory/many/{number}.md", f"quokka sighting number {number}")
    for number in range(3):
        lab.note(f"memory/few/{number}.md", f"nothing like it at all, except one quokka, {number} " + "filler " * 30)
    lab.note("memory/few2/x.md", "quokka")
    lab.index()

    hits = lab.search("quokka sighting", folder="memory/few", max_results=3, min_score=0).hits
    none = lab.search("quokka sighting", folder="memory/nowhere", min_score=0).hits
    one = lab.search("quokka", folder="memory/few2/x.md", min_score=0).hits

    assert sorted(hit.path for hit in hits) == [f"memory/few/{n}.md" for n in range(3)]
    assert none == ()
    assert [hit.path for hit in one] == ["memory/few2/x.md"]


def test_a_source_that_has_nothing_gives_nothing(mixed) -> None:
    assert mixed.search("router", sources=["sessions"], min_score=0).hits == ()
    assert mixed.search("router", sources=["memory"], min_score=0).hits != ()


@pytest.mark.parametrize("query", ["", "   ", "\n"])
def test_a_blank_query_finds_nothing(mixed, query: str) -> None:
    reply = mixed.search(query)

    assert reply.hits == () and reply.mode == "none"


def test_vector_search_alone(mixed) -> None:
    mixed.memory_search = {"query": {"hybrid": {"enabled": False}}}

    reply = mixed.search("router printer", min_score=0)

    assert reply.mode == "vector" and reply.hits


def test_a_hit_of_a_changed_or_deleted_file_is_marked(lab) -> None:
    for name in "abc":
        lab.note(f"memory/{name}.md", f"quokka {name}")
    lab.index()
    lab.note("memory/a.md", "quokka a, and more")
    (lab.workspace / "memory/b.md").unlink()

    stale = {hit.path: hit.stale for hit in lab.search("quokka").hits}

    assert stale == {"memory/a.md": True, "memory/b.md": True, "memory/c.md": False}


def test_the_snippet_is_the_part_that_matches(lab) -> None:
    lab.memory_search = {"chunking": {"tokens": 1000, "overlap": 0}}
    lab.note("memory/a.md", "Filler sentence here. " * 100 + "The quokka lives on Rottnest. " + "More filler. " * 100)
    lab.index()

    [hit] = lab.search("quokka Rottnest").hits[:1]

    assert "quokka lives on Rottnest" in hit.snippet
    assert len(hit.snippet) <= 700
    assert hit.snippet in (lab.workspace / "memory/a.md").read_text()


def test_many_threads_share_one_object(mixed) -> None:
    memory = mixed.memory()
    expected = [hit.chunk_id for hit in memory.search("router backup").hits]

    with ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(lambda _: memory.search("router backup"), range(200)))

    assert all([hit.chunk_id for hit in reply.hits] == expected for reply in replies)
    assert threading.active_count() < 50


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform cannot fork")
def test_a_forked_child_opens_its_own_connection(mixed) -> None:
    memory = mixed.memory()
    expected = [hit.chunk_id for hit in memory.search("router backup").hits]
    context = multiprocessing.get_context("fork")
    results = context.Queue()

    def child() -> None:
        results.put([hit.chunk_id for hit in memory.search("router backup").hits])

    processes = [context.Process(target=child) for _ in range(3)]
    for process in processes:
        process.start()
    found = [results.get(timeout=30) for _ in processes]
    for process in processes:
        process.join(30)

    assert found == [expected] * 3
    assert [process.exitcode for process in processes] == [0, 0, 0]
    assert [hit.chunk_id for hit in memory.search("router backup").hits] == expected


@pytest.mark.parametrize("ids", [("a", "A"), ("../b", "b"), ("x/y", "x y"), ("🦓", "zebra"), ("n" * 200, "n" * 201)])
def test_two_agents_with_the_same_text_never_see_each_other(tmp_path, ids: tuple[str, str]) -> None:
    import json

    entries = []
    for number, agent in enumerate(ids):
        workspace = tmp_path / f"w{number}"
        (workspace / "memory").mkdir(parents=True)
        (workspace / "memory" / f"only-{number}.md").write_text("the same secret quokka")
        entries.append({"id": agent, "workspace": str(workspace)})
    config = tmp_path / "openclaw.json"
    config.write_text(json.dumps({"agents": {"list": entries}}))
    settings = load_settings(config, env={"OPENCLAW_STATE_DIR": str(tmp_path / "state")})
    agents = [settings.agent(agent) for agent in settings.agent_ids]
    queue = SqliteQueue(queue_path(settings.state_dir))
    for agent in agents:
        queue.mark(agent.agent, [SCAN])
    EmbeddedExecutor(queue, embedders=lambda settings: (None, "none")).run(agents)
    queue.close()

    for number, agent in enumerate(agents):
        with MemorySearch(settings=agent) as memory:
            assert [hit.path for hit in memory.search("secret quokka").hits] == [f"memory/only-{number}.md"]
            assert memory.get(f"memory/only-{1 - number}.md").text == ""
    files = {path.parent for path in (tmp_path / "state").rglob("*.sqlite")}
    assert files == {tmp_path / "state" / "memory", tmp_path / "state" / "recallite"}


def test_a_disabled_agent_answers_nothing(lab) -> None:
    lab.memory_search = {"enabled": False}

    with pytest.raises(Exception, match="switched off"):
        lab.search("x")


@pytest.mark.parametrize(
    "options", [{"max_results": 0}, {"max_results": -1}, {"min_score": 1.5}, {"min_score": math.nan}]
)
def test_wrong_numbers_are_refused_with_the_value(mixed, options: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=str(next(iter(options.values())))):
        mixed.search("x", **options)


def test_a_question_that_hangs_keeps_no_other_waiting(mixed) -> None:
    import time

    from recallite.testing.embedder import DeterministicEmbedder

    memory = mixed.memory()
    memory.search("router backup")
    release = threading.Event()

    class Slow(DeterministicEmbedder):
        def embed(self, texts, *, kind):
            release.wait(20)
            return super().embed(texts, kind=kind)

    memory._searcher._questions._embedder = Slow(dims=64)
    thread = threading.Thread(target=memory.search, args=("a question that hangs",))
    thread.start()
    began = time.monotonic()
    known = memory.search("router backup")
    waited = time.monotonic() - began
    release.set()
    thread.join()

    assert known.mode == "hybrid" and known.hits
    assert waited < 5
