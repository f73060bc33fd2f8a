"""Numbers with the right words behind them."""

from __future__ import annotations

import pytest

from recallite.wording import counted


@pytest.mark.parametrize(("number", "text"), [(0, "0 files"), (1, "1 file"), (2, "2 files")])
def test_a_noun(number: int, text: str) -> None:
    assert counted(number, "file") == text


def test_a_noun_with_its_verb() -> None:
    assert counted(1, "file waits", "files wait") == "1 file waits"
    assert counted(3, "file waits", "files wait") == "3 files wait"
