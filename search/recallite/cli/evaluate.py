"""Measure the search with your own questions: a file of questions, each with the notes that answer it.

One JSON object a line: {"question": "where is the printer?", "answers": ["memory/network.md", "MEMORY.md#L3-L8"]}
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from recallite.cli.output import add_agent, add_json, fraction, print_json, result_count, visible
from recallite.wording import counted

if TYPE_CHECKING:
    from recallite.evaluation.runs import Evaluation


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("questions", metavar="FILE", help="questions: .jsonl, or a JSON5 list")
    add_agent(parser)
    parser.add_argument(
        "-k", type=result_count, metavar="N", help="results that recall counts, 1 to 200 (default: query.maxResults)"
    )
    parser.add_argument("--min-score", type=fraction, metavar="S", help="least score (default: query.minScore)")
    parser.add_argument("--sweep", action="store_true", help="try other weights, and reciprocal ranks")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    from recallite.client import MemorySearch
    from recallite.evaluation.questions import read_questions
    from recallite.evaluation.runs import evaluate

    questions = read_questions(Path(args.questions))
    with MemorySearch(args.agent, config=args.config) as memory:
        k = args.k if args.k is not None else memory.settings.search.query.max_results
        found = evaluate(memory, questions, k=k, min_score=args.min_score, sweep=args.sweep)
    if args.json:
        print_json(asdict(found))
    else:
        _print(found)
    return 0 if any(result.measures for result in found.results) else 1


def _print(found: Evaluation) -> None:
    width = max(len(result.way) for result in found.results)
    print(counted(found.questions, "question"))
    print(f"{'':<{width}}  {f'recall@{found.k}':>9}  nDCG@10    MRR")
    for result in found.results:
        if result.measures is None:
            print(f"{result.way:<{width}}  not measured: {visible(result.reason or '')}")
        else:
            m = result.measures
            print(f"{result.way:<{width}}  {m.recall:>9.3f}  {m.ndcg:>7.3f}  {m.mrr:>5.3f}")
    if found.unknown:
        listed = ", ".join(visible(path) for path in found.unknown[:5])
        print(
            f"[{counted(len(found.unknown), 'answer is', 'answers are')} not in the index, such as {listed}]",
            file=sys.stderr,
        )
