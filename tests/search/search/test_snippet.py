"""The snippet is the verbatim window that holds the answer."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recallite.search.query import parse_query
from recallite.search.snippet import MAX_CHARACTERS, snippet

FILLER = "This sentence says nothing of interest. " * 40


@pytest.mark.parametrize(
    ("answer", "query"),
    [
        ("The quokka lives on Rottnest Island.", "where does the quokka live"),
        ("Der Drucker steht im Büro.", "drucker buro"),
        ("服务器放在地下室。", "地下室"),
        ("ルーターの設定を変更した。", "設定"),
        ("run apply_secrets --all now", "apply_secrets"),
        ("Ｆｕｌｌ width QUOKKA", "full quokka"),
        ("only punctuation: §§§ here", "§§§"),
        ("une ide\u0301e géniale", "idée"),
    ],
)
def test_the_window_holds_the_match(answer: str, query: str) -> None:
    text = FILLER + answer + " " + FILLER

    found = snippet(text, parse_query(query))

    assert answer in found
    assert found in text
    assert len(found) <= MAX_CHARACTERS


def test_a_short_text_is_its_own_snippet() -> None:
    assert snippet("short", parse_query("x")) == "short"


def test_without_a_match_it_is_the_beginning() -> None:
    assert FILLER.startswith(snippet(FILLER, parse_query("zebra")))


def test_the_densest_window_wins() -> None:
    text = "printer " + FILLER + "the printer and the router share VLAN 30 " + FILLER + " router"

    assert "share VLAN 30" in snippet(text, parse_query("printer router vlan"))


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=3000), st.text(min_size=1, max_size=20))
def test_it_is_always_a_verbatim_part_within_the_limit(text: str, query: str) -> None:
    found = snippet(text, parse_query(query), limit=100)

    assert found in text
    assert len(found) <= 100
