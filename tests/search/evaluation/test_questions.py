"""A list of questions in both forms, and clear words for what is wrong in one."""

from __future__ import annotations

from pathlib import Path

import pytest

from recallite.evaluation.questions import Answer, Question, QuestionsError, read_questions
from recallite.types import Hit


def written(folder: Path, text: str, name: str = "q.jsonl") -> Path:
    file = folder / name
    file.write_text(text, "utf-8")
    return file


def test_json_lines(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        '{"question": "where is it?", "answers": ["memory/a.md", {"path": "MEMORY.md#L3-L8", "gain": 2}]}\n\n'
        '{"id": 7, "question": "谁？", "answer": "./memory/b.md#L4"}\n',
    )

    assert read_questions(file) == [
        Question("where is it?", (Answer("memory/a.md"), Answer("MEMORY.md", 3, 8, 2.0))),
        Question("谁？", (Answer("memory/b.md", 4, 4),)),
    ]


def test_a_json5_list(tmp_path: Path) -> None:
    file = written(tmp_path, "// mine\n[{question: 'who?', answers: ['memory/a.md'],},]", "q.json5")

    assert read_questions(file) == [Question("who?", (Answer("memory/a.md"),))]


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        ("{oops\n", "q.jsonl", "line 1: not JSON"),
        ('{"question": "a", "answer": "b"}\n[]\n', "q.jsonl", "line 2: must be an object"),
        ("[", "q.json5", "is not JSON5"),
        ("{}", "q.json", "must hold a list"),
        ("[]", "q.json", "has no questions"),
        ("\n", "q.jsonl", "has no questions"),
        ("[{question: '', answers: ['a']}]", "q.json", "entry 1: question must be a text"),
        ("[{question: 'a', answers: []}]", "q.json", "must name at least one note"),
        ("[{question: 'a'}]", "q.json", "an answer is a path"),
        ("[{question: 'a', answers: [{path: 'x', gain: 0}]}]", "q.json", "gain is 0"),
        ("[{question: 'a', answers: [{path: 'x', weight: 1}]}]", "q.json", "an answer is a path"),
        ("[{query: 'a', answers: ['x']}]", "q.json", "unknown key 'query'"),
        ("\0\0\0", "q.json", "looks binary"),
        (
            "[{question: 'a', answer: 'm.md#L5-L2'}]",
            "q.json",
            "entry 1: 'm.md#L5-L2' names no lines: they count from 1",
        ),
        ("[{question: 'a', answer: 'm.md#L0-L3'}]", "q.json", "'m.md#L0-L3' names no lines"),
        ("[{question: 'a', answer: 'm.md#L0'}]", "q.json", "'m.md#L0' names no lines"),
        pytest.param(f"[{{question: 'a', answer: 'm.md#L{'9' * 5000}'}}]", "q.json", "names no lines", id="long"),
        pytest.param("[" * 100_000, "q.jsonl", "line 1: not JSON", id="deep lines"),
        pytest.param("[" * 100_000, "q.json5", "is not JSON5", id="deep list"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(tmp_path: Path, text: str, name: str, message: str) -> None:
    with pytest.raises(QuestionsError, match=message):
        read_questions(written(tmp_path, text, name))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(QuestionsError, match="cannot be read: No such file"):
        read_questions(tmp_path / "none.jsonl")


@pytest.mark.parametrize(
    ("answer", "given"),
    [
        (Answer("a.md"), True),
        (Answer("b.md"), False),
        (Answer("a.md", 8, 9), True),
        (Answer("a.md", 1, 3), True),
        (Answer("a.md", 9, 9), False),
        (Answer("a.md", 1, 2), False),
    ],
)
def test_a_hit_gives_an_answer_when_it_overlaps_its_lines(answer: Answer, given: bool) -> None:
    assert answer.given_by(Hit("a.md", 3, 8, 1.0, "", "memory", 1)) is given
