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
    new_tai_lue = {*range(0x19B0, 0x19CA), 0x1CF2, 0x1CF3}  # vowel signs to FTS5, letters since Unicode 8
    differing = []
    for code in range(0x20, 0x30000):
        if 0xD800 <= code < 0xE000 or code in new_tai_lue:
            continue
        folded = fold(chr(code))
        seen = list(
            tokenizer(
                folded.encode(), apsw.FTS5_TOKENIZE_DOCUMENT, None, include_offsets=False, include_colocated=False
            )
        )
        if WORD.findall(folded) != seen:
            differing.append(hex(code))

    assert differing == []


def test_every_cjk_character_is_a_word_to_fts5() -> None:
    connection = apsw.Connection(":memory:")
    connection.execute("CREATE VIRTUAL TABLE f USING fts5(body, tokenize='unicode61 remove_diacritics 2')")
    for code in [*range(0x3041, 0x3097), *range(0x4E00, 0x4E80), *range(0xAC00, 0xAC40), 0x20000, 0x3005, 0x30FC]:
        assert UNSPACED_RUN.fullmatch(fold(chr(code)))
        connection.execute("INSERT INTO f VALUES (?)", (index_form(chr(code)),))
        [(count,)] = connection.execute("SELECT count(*) FROM f WHERE f MATCH ?", (f'"{fold(chr(code))}"*',)).fetchall()
        assert count >= 1, hex(code)
