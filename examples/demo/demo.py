"""Index the notes beside this folder, ask four questions, and fail if an answer is not where it should be.

The index goes to the directory that is given as an argument, else to `.demo/` in the root of the repository; never to
the state directory of the agents on this machine.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from environment import plain_environment

HERE = Path(__file__).resolve().parent
STATE_DIR = sys.argv[1] if len(sys.argv) > 1 else str(HERE.parent.parent / ".demo")
RECALLITE = (sys.executable, "-m", "recallite.cli.main", "--config", str(HERE / "openclaw.json"))
FINE, DEGRADED = 0, 3


class Question(NamedTuple):
    text: str
    shows: str
    expected: str
    by_meaning: bool  # only vectors can find the answer


QUESTIONS = (
    Question("OMADA_SITE_ID", "An identifier, exactly", "memory/2026-03-04-router-swap.md", False),
    Question("Has there been a blackout?", "In other words than the note has", "memory/2026-06-04.md", True),
    Question(
        "Wann reist Lena nach China und was will sie dort sehen?",
        "Asked in German, answered from a Chinese note",
        "memory/2026-10-30.md",
        True,
    ),
    Question("税関", "Two Japanese characters (“customs”) inside a sentence", "memory/2026-03-11.md", False),
)


def recallite(*arguments: str, shown: bool = False) -> tuple[int, str]:
    """The exit code of a command, and what it prints, which goes to the terminal instead if `shown`."""
    env = {**plain_environment(), "OPENCLAW_STATE_DIR": STATE_DIR, "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(
        [*RECALLITE, *arguments], env=env, stdout=None if shown else subprocess.PIPE, encoding="utf-8", check=False
    )
    if done.returncode not in (FINE, DEGRADED):
        sys.exit(f"demo failed: recallite {arguments[0]} ended with code {done.returncode}")
    return done.returncode, done.stdout


def index_notes() -> bool:
    """Whether the notes have vectors now; on a platform without the built-in model they have none."""
    print(f"$ recallite index\n[into {STATE_DIR}]", flush=True)
    code, _ = recallite("index", shown=True)
    if code == FINE:
        return True
    status: dict[str, Any] = json.loads(recallite("status", "--json")[1])[0]
    if status["provider"] is not None:
        sys.exit("demo failed: not all notes are indexed: " + "; ".join(status["problems"]))
    print(f"\nQuestions by meaning are left out: {status['provider_reason']}")
    return False


def ask(question: Question) -> bool:
    """Print the answers; whether the expected note is among them."""
    print(f"\n{question.shows}:\n$ recallite search -n 2 --query '{question.text}'")
    hits = json.loads(recallite("search", "-n", "2", "--json", "--query", question.text)[1])["results"]
    for hit in hits:
        mark = "✔" if hit["path"] == question.expected else " "
        print(f"  {mark} {hit['score']:.2f}  {hit['path']}:{hit['start_line']}-{hit['end_line']}")
        lines = [line for line in hit["snippet"].splitlines() if line.strip()]
        for line in lines[:6]:
            print(f"      │ {line if len(line) <= 100 else line[:99] + '…'}")
    return any(hit["path"] == question.expected for hit in hits)


def main() -> None:
    sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]  # notes in many scripts, on any console
    with_vectors = index_notes()
    missed = [q for q in QUESTIONS if (with_vectors or not q.by_meaning) and not ask(q)]
    if missed:
        sys.exit("\ndemo failed: " + "; ".join(f"no {q.expected} among the answers to '{q.text}'" for q in missed))
    print("\nEvery answer is where it should be.")


if __name__ == "__main__":
    main()
