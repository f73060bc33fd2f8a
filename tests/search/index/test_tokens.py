"""The form that text has in the keyword index, and that it fits what FTS5 makes of it."""

from __future__ import annotations

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recallite.index.tokens import UNSPACED_RUN, WORD, fold, index_form


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("Straße", "strasse"),
        ("Ｆｕｌｌ", "full"),
        ("Café", "cafe"),
        ("Cafe\u0301", "cafe"),
        ("ΣΊΣΥΦΟΣ", "σισυφοσ"),
        ("Great🥳news", "great news"),
        ("设置", " 设置 置 "),
        ("路", " 路 "),
        ("SSH服务器", "ssh 服务 务器 器 "),
        ("ｶﾞ", " ガ "),
        ("memorySearch", "memorysearch\nmemory search"),
        ("HTTPServer", "httpserver\nhttp server"),
        ("plain TEXT", "plain text"),
        ("a\0b", "a b"),
        ("\x1b[31mred\x1b[0m", " red "),
    ],
)
def test_forms(text: str, form: str) -> None:
    assert index_form(text) == form


@given(st.text())
def test_folding_twice_changes_nothing(text: str) -> None:
    assert fold(fold(text)) == fold(text)


def test_fts5_sees_the_same_words_as_we_do() -> None:
    connection = apsw.Connection(":memory:")
    tokenizer = connection.fts5_tokenizer("unicode61", ["remove_diacritics", "2"])
    vedic = {0x1CF2, 0x1CF3}  # signs to FTS5, letters since Unicode 8
    differing = []
    for code in range(0x20, 0x33480):
        if 0xD800 <= code < 0xE000 or code in vedic:
            continue
        folded = UNSPACED_RUN.sub(" ", fold(chr(code)))
        seen = list(
            tokenizer(
                folded.encode(), apsw.FTS5_TOKENIZE_DOCUMENT, None, include_offsets=False, include_colocated=False
            )
        )
        if WORD.findall(folded) != seen:
            differing.append(hex(code))

    assert differing == []


def test_every_character_of_a_script_without_spaces_is_a_word_to_fts5() -> None:
    connection = apsw.Connection(":memory:")
    tokenizer = connection.fts5_tokenizer("unicode61", ["remove_diacritics", "2"])
    codes = [code for code in range(0x1000, 0x3FFFE) if not 0xD800 <= code < 0xE000]
    unspaced = [folded for folded in (fold(chr(code)) for code in codes) if UNSPACED_RUN.fullmatch(folded)]

    missed = [
        hex(ord(folded[0]))
        for folded in unspaced
        if not tokenizer(
            folded.encode(), apsw.FTS5_TOKENIZE_DOCUMENT, None, include_offsets=False, include_colocated=False
        )
    ]

    assert missed == []
    assert len(unspaced) > 150_000
