"""Cutting what was said: the same chunks, however it arrives, and no more memory than a piece takes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recallite.transcripts import Message
from recallite_worker import dialogue
from recallite_worker.chunking import UNITS_PER_TOKEN, ChunkText, estimated_units
from recallite_worker.dialogue import Place, cut
from recallite_worker.generations import ChunkSettings

SMALL = ChunkSettings(tokens=40, overlap=8)
words = st.sampled_from(["alpha", "beta", "Gamma.", "eps,", "zeta!", "日本語です。", "foo/bar", "😀", "x" * 90])
said = st.lists(st.lists(words, min_size=1, max_size=60).map(" ".join), max_size=25)


def messages(texts: list[str]) -> list[Message]:
    """One in every second line of a file."""
    found, offset = [], 0
    for number, text in enumerate(texts):
        found.append(Message(2 * number + 1, offset, f"{'Assistant' if number % 2 else 'User'}: {text}"))
        offset += 10 * len(text) + 1
    return found


def chunks(found: list[Message]) -> list[ChunkText]:
    return [chunk for piece in cut(found, SMALL, start=Place()) for chunk in piece.chunks]


@given(said)
@settings(deadline=None, max_examples=200)
def test_chunks_are_verbatim_within_the_budget_and_know_their_lines(texts: list[str]) -> None:
    found = messages(texts)
    by_line = {message.line: message.text for message in found}

    for chunk in chunks(found):
        lines = [by_line[line] for line in range(chunk.start_line, chunk.end_line + 1, 2)]
        assert chunk.text in "\n".join(lines)
        assert chunk.text.split("\n")[0] in lines[0] and chunk.text.split("\n")[-1] in lines[-1]
        assert estimated_units(chunk.text) <= SMALL.tokens * UNITS_PER_TOKEN


@given(said)
@settings(deadline=None, max_examples=200)
def test_every_word_is_in_a_chunk(texts: list[str]) -> None:
    found = messages(texts)
    everything = "".join(chunk.text for chunk in chunks(found)).split()

    for message in found:
        assert all(word in " ".join(everything) for word in message.text.split() if len(word) < 20)


@given(said, st.integers(1, 400))
@settings(deadline=None, max_examples=200)
def test_the_size_of_a_piece_changes_nothing(texts: list[str], size: int) -> None:
    found = messages(texts)
    whole = chunks(found)
    before = dialogue.PIECE_CHARACTERS
    dialogue.PIECE_CHARACTERS = size
    try:
        assert chunks(found) == whole
    finally:
        dialogue.PIECE_CHARACTERS = before


@given(said, st.lists(st.integers(1, 7), min_size=1, max_size=20))
@settings(deadline=None, max_examples=200)
def test_going_on_gives_what_reading_in_one_go_gives(texts: list[str], steps: list[int]) -> None:
    found = messages(texts)
    kept: list[ChunkText] = []
    place, order, known = Place(), 0, 0
    while known < len(found):
        known += steps[known % len(steps)]
        rest = [message for message in found[:known] if message.offset >= place.offset]
        pieces = list(cut(rest, SMALL, start=place))
        kept = [*kept[:order], *(chunk for piece in pieces for chunk in piece.chunks)]
        last = [piece.following for piece in pieces if piece.following is not None]
        if last:
            place, order = last[-1], len(kept) - 1

    assert kept == chunks(found)


@pytest.mark.parametrize("texts", [[], ["one"]])
def test_there_is_always_a_last_piece(texts: list[str]) -> None:
    pieces = list(cut(messages(texts), SMALL, start=Place()))

    assert [piece.is_last for piece in pieces] == [True]
    assert (pieces[0].following is None) is (not texts)


def test_a_message_as_long_as_a_book_is_cut_piece_by_piece() -> None:
    text = "word " * 400_000

    pieces = list(cut(messages([text]), ChunkSettings(400, 80), start=Place()))

    assert max(len(piece.chunks) for piece in pieces) < 200
    assert sum(len(piece.chunks) for piece in pieces) > 1000
    assert {(chunk.start_line, chunk.end_line) for piece in pieces for chunk in piece.chunks} == {(1, 1)}
