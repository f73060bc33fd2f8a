"""Decay, MMR and explain on a real index."""

from __future__ import annotations

import json
import os
import re
from datetime import date
from types import SimpleNamespace
from typing import Any

import pytest

from recallite import ConfigError
from recallite.index.connection import IndexReader
from recallite.search.fusion import Scored
from recallite.search.ordering import Ordering, ordered
from recallite.testing.manual_examples import (
    NETWORK,
    PATHS,
    ROD,
    ROD_PATHS,
    SCORES,
    WITH_DECAY,
    WITH_MMR,
    WITHOUT_DECAY,
    WITHOUT_MMR,
)
from recallite.types import ScoreParts

TODAY = date(2026, 2, 10)


def ranked(lab: Any, scores: dict[str, float], ordering: Ordering, **options: Any) -> list[tuple[str, Scored]]:
    """The order of the notes whose merged scores are given, as the search would show them."""
    reader = IndexReader(lab.settings.index_path)
    try:
        with reader.reading() as connection:
            rows = connection.execute("SELECT f.path, c.id FROM chunks c JOIN files f ON f.id = c.file_id").fetchall()
            paths = {id_: path for path, id_ in rows}
            parts = ScoreParts(keyword=0.0, vector=0.0)
            scored = [Scored(id_, scores[path], parts) for path, id_ in rows]
            scored.sort(key=lambda each: -each.score)
            options = {"today": TODAY, "min_score": 0.35, "count": 3, **options}
            found = ordered(connection, scored, ordering=ordering, **options)
            return [(paths[each.chunk_id], each) for each in found]
    finally:
        reader.close()


@pytest.fixture
def network(lab: Any, request: pytest.FixtureRequest) -> Any:
    for path, text in zip(PATHS, NETWORK[request.param], strict=True):
        lab.note(path, text)
    lab.index()
    return SimpleNamespace(lab=lab, scores=dict(zip(PATHS, SCORES, strict=True)))


@pytest.mark.parametrize("network", NETWORK, indirect=True)
def test_the_manuals_example_of_mmr(network: Any) -> None:
    plain = ranked(network.lab, network.scores, Ordering())
    diverse = ranked(network.lab, network.scores, Ordering(lambda_=0.7))

    assert [(path, round(each.score, 2)) for path, each in plain] == list(WITHOUT_MMR)
    assert [(path, round(each.score, 2)) for path, each in diverse] == list(WITH_MMR)


@pytest.mark.parametrize("language", ROD)
def test_the_manuals_example_of_decay(lab: Any, language: str) -> None:
    for path, text in zip(ROD_PATHS, ROD[language], strict=True):
        lab.note(path, text)
    lab.index()
    scores = dict(WITHOUT_DECAY)

    plain = ranked(lab, scores, Ordering(), min_score=0.0)
    aged = ranked(lab, scores, Ordering(half_life_days=30), min_score=0.0)

    assert [(path, each.score) for path, each in plain] == list(WITHOUT_DECAY)
    assert [(path, round(each.parts.decay, 2), round(each.score, 2)) for path, each in aged] == list(WITH_DECAY)
    assert [each.parts.age_days for _, each in aged] == [0, 7, 148]


def decaying(lab: Any, **options: Any) -> Any:
    lab.memory_search = {"query": {"hybrid": {"temporalDecay": {"enabled": True, "halfLifeDays": 30}}}, **options}
    memory = lab.memory()
    memory._searcher.today = lambda: TODAY
    return memory


