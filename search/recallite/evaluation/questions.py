"""A user's list of questions, each with the notes that answer it: JSON lines, or a JSON5 list."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import json5

from recallite.errors import RecalliteError
from recallite.types import Hit
from recallite.workspace.text import decode

_LINES = re.compile(r"(.+)#L(\d+)(?:-L?(\d+))?")
_MOST_DIGITS = 9


class QuestionsError(RecalliteError):
    """The list of questions cannot be used; the message names the entry, and what it must be."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A note, or some lines of it, with how much finding it is worth."""

    path: str
    first_line: int | None = None
    last_line: int | None = None
    gain: float = 1.0

    def given_by(self, hit: Hit) -> bool:
        """Whether the hit shows this answer: it overlaps the lines, or is any part of the note."""
        if hit.path != self.path:
            return False
        if self.first_line is None or self.last_line is None:
            return True
        return hit.start_line <= self.last_line and hit.end_line >= self.first_line


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, and all that would answer it."""

    text: str
    answers: tuple[Answer, ...]


def read_questions(file: Path) -> list[Question]:
    """The questions of a file: one JSON object a line (`.jsonl`), or one JSON5 list.

    An entry is `{question: "…", answers: ["memory/a.md", "MEMORY.md#L3-L8", {path: "…", gain: 2}]}`; `answer`
    may be a single one. Raises QuestionsError.
    """
    try:
        text = decode(file.read_bytes())
    except OSError as error:
        raise QuestionsError(f"{file} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise QuestionsError(f"{file} {error}") from error
    entries = _lines(text, file) if file.suffix.lower() in (".jsonl", ".ndjson") else _list(text, file)
    found = [_question(entry, f"{file}, {place}") for place, entry in entries]
    if not found:
        raise QuestionsError(f"{file} has no questions")
    return found


def _lines(text: str, file: Path) -> Iterator[tuple[str, object]]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            yield f"line {number}", json.loads(line)
        except (ValueError, RecursionError) as error:
            raise QuestionsError(f"{file}, line {number}: not JSON ({error})") from error


def _list(text: str, file: Path) -> Iterator[tuple[str, object]]:
    try:
        tree = json5.loads(text)
    except (ValueError, RecursionError) as error:
        raise QuestionsError(f"{file} is not JSON5: {error}; a file of JSON lines must end in .jsonl") from error
    if not isinstance(tree, list):
        raise QuestionsError(f"{file} must hold a list of questions")
    for number, entry in enumerate(tree, 1):
        yield f"entry {number}", entry


def _question(entry: object, place: str) -> Question:
    if not isinstance(entry, dict):
        raise QuestionsError(f"{place}: must be an object with question and answers")
    if unknown := sorted(set(entry) - {"id", "question", "answer", "answers"}):
        raise QuestionsError(f"{place}: unknown key {unknown[0]!r}; there are question, answers, answer, id")
    text = entry.get("question")
    if not isinstance(text, str) or not text.strip():
        raise QuestionsError(f"{place}: question must be a text")
    given = entry.get("answers", entry.get("answer"))
    listed = given if isinstance(given, list) else [given]
    answers = tuple(_answer(each, place) for each in listed)
    if not answers:
        raise QuestionsError(f"{place}: answers must name at least one note")
    return Question(text, answers)


def _answer(value: object, place: str) -> Answer:
    fields: dict[str, Any] = dict(value) if isinstance(value, dict) else {"path": value}
    path, gain = fields.pop("path", None), fields.pop("gain", 1)
    if fields or not isinstance(path, str) or not path.strip():
        raise QuestionsError(f'{place}: an answer is a path such as "memory/a.md" or "memory/a.md#L3-L8"')
    if isinstance(gain, bool) or not isinstance(gain, int | float) or not 0 < gain < 1000:
        raise QuestionsError(f"{place}: gain is {gain!r}, it must be a number above 0")
    name = path.strip().removeprefix("./")
    found = _LINES.fullmatch(name)
    if found is None:
        return Answer(name, gain=float(gain))
    first, last = found[2], found[3] or found[2]
    if len(max(first, last, key=len)) > _MOST_DIGITS or not 1 <= int(first) <= int(last):
        raise QuestionsError(f"{place}: {name[:200]!r} names no lines: they count from 1, the first before the last")
    return Answer(found[1], int(first), int(last), float(gain))
