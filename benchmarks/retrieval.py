"""How well the search finds the right note: nDCG@10 by keyword, by vector and hybrid, beside plain FTS5.

Default settings and the built-in model; sets of docs.jsonl, queries.jsonl and qrels.tsv (data/README.md).
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path

import apsw

from benchmarks.corpus import write_config
from benchmarks.report import Report
from recallite import AgentSettings, MemorySearch, load_settings
from recallite.evaluation.measures import mean, measure
from recallite.evaluation.questions import Answer, Question
from recallite.evaluation.runs import evaluate
from recallite.types import Hit
from recallite.work import SCAN
from recallite.work.sqlite import SqliteQueue, queue_path
from recallite_worker.executor import EmbeddedExecutor

DATA = Path(__file__).parent / "data"
MIXED = ("xquad-en", "xquad-de", "xquad-zh")
"""Together an index with a third of the notes from each, asked in the first and the last language."""
ACROSS_LANGUAGES = (("xquad-de", "xquad-en"), ("xquad-zh", "xquad-en"))
"""Questions of the first set, with the notes of the second."""
DEPTH = 10


def run() -> Report:
    report = Report("Retrieval (nDCG@10, default settings, built-in model)")
    sets = sorted(folder for folder in DATA.iterdir() if folder.is_dir())
    if further := os.environ.get("RECALLITE_RETRIEVAL_SETS"):
        own = {folder.name for folder in sets}
        sets += sorted(folder for folder in Path(further).iterdir() if folder.is_dir() and folder.name not in own)
    for documents in sets:
        with tempfile.TemporaryDirectory() as name:
            settings = _indexed(documents, Path(name))
            askers = [documents, *(DATA / one for one, other in ACROSS_LANGUAGES if other == documents.name)]
            with MemorySearch(settings=settings) as memory:
                for asked in askers:
                    title = documents.name if asked == documents else f"{asked.name} on {documents.name}"
                    _measure(report, title, memory, documents, _questions(asked, documents))
    _measure_mixed(report)
    return report


def _measure_mixed(report: Report) -> None:
    with tempfile.TemporaryDirectory() as name:
        mixed = Path(name) / "mixed"
        mixed.mkdir()
        sets = [list(_rows(DATA / one / "docs.jsonl").items()) for one in MIXED]
        chosen = [sets[number % len(sets)][number] for number in range(len(sets[0]))]
        lines = [json.dumps({"id": id_, "text": text}, ensure_ascii=False) for id_, text in chosen]
        (mixed / "docs.jsonl").write_text("\n".join(lines), "utf-8")
        shutil.copy(DATA / MIXED[0] / "qrels.tsv", mixed)
        settings = _indexed(mixed, Path(name) / "agent")
        with MemorySearch(settings=settings) as memory:
            for asked in (MIXED[0], MIXED[-1]):
                _measure(report, f"{asked} on a third of each", memory, mixed, _questions(DATA / asked, mixed))


def _rows(file: Path) -> dict[str, str]:
    lines = (json.loads(line) for line in file.read_text("utf-8").split("\n") if line)
    return {row["id"]: row["text"] for row in lines}


def _indexed(documents: Path, root: Path) -> AgentSettings:
    notes = root / "workspace" / "memory"
    notes.mkdir(parents=True)
    for id_, text in _rows(documents / "docs.jsonl").items():
        (notes / f"{id_}.md").write_text(text, "utf-8")
    config = write_config(root, provider="builtin")
    settings = load_settings(config, env={**os.environ, "OPENCLAW_STATE_DIR": str(root / "state")}).agent()
    queue = SqliteQueue(queue_path(settings.state_dir))
    queue.mark(settings.agent, [SCAN])
    EmbeddedExecutor(queue).run([settings])
    queue.close()
    return settings


def _questions(asked: Path, documents: Path) -> list[Question]:
    texts = _rows(asked / "queries.jsonl")
    answers: dict[str, list[Answer]] = {}
    for line in (documents / "qrels.tsv").read_text("utf-8").splitlines():
        question, document, gain = line.split("\t")
        if question in texts and float(gain) > 0:
            answers.setdefault(question, []).append(Answer(f"memory/{document}.md", gain=float(gain)))
    return [Question(texts[id_], tuple(found)) for id_, found in answers.items()]


def _measure(report: Report, title: str, memory: MemorySearch, documents: Path, questions: list[Question]) -> None:
    plain = _plain_fts5(documents, questions)
    report.add(f"{title}: FTS5, bm25() with AND", plain, "")
    keyword, vector, hybrid = (
        result.measures.ndcg if result.measures is not None else None
        for result in evaluate(memory, questions, k=6).results
    )
    report.add(f"{title}: keyword", keyword or 0.0, "", at_least=plain)
    if vector is not None and hybrid is not None:
        report.add(f"{title}: vector", vector, "")
        report.add(f"{title}: hybrid", hybrid, "", at_least=round(max(keyword or 0.0, vector, plain), 4))


def _plain_fts5(documents: Path, questions: list[Question]) -> float:
    """What SQLite gives by itself: every word of the question must stand in the note."""
    database = apsw.Connection(":memory:")
    database.execute("CREATE VIRTUAL TABLE notes USING fts5(path UNINDEXED, body)")
    for id_, text in _rows(documents / "docs.jsonl").items():
        database.execute("INSERT INTO notes VALUES (?, ?)", (f"memory/{id_}.md", text))
    measures = []
    for question in questions:
        words = " AND ".join('"' + word.replace('"', '""') + '"' for word in question.text.replace("\0", " ").split())
        rows = database.execute(
            "SELECT path FROM notes WHERE notes MATCH ? ORDER BY bm25(notes) LIMIT ?", (words, DEPTH)
        ).fetchall()
        hits = [Hit(path, 1, 1, 0.0, "", "memory", 0) for (path,) in rows]
        measures.append(measure(hits, question, k=6))
    return mean(measures).ndcg