def test_a_search_lets_dated_notes_age_and_no_others(lab: Any) -> None:
    outside = lab.root / "extra"
    outside.mkdir()
    for path in ("memory/2026-02-10.md", "memory/2026-01-11-slug.md", "memory/sub/2025-11-12.md", "memory/plan.md"):
        lab.note(path, "the quokka report")
    (outside / "guide.md").write_text("the quokka report")
    os.utime(outside / "guide.md", (1768089600, 1768089600))  # 2026-01-11 00:00 UTC
    lab.note("MEMORY.md", "the quokka report")
    memory = decaying(lab, extraPaths=[str(outside)])
    lab.index()

    hits = memory.search("quokka report", explain=True, min_score=0).hits

    factors = {hit.path.rpartition("/")[2]: round(hit.parts.decay, 2) for hit in hits}
    assert factors.pop("guide.md") in (0.49, 0.5)  # a day more west of Greenwich
    assert factors == {
        "2026-02-10.md": 1.0,
        "2026-01-11-slug.md": 0.5,
        "2025-11-12.md": 0.12,
        "plan.md": 1.0,
        "MEMORY.md": 1.0,
    }
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_paths_that_never_age_can_be_named(lab: Any) -> None:
    outside = lab.root / "extra"
    (outside / "runbooks").mkdir(parents=True)
    for path in ("runbooks/restart.md", "old.md"):
        (outside / path).write_text("the quokka report")
        os.utime(outside / path, (1600000000, 1600000000))
    lab.note("memory/2020-01-01-plan.md", "the quokka report")
    lab.note("memory/2020-01-01.md", "the quokka report")
    decay = {"enabled": True, "evergreen": ["runbooks/", "*-plan.md"]}
    lab.memory_search = {"query": {"hybrid": {"temporalDecay": decay}}, "extraPaths": [str(outside)]}
    lab.index()

    hits = lab.search("quokka report", explain=True, min_score=0).hits

    ages = {hit.path.rpartition("/")[2]: hit.parts.age_days is None for hit in hits}
    assert ages == {"restart.md": True, "2020-01-01-plan.md": True, "old.md": False, "2020-01-01.md": False}


def test_a_pattern_that_cannot_be_one_is_an_error(lab: Any) -> None:
    lab.memory_search = {"query": {"hybrid": {"temporalDecay": {"enabled": True, "evergreen": ["[z-a]"]}}}}

    with pytest.raises(ConfigError, match=r"temporalDecay.evergreen: .*nothing lies between"):
        _ = lab.settings


def test_an_exact_hit_is_returned_however_old_it_is(lab: Any) -> None:
    lab.model = None
    lab.note("memory/2020-01-01.md", "codeword ZEBRA-7731")
    lab.index()

    [hit] = decaying(lab).search("ZEBRA-7731", explain=True).hits

    assert hit.path == "memory/2020-01-01.md" and hit.parts.exact
    assert hit.score < 0.01


def test_the_hits_for_k_begin_those_for_k_plus_one_with_decay_and_mmr(lab: Any) -> None:
    for number in range(60):
        text = f"router {'printer' if number % 3 else 'garden'} backup {'coffee ' * (number % 7)}"
        lab.note(f"memory/2026-{number % 12 + 1:02}-{number % 28 + 1:02}-{number}.md", text)
    lab.memory_search = {"query": {"hybrid": {"mmr": {"enabled": True}, "temporalDecay": {"enabled": True}}}}
    lab.index()
    memory = lab.memory()
    longest = [hit.chunk_id for hit in memory.search("router coffee", max_results=40, min_score=0).hits]

    for k in range(1, 40):
        assert [hit.chunk_id for hit in memory.search("router coffee", max_results=k, min_score=0).hits] == longest[:k]


def test_near_repetitions_give_way_in_a_search(lab: Any) -> None:
    lab.model = None
    for day in range(1, 9):
        lab.note(f"memory/2026-02-0{day}.md", f"The router was restarted, VLAN 10 works, entry {day}")
    lab.note(
        "memory/network.md", "The router is an Omada ER605 in the cellar, behind the water meter and the old boiler"
    )
    lab.index()
    lab.memory_search = {"query": {"hybrid": {"mmr": {"enabled": True}}}}

    hits = lab.search("router", max_results=3, explain=True).hits

    assert "memory/network.md" in [hit.path for hit in hits]
    assert all(hit.parts.similarity is not None for hit in hits)


