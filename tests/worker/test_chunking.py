"""Chunks are verbatim slices within the budget, with the right lines, and nothing is lost."""

from __future__ import annotations

import re
import time
from itertools import pairwise

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from recallite.workspace import LineMap
from recallite_worker.chunking import UNITS_PER_TOKEN, ChunkText, chunk_lines, chunk_markdown, estimated_units
from recallite_worker.cuts import WORD

FRAGMENTS = st.sampled_from(
    [
        "# Heading\n", "## Zweite Überschrift\r\n", "Title\n=====\n", "text ", "a", " ", "\t", "\n", "\n\n", "\r\n", "\r",
        "- item one\n", "1. first\n", "```python\nprint('x')\n\nx = 1\n```\n", "~~~\n# no heading\n~~~\n", "```\n",
        "| a | b |\n|---|---|\n", "Ein längerer Satz. Noch einer! ", "這是一個很長的中文句子，沒有空格。", "日本語のテキストです。",
        "한국어 문장입니다. ", "👩‍👩‍👧‍👦", "🇩🇪🇫🇷", "e\u0301", "\u2500\u2500\u2500", "：：：", "𠀀𠀁", "---\n", "key: value\n",
        "x" * 50, "wort " * 20, "\u2028", "\x85", "\x0b", "\ufeff", "https://example.com/" + "p" * 80,
    ]
)  # fmt: skip
DOCUMENTS = st.one_of(st.lists(FRAGMENTS, max_size=60).map("".join), st.text(max_size=400))
BUDGETS = st.tuples(st.integers(16, 60), st.integers(0, 59)).map(lambda pair: (pair[0], min(pair[1], pair[0] - 1)))


@settings(max_examples=2000, deadline=None)
@given(DOCUMENTS, BUDGETS)
def test_every_document_is_cut_into_verbatim_slices_that_cover_it(text: str, budget: tuple[int, int]) -> None:
    tokens, overlap = budget

    chunks = chunk_markdown(text, tokens=tokens, overlap=overlap)

    lines = LineMap(text)
    covered = set()
    for chunk in chunks:
        assert chunk.text == text[chunk.start : chunk.end]
        assert chunk.text.strip(), "a blank chunk"
        assert estimated_units(chunk.text) <= tokens * UNITS_PER_TOKEN
        assert lines.start_of(chunk.start_line) <= chunk.start < lines.start_of(chunk.start_line + 1)
        assert lines.start_of(chunk.end_line) < chunk.end <= lines.start_of(chunk.end_line + 1)
        covered.update(range(chunk.start, chunk.end))
    assert all(text[i].isspace() for i in range(len(text)) if i not in covered)
    assert all(a.end < b.end and a.start < b.start for a, b in pairwise(chunks))


@settings(max_examples=300, deadline=None)
@given(DOCUMENTS, BUDGETS)
def test_what_a_chunk_repeats_stays_within_the_overlap(text: str, budget: tuple[int, int]) -> None:
    tokens, overlap = budget

    chunks = chunk_markdown(text, tokens=tokens, overlap=overlap)

    for before, after in pairwise(chunks):
        repeated = text[after.start : before.end] if after.start < before.end else ""
        assert estimated_units(repeated) <= overlap * UNITS_PER_TOKEN


WORDS = st.builds(
    lambda piece, length: (piece * length)[:length],
    st.sampled_from(["0f3a", "/usr/lib", "snake_case-", "a,b;", "ключ", "한국", "é", "😀"]),
    st.integers(1, 260),
)
PROSE = st.lists(st.one_of(FRAGMENTS, WORDS, st.just("    "), st.just("word, ")), max_size=40).map("".join)


@settings(max_examples=3000, deadline=None)
@given(st.one_of(PROSE, DOCUMENTS), BUDGETS, st.booleans())
def test_every_word_that_fits_is_whole_in_some_chunk(text: str, budget: tuple[int, int], is_markdown: bool) -> None:
    tokens, overlap = budget
    cut = chunk_markdown if is_markdown else chunk_lines

    chunks = cut(text, tokens=tokens, overlap=overlap)

    for word in WORD.finditer(text):
        if estimated_units(word.group()) <= tokens * UNITS_PER_TOKEN:
            assert any(c.start <= word.start() and word.end() <= c.end for c in chunks), word


def test_an_emoji_that_lies_over_the_end_of_a_chunk_is_cut_the_same_from_any_chunk_on() -> None:
    family = "👩\u200d👩\u200d👧\u200d👦"
    text = ("0f3a" * 95)[:378] + ("snake_case-" * 30)[:260] + 2 * family
    chunks = chunk_lines(text, tokens=16, overlap=7)

    for index, chunk in enumerate(chunks):
        again = chunk_lines(text[chunk.start :], tokens=16, overlap=7)
        assert [each.text for each in again] == [each.text for each in chunks[index:]]
    assert family in {chunk.text[-len(family) :] for chunk in chunks}


