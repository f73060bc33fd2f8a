"""A user's words become quoted terms, whatever they are."""

from __future__ import annotations

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recallite.search.query import MAX_TERMS, parse_query


def terms(text: str) -> list[str]:
    return [term.fts for term in parse_query(text).terms]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("router", ['"router"']),
        ("What is the router for?", ['"router"']),
        ("the of and", ['"the"', '"of"', '"and"']),
        ("DEC-0054", ['"dec 0054"']),
        ("don't", ['"don t"']),
        ("memorySearch.query.hybrid", ['"memorysearch query hybrid"']),
        ("C++", ['"c"']),
        ("路由器", ['"路由"', '"由器"']),
        ("路", ['"路"*']),
        ("SSH铁律", ['"ssh"', '"铁律"']),
        ("Wo ist der Drucker?", ['"drucker"']),
        ("où est l'imprimante", ['"l imprimante"']),
        ("¿Dónde está la impresora?", ['"impresora"']),
        ("***", []),
        ("", []),
    ],
)
def test_terms(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


def test_a_very_long_query_is_cut() -> None:
    assert len(parse_query(" ".join(f"w{n}" for n in range(5000))).terms) == MAX_TERMS


@given(st.text(max_size=80))
def test_no_text_makes_an_expression_that_fts5_refuses(text: str) -> None:
    query = parse_query(text.encode("utf-8", "replace").decode())
    connection = apsw.Connection(":memory:")
    connection.execute("CREATE VIRTUAL TABLE f USING fts5(body, content='', tokenize='unicode61')")
    every = [*query.terms, *(related.term for related in query.related), *([query.phrase] if query.phrase else [])]
    for expression in (" OR ".join(t.fts for t in every), " AND ".join(t.fts for t in every)):
        if every:
            connection.execute("SELECT rowid FROM f WHERE f MATCH ?", (expression,)).fetchall()


def test_one_common_word_left_of_a_sentence_is_not_distinctive() -> None:
    assert not parse_query("where did you put it").distinctive
    assert parse_query("where is DEC-0054").distinctive
    assert parse_query("router").distinctive
