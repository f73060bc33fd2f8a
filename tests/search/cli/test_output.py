"""Text on its way to a terminal, a pipe or another program."""

from __future__ import annotations

import argparse
import io
import json

import pytest

from recallite.cli.output import MOST_RESULTS, accept_any_text, print_json, result_count, visible
from recallite.search.searcher import MAX_CANDIDATES


@pytest.mark.parametrize(("text", "number"), [("1", 1), ("200", 200), ("201", None), ("0", None), ("2.5", None)])
def test_results_are_counted_from_one_to_the_most_that_a_search_gives(text: str, number: int | None) -> None:
    assert MOST_RESULTS == MAX_CANDIDATES
    if number is not None:
        assert result_count(text) == number
        return
    with pytest.raises(argparse.ArgumentTypeError, match=f"'{text}' is not a whole number"):
        result_count(text)


def test_control_characters_are_shown_and_all_else_stays() -> None:
    assert visible("a\x1b[31m\n\x7f\x9b\u2028ü税🙂") == r"a\x1b[31m\n\x7f\x9b\u2028ü税🙂"
    assert visible("a\n\tb\x1b", keep="\n\t") == "a\n\tb\\x1b"


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_what_an_encoding_does_not_have_is_escaped(encoding: str) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)

    accept_any_text(stream)
    stream.write("税\udcff")
    stream.flush()

    assert b"\\udcff" in stream.buffer.getvalue()  # type: ignore[attr-defined]  # a BytesIO


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_json_stays_json_in_any_encoding(monkeypatch: pytest.MonkeyPatch, encoding: str) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    monkeypatch.setattr("sys.stdout", stream)

    print_json({"path": "税関 ü\udcff"})
    stream.flush()

    assert json.loads(stream.buffer.getvalue().decode(encoding)) == {"path": "税関 ü\udcff"}  # type: ignore[attr-defined]