@settings(max_examples=1000, deadline=None)
@given(PROSE, BUDGETS, st.data())
def test_lines_are_cut_the_same_from_any_chunk_on(text: str, budget: tuple[int, int], data: st.DataObject) -> None:
    tokens, overlap = budget
    chunks = chunk_lines(text, tokens=tokens, overlap=overlap)
    assume(chunks)
    index = data.draw(st.integers(0, len(chunks) - 1))

    again = chunk_lines(text[chunks[index].start :], tokens=tokens, overlap=overlap)

    assert [c.text for c in again] == [c.text for c in chunks[index:]]


@pytest.mark.parametrize(("tokens", "overlap"), [(400, 80), (400, 0), (400, 399), (64, 10), (16, 15), (16, 0)])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.56, 0.9, 1.0])
def test_a_long_word_in_prose_is_whole_wherever_it_stands(tokens: int, overlap: int, share: float) -> None:
    word = "0123456789abcdef" * 100
    word = word[: int(share * tokens * UNITS_PER_TOKEN)]
    for before in range(0, 40 * tokens, 7 * tokens // 16):
        text = ("some prose. " * 4000)[:before] + f" {word} and more prose" * 3

        chunks = chunk_markdown(text, tokens=tokens, overlap=overlap)

        assert sum(chunk.text.count(word) for chunk in chunks) >= 3


def test_a_word_keeps_its_place_between_characters_without_spaces() -> None:
    for before in range(90):
        text = "文" * before + "OPENAI_API_KEY" + "文" * 90

        chunks = chunk_markdown(text, tokens=32, overlap=4)

        assert any("OPENAI_API_KEY" in chunk.text for chunk in chunks)


@pytest.mark.parametrize("length", range(1598, 1603))
def test_the_budget_holds_at_its_very_edge(length: int) -> None:
    chunks = chunk_markdown("a" * length + "\nrest", tokens=400, overlap=80)

    assert max(len(chunk.text) for chunk in chunks) <= 1600


def test_one_long_line_keeps_its_budget_and_gains_no_line_ends() -> None:
    text = "word " * 1000

    chunks = chunk_markdown(text, tokens=400, overlap=80)

    assert max(len(chunk.text) for chunk in chunks) <= 1600
    assert not any("\n" in chunk.text for chunk in chunks)
    assert len({(chunk.start, chunk.end) for chunk in chunks}) == len(chunks)


def test_a_chinese_character_counts_a_token() -> None:
    chunks = chunk_markdown("文" * 1000, tokens=400, overlap=0)

    assert [len(chunk.text) for chunk in chunks] == [400, 400, 200]


def test_a_cut_falls_before_the_heading() -> None:
    text = "# One\n\n" + "first part. " * 90 + "\n\n# Two\n\n" + "second part. " * 90

    chunks = chunk_markdown(text, tokens=400, overlap=80)

    assert [chunk.text[:5] for chunk in chunks] == ["# One", "# Two"]


@pytest.mark.parametrize("one", ["# Chapter Two\n\n## Section one\n\n", "Chapter Two\n===\n\nSection one\n---\n\n"])
@pytest.mark.parametrize("length", range(600, 1700, 50))
def test_headings_in_a_row_are_not_parted(one: str, length: int) -> None:
    sentence = "a sentence of the body goes on here. "
    text = "# Intro\n\n" + (sentence * 60)[:length] + "\n\n" + one + sentence * 60

    chunks = chunk_markdown(text, tokens=400, overlap=80)

    [holding] = [chunk.text for chunk in chunks if "Chapter Two" in chunk.text]
    assert "Section one" in holding and "sentence" in holding.partition("Section one")[2]


@given(DOCUMENTS, BUDGETS)
def test_lines_that_end_with_a_carriage_return_are_cut_at_the_same_places(text: str, budget: tuple[int, int]) -> None:
    tokens, overlap = budget
    text = text.replace("\r\n", "\n").replace("\r", "\n")

    chunks = chunk_markdown(text.replace("\n", "\r"), tokens=tokens, overlap=overlap)

    expected = [chunk.text for chunk in chunk_markdown(text, tokens=tokens, overlap=overlap)]
    assert [chunk.text.replace("\r", "\n") for chunk in chunks] == expected


@settings(max_examples=2000, deadline=None)
@given(st.lists(st.sampled_from(["# One two\n", "## Three\n\n", "Four\n====\n", "body text.\n", "\n", "x" * 20 + "\n", "- a\n"]), max_size=60),
       st.integers(24, 100), st.integers(0, 20))  # fmt: skip
def test_no_chunk_ends_with_a_heading_unless_nothing_else_fits(parts: list[str], tokens: int, overlap: int) -> None:
    text = "".join(parts)

    chunks = chunk_markdown(text, tokens=tokens, overlap=overlap)

    heading = re.compile(r"(?:^#+ [^\n]*|^Four\n====)\Z", re.MULTILINE)
    blank = re.compile(r"^[ ]{0,3}#|^Four\n====", re.MULTILINE)
    for chunk in chunks:
        if heading.search(chunk.text) and not blank.match(text[chunk.end :].lstrip()) and text[chunk.end :].strip():
            solid = re.sub(r"(?m)^(?:#+ .*|Four|====)$", "", chunk.text).strip()
            assert not solid, (chunk, text[chunk.end : chunk.end + 40])


def test_an_outline_is_cut_before_headings() -> None:
    text = "".join(f"## Item number {n} of the outline\n\n" for n in range(300))

    chunks = chunk_markdown(text, tokens=400, overlap=80)

    assert all(chunk.text.startswith("## Item") and chunk.text.endswith("outline") for chunk in chunks)


def test_a_procedure_is_cut_between_its_steps() -> None:
    steps = "".join(f"{n}. " + f"step {n} does something useful here " * 6 + "\n" for n in range(1, 20))

    chunks = chunk_markdown(steps, tokens=400, overlap=80)

    assert all(re.match(r"\d+\. step", chunk.text) for chunk in chunks)
    assert all(chunk.text.rstrip().endswith("here") for chunk in chunks)


def test_a_heading_inside_a_fence_is_no_heading() -> None:
    code = "```sh\n" + "".join(f"# comment {n}\nrun --step {n}\n\n" for n in range(20)) + "```\n"
    text = "Before. " * 170 + "\n\n" + code + "\nAfter."

    chunks = chunk_markdown(text, tokens=400, overlap=0)

    assert [chunk.text.startswith("```sh") for chunk in chunks].count(True) == 1
    assert code.strip() in chunks[1].text


def test_front_matter_is_kept_whole_where_it_fits() -> None:
    front = "---\n" + "".join(f"key{n}: some value {n}\n\n" for n in range(40)) + "---\n"
    text = front + "# Title\n\n" + "body text. " * 200

    chunks = chunk_markdown(text, tokens=400, overlap=80)

    assert chunks[0].text == front.strip()


def test_front_matter_that_is_no_yaml_is_text() -> None:
    chunks = chunk_markdown("---\n**Firm name**\n---\nDear Sir", tokens=400, overlap=80)

    assert chunks[0].text.splitlines()[1] == "**Firm name**"


def test_line_numbers_count_front_matter_and_every_kind_of_line_end() -> None:
    text = "---\ntitle: x\n---\r\n\rtarget line\n"

    [chunk] = chunk_markdown(text, tokens=400, overlap=0)

    assert (chunk.start_line, chunk.end_line) == (1, 5)


@pytest.mark.parametrize("text", ["", " ", "\n\n\n", "\u3000\n\t"])
def test_a_blank_note_has_no_chunk(text: str) -> None:
    assert chunk_markdown(text, tokens=400, overlap=80) == []


def test_a_family_emoji_is_not_cut() -> None:
    family = "👩‍👩‍👧‍👦"

    chunks = chunk_markdown(family * 200, tokens=64, overlap=0)

    assert all(len(chunk.text) % len(family) == 0 for chunk in chunks)


@pytest.mark.parametrize(
    "piece",
    [
        "a",
        "word ",
        "\n",
        " ",
        "文",
        "- x\n",
        "```\n",
        "# h\n\n",
        "a\n=\n",
        "\r",
        "\r\n",
        "---\n",
        "x\n\n",
        "！",
        "\u0301",
        "文x",
        "a " + "y" * 1590 + " ",
        "# " + "h " * 500 + "\n\nbody\n",
    ],
)
def test_time_grows_linearly(piece: str) -> None:
    def seconds(size: int) -> float:
        text = (piece * (size // len(piece) + 1))[:size]
        best = 1e9
        for _ in range(3):
            begin = time.process_time()
            chunk_markdown(text, tokens=400, overlap=80)
            best = min(best, time.process_time() - begin)
        return best

    small, large = seconds(200_000), seconds(800_000)

    assert large < 0.05 or large / small < 8, f"4 times the text took {large / small:.1f} times as long"


def test_equal_texts_have_equal_hashes() -> None:
    one, two = ChunkText("same", 0, 4, 1, 1), ChunkText("same", 9, 13, 3, 3)

    assert one.hash == two.hash and len(one.hash) == 32


@pytest.mark.parametrize("end", ["\r\n", "\r", "\n"])
def test_a_letter_that_begins_with_a_rule_is_no_front_matter_and_no_endless_search(end: str) -> None:
    text = f"---{end}**Firm Smith**{end}" + "".join(f"line {n} of the letter{end}" for n in range(5000))

    chunks = chunk_markdown(text, tokens=400, overlap=80)

    assert chunks[0].text.startswith("---") and "line 4999" in chunks[-1].text


def test_no_chunk_is_made_of_the_white_space_before_a_word() -> None:
    for text in ("# Title\n" + " " * 5000 + "codeword\n", " " * 5000 + "codeword", "a\n" + "\t" * 300 + "b" * 3000):
        chunks = chunk_markdown(text, tokens=64, overlap=10)

        assert all(chunk.text.strip() and chunk.start_line <= chunk.end_line for chunk in chunks)
        assert {"codeword" in c.text or "b" in c.text for c in chunks[-1:]} == {True}


def test_joined_words_are_cut_between_them_not_inside() -> None:
    words = [f"word{n}" for n in range(2000)]

    chunks = chunk_markdown("/".join(words), tokens=100, overlap=0)

    found = {word for chunk in chunks for word in re.findall(r"\w+", chunk.text)}
    assert found == set(words)