def test_a_note_is_not_buried_by_a_chatty_file(lab: Any) -> None:
    lab.model = None
    lines = [
        f"User: about the router again, attempt {n}, what was the password?\nAssistant: no idea {n}\n"
        for n in range(9000)
    ]
    lab.note("memory/chat.md", "".join(lines))
    lab.note("memory/router.md", "The router password is in the red folder.")
    lab.index()

    assert "memory/router.md" in lab.paths("router password", max_results=3)


def test_explain_gives_each_hits_parts(lab: Any) -> None:
    lab.note("memory/a.md", "the router in the cellar")
    lab.note("memory/b.md", "something about a printer")
    lab.index()

    first, *_ = lab.search("router cellar", explain=True, min_score=0).hits

    assert first.path == "memory/a.md"
    assert first.parts.exact and first.parts.keyword_rank == 1 and first.parts.vector_rank == 1
    weighted = 0.7 * first.parts.vector + 0.3 * first.parts.keyword
    assert first.parts.merged == pytest.approx(weighted)
    assert first.parts.decay == 1.0 and first.parts.age_days is None and first.parts.similarity is None


@pytest.mark.parametrize("fusion", ["weighted", "rrf"])
def test_the_parts_add_up_to_the_score_with_all_that_changes_it(lab: Any, fusion: str) -> None:
    for number in range(12):
        lab.note(f"memory/2026-01-{number + 10}.md", f"the router was restarted, entry {number}")
    lab.note("memory/2026-01-05.md", "the router in the cellar")
    lab.sessions.mkdir(parents=True)
    said = [f"the router and the cellar came up again, {'and again ' * 60} in part {number}" for number in range(12)]
    lines = [{"type": "message", "message": {"role": "user", "content": text}} for text in said]
    (lab.sessions / "long.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    hybrid = {
        "fusion": fusion,
        "mmr": {"enabled": True},
        "temporalDecay": {"enabled": True, "halfLifeDays": 30},
    }
    memory = decaying(
        lab,
        sources=["memory", "sessions"],
        experimental={"sessionMemory": True},
        query={"hybrid": hybrid},
        chunking={"tokens": 160, "overlap": 0},
    )
    lab.index()

    hits = memory.search("router cellar boiler", explain=True, min_score=0, max_results=60).hits
    hits += memory.search("router cellar", explain=True, min_score=0, max_results=60).hits

    for hit in hits:
        parts = hit.parts
        start = parts.merged if parts.lifted is None else parts.lifted
        assert hit.score == pytest.approx(start * parts.decay * parts.gave_way), hit
    assert any(hit.parts.lifted for hit in hits)
    assert any(hit.parts.decay < 1 for hit in hits)
    assert any(hit.parts.gave_way < 1 for hit in hits)


def test_the_command_tells_what_a_hit_was_lifted_to(lab: Any) -> None:
    lab.memory_search = {"provider": "builtin"}
    lab.note("memory/a.md", "The printer is in the cellar next to the boiler.")
    lab.note("memory/b.md", "printer paper is cheap")
    lab.run("index")

    found = lab.run("search", "--explain", "printer in the cellar").stdout

    score, merged, weight, lifted = re.search(
        r"(\S+) memory/a.md.*\n.* merged (\S+) \(words weigh (\S+)\), lifted above those less like the query (\S+)\n",
        found,
    ).groups()
    assert score == lifted > merged and weight == "0.30"


def test_the_command_explains(lab: Any) -> None:
    lab.model = None
    lab.memory_search = {"query": {"hybrid": {"mmr": {"enabled": True}, "temporalDecay": {"enabled": True}}}}
    lab.note("memory/2020-01-01.md", "the router in the cellar")
    lab.index()

    out = lab.run("search", "--explain", "router").stdout

    assert "keyword" in out and "#1, bm25" in out and "every term" in out
    assert "days old: × 0.00" in out and "likeness to those above 0.00" in out
