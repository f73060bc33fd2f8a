"""What is written is found: exact words, identifiers, any string, in any script, in tiny and larger indexes."""

from __future__ import annotations

import random
import string
from collections.abc import Callable

import pytest

STATES = pytest.mark.parametrize("state", ["vectors", "keyword only", "provider broken"])


def _set_state(lab, state: str) -> None:
    if state == "keyword only":
        lab.model = None


@STATES
@pytest.mark.parametrize("fillers", [0, 500])
def test_a_codeword_is_found_first(lab, state: str, fillers: int) -> None:
    _set_state(lab, state)
    for number in range(fillers):
        lab.note(
            f"memory/filler-{number}.md", f"Note {number} about the zebra crossing, word list and codeword games.\n"
        )
    lab.note("memory/code.md", "codeword ZEBRA-7731\n")
    lab.index()
    if state == "provider broken":
        lab.model = "test-32"

    hits = lab.search("ZEBRA-7731").hits

    assert hits[0].path == "memory/code.md"
    assert hits[0].snippet == "codeword ZEBRA-7731"


NASTY = [
    "2026-03-31", "DEC-0054", "don't", "src/lib/i18n.ts", "C++", "col:x", '"open', "NOT x", "a AND", "(", "*", ".",
    "NEAR(", "", "\0", "   ", "a OR b", "-x", "^a", "x*", "{a b}: c", "a + b", "'; DROP TABLE chunks; --", "🦓", "e\u0301",
    "\ud83c", "x" * 10_000, "word " * 2_000, "memorySearch.query.hybrid", "OPENAI_API_KEY", "a828e60", "__init__", "%s %d",
    "SSH铁律服务器", "ﬁle", "Größe", "\u202eabc", "\n\t", "http://example.com/a?b=c&d=e#f", "a\x00b", "NULL", "１２３", "½",
    *string.punctuation, *(f"wo{mark}rd" for mark in string.punctuation), *(f"{mark}word" for mark in string.punctuation),
    *(f"word{mark}" for mark in string.punctuation), *(f"{a}{b}" for a, b in zip(string.punctuation, string.punctuation[::-1], strict=True)),
    *(chr(code) for code in range(1, 32)), *(chr(code) for code in range(0x1F980, 0x1F9A0)), "ನಮಸ್ಕಾರ", "สวัสดี", "שלום", "مرحبا", "नमस्ते",
    "naïve café", "e-mail@example.com", "C:\\Users\\me", "~/.config/x", "--no-verify", "a_b__c", "1.2.3-rc.1", "key=value", "x->y", "=>", "α-β", "ὀδυσσεύς", "Ёлка", "ı", "İstanbul", "ß", "ſ", "Ⅷ", "①", "㍿", "ｶﾞ", "ㅋㅋ", "々", "〇", "ー", "・", "「」", "，", "。",
]  # fmt: skip


@pytest.mark.parametrize("model", ["test-64", None])
def test_no_query_raises_and_each_that_stands_in_a_file_is_found(lab, model: str | None) -> None:
    lab.model = model
    rng = random.Random(7)
    wanted = {}
    for number, text in enumerate(NASTY):
        clean = text.encode("utf-8", "replace").decode().replace("\0", " ").strip()
        if clean and "\r" not in clean and len(clean) < 200:
            wanted[text] = lab.note(f"memory/n{number}.md", f"before {clean} after {rng.randrange(10**6)}\n")
    lab.index()
    memory = lab.memory()

    for text in NASTY:
        reply = memory.search(text, max_results=200)
        if text in wanted and text.isprintable():
            found = [hit.path for hit in reply.hits]
            assert f"memory/{wanted[text].name}" in found, f"{text!r} is in {wanted[text].name} and was not found"

    assert len(NASTY) >= 300


@pytest.mark.parametrize(
    ("language", "text", "words"),
    [
        (
            "zh",
            "昨天我们讨论了家里的路由器设置，服务器放在地下室。",
            ["路", "设置", "路由器", "地下室", "家里的路由器"],
        ),
        (
            "ja",
            "昨日はルーターの設定を変更し、プリンターを地下室へ移した。",
            ["設", "設定", "ルーター", "地下室", "ルーターの設"],
        ),
        (
            "ko",
            "어제 네트워크 설정을 변경하고 프린터를 지하실로 옮겼다.",
            ["설", "설정", "프린터", "지하실", "네트워크 설정"],
        ),
        ("mixed", "记住SSH铁律服务器：禁止密码登录。", ["SSH铁律服务器", "SSH", "铁律", "密码", "服务器"]),
    ],
)
def test_words_of_any_length_are_found_inside_sentences(lab, language: str, text: str, words: list[str]) -> None:
    lab.model = None
    lab.note(f"memory/{language}.md", text)
    for number in range(30):
        lab.note(f"memory/other-{number}.md", f"Something else, number {number}. 其他内容。別の話。다른 이야기.")
    lab.index()

    for word in words:
        assert lab.paths(word)[0] == f"memory/{language}.md", word


