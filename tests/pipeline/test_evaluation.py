"""`recallite eval` on a real index."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from recallite.evaluation.questions import Answer, Question
from recallite.evaluation.runs import evaluate


@pytest.fixture
def noted(lab: Any) -> Any:
    for number in range(30):
        lab.note(f"memory/{number}.md", f"Entry {number} about unrelated things, such as lunch and weather")
    lab.note("memory/printer.md", "# Printer\n\nIt stands in the cellar, on VLAN 30.\n")
    lab.note("memory/router.md", "# Router\n\nOmada ER605.\n")
    lab.index()
    return lab


QUESTIONS = [
    Question("where does the printer stand?", (Answer("memory/printer.md"),)),
    Question("omada er605", (Answer("memory/router.md", 3, 3),)),
]


def test_three_ways_are_measured(noted: Any) -> None:
    found = evaluate(noted.memory(), QUESTIONS, k=6)

    results = {result.way: result for result in found.results}
    assert list(results) == ["keyword", "vector", "hybrid (0.7/0.3, weighted)"]
    assert results["keyword"].measures.ndcg == results["hybrid (0.7/0.3, weighted)"].measures.ndcg == 1.0
    assert 0 <= results["vector"].measures.ndcg <= 1
    assert found.unknown == ()


def test_a_sweep_tries_other_weights_and_ranks(noted: Any) -> None:
    found = evaluate(noted.memory(), QUESTIONS, k=6, sweep=True)

    assert "hybrid (0.5/0.5, weighted)" in [result.way for result in found.results]
    assert found.results[-1].way == "hybrid (rrf)"
    assert all(result.measures is not None for result in found.results)


def test_without_vectors_two_ways_are_said_not_to_be_measured(noted: Any) -> None:
    noted.model = None

    keyword, vector, hybrid = evaluate(noted.memory(), QUESTIONS, k=6).results

    assert keyword.measures.mrr == 1.0
    assert vector.measures is None and vector.reason == "no provider in this test"
    assert hybrid.measures is None


def test_measuring_asks_for_no_updates_and_changes_nothing(noted: Any) -> None:
    def state() -> dict[str, bytes]:
        files = [file for file in noted.root.rglob("*") if file.is_file() and file.name != "openclaw.json"]
        return {str(file): file.read_bytes() for file in files if not file.name.endswith("-shm")}

    before = state()
    evaluate(noted.memory(), QUESTIONS, k=6)

    assert state() == before


def test_a_note_may_be_named_by_where_it_lies(noted: Any) -> None:
    outside = noted.root / "extra"
    outside.mkdir()
    (outside / "guide.md").write_text("The quokka lives on Rottnest Island.")
    noted.memory_search = {"extraPaths": [str(outside)]}
    noted.index()
    asked = [
        Question("where does the printer stand?", (Answer(str(noted.workspace / "memory/printer.md")),)),
        Question("omada er605", (Answer("memory//./router.md", 3, 3),)),
        Question("where does the quokka live?", (Answer("../extra/guide.md"), Answer(str(outside / "none.md")))),
    ]

    found = evaluate(noted.memory(), asked, k=6)

    assert found.unknown == (str(outside / "none.md"),)
    assert found.results[0].measures is not None and found.results[0].measures.mrr == 1.0


def test_the_command(noted: Any, tmp_path: Path) -> None:
    noted.model = None
    file = tmp_path / "mine.jsonl"
    file.write_text(
        '{"question": "where does the printer stand?", "answers": ["memory/printer.md"]}\n'
        '{"question": "omada", "answers": ["memory/gone.md"]}\n'
    )

    text = noted.run("eval", str(file))
    data = json.loads(noted.run("eval", str(file), "-k", "3", "--json").stdout)
    wrong = noted.run("eval", str(tmp_path / "none.jsonl"), check=False)

    assert "2 questions" in text.stdout and "recall@6" in text.stdout
    assert "keyword" in text.stdout and "0.500    0.500  0.500" in text.stdout
    assert "memory/gone.md" in text.stderr
    assert (data["questions"], data["k"], data["unknown"]) == (2, 3, ["memory/gone.md"])
    assert data["results"][0] == {
        "way": "keyword",
        "measures": {"recall": 0.5, "ndcg": 0.5, "mrr": 0.5},
        "reason": None,
    }
    assert wrong.returncode == 1 and "cannot be read" in wrong.stderr
