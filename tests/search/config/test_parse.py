"""JSON, JSON5 and what is neither."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from recallite.config import Settings, load_settings
from recallite.errors import ConfigError

Load = Callable[..., Settings]
Problems = Callable[..., list[str]]

JSON = '{"agents": {"defaults": {"memorySearch": {"query": {"maxResults": 7}}}}}'
JSON5 = """
{
  // a comment
  agents: { defaults: { memorySearch: { query: { 'maxResults': +7, /* another */ }, }, }, },
}
"""


@pytest.mark.parametrize("text", [JSON, JSON5, JSON5.replace("\n", "\r\n")])
def test_json_and_json5_mean_the_same(load: Load, text: str) -> None:
    assert load(text).agent(None).search.query.max_results == 7


@pytest.mark.parametrize("text", [JSON, JSON5])
def test_a_byte_order_mark_is_ignored(load: Load, text: str) -> None:
    assert load("\ufeff" + text).agent(None).search.query.max_results == 7


@pytest.mark.parametrize("number", ["7.0", "0.7e1", "7"])
def test_whole_numbers_may_be_written_with_a_point(load: Load, number: str) -> None:
    assert load(JSON.replace("7", number)).agent(None).search.query.max_results == 7


def test_a_syntax_error_names_file_line_and_column(load: Load, home: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load("{\n  agents: {\n    list: [}\n  }\n}")

    assert caught.value.file == home / ".openclaw" / "openclaw.json"
    assert caught.value.problems == ['line 3, column 12: syntax error: unexpected "}"']


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "the file is empty"),
        ("// nothing\n", "syntax error"),
        ("[]", "one object"),
        ("null", "one object"),
        ('{"a": 1} x', "line 1, column 10"),
        ("[" * 100_000, "nested too deeply"),
        ('{"a": "x\ny"}', "line 1, column"),
    ],
)
def test_what_is_no_object_is_refused(problems: Problems, text: str, problem: str) -> None:
    (line,) = problems(text)

    assert problem in line


@pytest.mark.parametrize("depth", [400, 600, 900])
def test_a_value_nested_deeper_than_can_be_followed_is_refused(problems: Problems, depth: int) -> None:
    value = "[" * depth + "]" * depth

    (line,) = problems(JSON.replace('"query"', f'"extraPaths": {value}, "query"'))

    assert "nested too deeply" in line or "extraPaths[0]" in line


def test_other_encodings_are_refused_with_the_line(home: Path) -> None:
    file = home / "latin.json"
    file.write_bytes(b'{\n"agents": {}, "\xfc": 1}')

    with pytest.raises(ConfigError, match="line 2: the file is not UTF-8"):
        load_settings(file, env={}, home=home)


def test_a_key_given_twice_is_an_error(problems: Problems) -> None:
    text = '{"agents": {"defaults": {"memorySearch": {"model": "a", "model": "b"}}}}'

    assert problems(text) == ["agents.defaults.memorySearch.model: the key is given twice"]


def test_a_section_given_twice_is_an_error_in_json5_too(problems: Problems) -> None:
    assert problems("{memory: {}, memory: {},}") == ["memory: the key is given twice"]


def test_keys_of_other_programs_may_be_given_twice(load: Load) -> None:
    assert load('{"channels": {"x": 1, "x": 2}}').agent_ids == ("main",)


def test_plain_json_does_not_load_the_slow_parser(home: Path) -> None:
    (home / "plain.json").write_text(JSON)
    program = (
        "import sys; from recallite.config import load_settings; load_settings(sys.argv[1]);"
        "sys.exit('json5' in sys.modules)"
    )

    done = subprocess.run([sys.executable, "-c", program, str(home / "plain.json")], check=False)

    assert done.returncode == 0