def test_two_characters_of_chinese_or_japanese_text_are_found_wherever_they_stand(lab) -> None:
    lab.model = None
    rng = random.Random(3)
    ideographs = [chr(code) for code in range(0x4E00, 0x4E00 + 300)]
    kana = [chr(code) for code in range(0x3042, 0x3093)]
    texts = ["".join(rng.choices(ideographs + kana, k=80)) for _ in range(60)]
    for number, text in enumerate(texts):
        lab.note(f"memory/{number}.md", text)
    lab.index()
    memory = lab.memory()

    for _ in range(200):
        text = rng.choice(texts)
        at = rng.randrange(len(text) - 1)
        pair = text[at : at + 2]
        hits = memory.search(pair, max_results=200).hits
        assert {hit.path for hit in hits} == {f"memory/{n}.md" for n, t in enumerate(texts) if pair in t}, pair


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("descrição do projeto", "descricao"),
        ("un impo\u0302t nouveau", "impôt"),
        ("Die Größe der Straße", ["GROESSE", "strasse"][1]),
        ("Ｆｕｌｌ　ｗｉｄｔｈ", "full width"),
        ("We tested the Tests", "testing"),
        ("config in memorySearch.query", "memory search"),
        ("run apply_secrets now", "apply_secrets"),
        ("pane_pid of tmux", "pane_pid"),
        ("upgrade to 20.04 done", "20.04"),
        ("Great🥳 news", "great"),
    ],
)
def test_other_ways_of_writing_a_word_find_it(lab, written: str, asked: str) -> None:
    lab.model = None
    lab.note("memory/a.md", written)
    lab.note("memory/b.md", "nothing of the kind")
    lab.index()

    assert lab.paths(asked) == ["memory/a.md"]


def test_a_whole_question_finds_the_note_that_has_its_words(lab) -> None:
    lab.model = None
    lab.note("memory/vlan.md", "We decided to put the printers on VLAN 30.")
    for number in range(40):
        lab.note(
            f"memory/{number}.md", f"Entry {number}: what we had for lunch, and about whom we spoke in the meeting."
        )
    lab.index()

    assert lab.paths("What did we decide about the VLAN for printers?")[0] == "memory/vlan.md"


def test_of_a_word_written_as_one_only_the_beginning_is_found(lab) -> None:
    lab.model = None
    lab.note("memory/a.md", "The workspace is new.")
    lab.note("memory/b.md", "See openclaw-config for it.")
    lab.index()

    assert lab.paths("workspaces") == lab.paths("work") == ["memory/a.md"]
    assert lab.paths("space") == []
    assert lab.paths("config") == ["memory/b.md"]
    assert lab.paths("other-openclaw") == ["memory/b.md"]


def test_a_phrase_is_preferred_to_its_scattered_words(lab) -> None:
    lab.model = None
    lab.note("memory/scattered.md", "The red one of the cars. The fast lane. A red and fast thing, with a lane.")
    lab.note("memory/phrase.md", "He took the red fast lane home, as he does on most days when there is time for it.")
    lab.index()

    assert lab.paths("red fast lane") == ["memory/phrase.md", "memory/scattered.md"]


def test_nonsense_finds_nothing_by_keyword(lab) -> None:
    lab.model = None
    lab.note("memory/a.md", "plain words")
    lab.index()

    assert lab.paths("xqzptk") == []


def test_exact_hits_in_tiny_and_frequent_cases_have_a_real_score(make_lab: Callable[..., object]) -> None:
    lab = make_lab("tiny")
    lab.model = None
    lab.note("MEMORY.md", "codeword ZEBRA-7731")
    lab.index()

    [hit] = lab.search("ZEBRA-7731").hits

    assert 0.35 <= hit.score <= 1.0


@pytest.mark.parametrize(
    ("target", "filler", "query"),
    [
        ("来年の3月に京都で会う", "5月3日は休み、月曜は3回", "3月"),
        ("written in C++ mostly", "grade c, vitamin c, note c", "C++"),
        ("the arrow a->b is used", "a and b, b and a", "a->b"),
        ("ฉันกินข้าวที่บ้าน", "วันนี้อากาศดีมาก", "กิน"),
        ("שָׁלוֹם עולם", "ערב טוב", "שלום"),
        ("السَّلَامُ عليكم", "صباح الخير", "السلام"),
        ("co\u00adoper\u00adation agreed", "no such thing", "cooperation"),
        ("zero\u200bwidth here", "zero and width", "zerowidth"),
        ("設定3を変更した", "設定を見る、3回", "設定3"),
    ],
)
def test_what_is_written_comes_first_among_many_that_are_like_it(lab, target: str, filler: str, query: str) -> None:
    lab.model = None
    for number in range(60):
        lab.note(f"memory/f{number}.md", f"{filler} ({number})")
    lab.note("memory/target.md", target)
    lab.index()

    assert lab.paths(query, max_results=5)[0] == "memory/target.md"
