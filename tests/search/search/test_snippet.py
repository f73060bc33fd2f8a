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


def repeated(line: str) -> str:
    return "".join(f"- {line} {number}, as it was told to us by the others\n" for number in range(24))


@pytest.mark.parametrize(
    ("others", "answer", "query"),
    [
        ("C: driver of the controller stays in C", "The desktop program is written in C++ and in nothing else.", "C++"),
        ("C: driver of the controller stays in C", "The desktop program is written in C++.", "which driver for C++?"),
        ("port eth3 is up, eth3", "The uplink is --eth3 in the script.", "--eth3"),
        ("exit code 1 in the job", "Final state was code -1 after all.", "code -1"),
        ("exit code 1 in job 1", "It ended with -1 after all.", "-1"),
        ("cafe with friends, cafe", "The word with an accent is café here.", "café"),
        ("cafe with friends, cafe", "The word with an accent is cafe\u0301 here.", "Café"),
        ("it was said that it needs it", "The IT department has the key.", "IT"),
        ("it is on the list of who has it", "The IT department is away.", "who is in IT"),
        ("set maxresults to", "The key is maxResults, as ever.", "maxResults"),
        ("the foo bar of foo bar", "Call foo_bar for it.", "foo_bar"),
        ("a and b, b and a", "It goes a->b here.", "a->b"),
        ("the printer and the cellar", "He wrote: where is the printer in the cellar.", "printer in the cellar"),
    ],
)
def test_what_is_spelt_as_it_was_asked_comes_before_what_is_folded_alike(others: str, answer: str, query: str) -> None:
    before, after = repeated(others) + answer + "\n", answer + "\n" + repeated(others)
    amid = repeated(others) + answer + "\n" + repeated(others)

    for text in (before, after, amid):
        found = snippet(text, parse_query(query))

        assert answer in found and found in text and len(found) <= MAX_CHARACTERS


@pytest.mark.parametrize("query", ["WHERE IS THE PRINTER", "Where is the Printer?", "where is the printer?"])
def test_capitals_of_a_sentence_and_its_end_do_not_decide(query: str) -> None:
    text = "THE END? THE PRINT? " + FILLER + "where the printer is, is the cellar. " + FILLER

    assert "the cellar" in snippet(text, parse_query(query))


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
