"""Accents, typographic signs, widths, small words: what was meant is found, what was written comes first."""

from __future__ import annotations

import random
from typing import Any

import pytest


@pytest.mark.parametrize(
    ("asked", "first", "second"),
    [
        ("café", "the café here", "the cafe here"),
        ("cafe", "the cafe here", "the café here"),
        ("CAFÉ", "the café here", "the cafe here"),
        ("cafe\u0301", "the café here", "the cafe here"),
        ("résumé", "her résumé today", "they resume today"),
        ("schön", "ist schön heute", "ist schon heute"),
        ("schon", "ist schon heute", "ist schön heute"),
        ("año nuevo", "el año nuevo", "el ano nuevo"),
        ("naïve impôt", "un naïve impôt", "un naive impot"),
        ("ｆｕｌｌ", "a ｆｕｌｌ width", "a full width"),
        ("full", "a full width", "a ｆｕｌｌ width"),
        ("Straße", "die Straße dort", "die Strasé dort"),
    ],
)
@pytest.mark.parametrize("swapped", [False, True])
def test_both_spellings_are_found_and_the_one_asked_for_first(
    lab: Any, asked: str, first: str, second: str, swapped: bool
) -> None:
    lab.model = None
    names = ("b", "a") if swapped else ("a", "b")
    lab.note(f"memory/{names[0]}.md", first)
    lab.note(f"memory/{names[1]}.md", second)
    for number in range(20):
        lab.note(f"memory/other{number}.md", f"nothing of the kind, number {number}")
    lab.index()

    found = lab.paths(asked)

    assert found[0] == f"memory/{names[0]}.md"
    if "Strasé" not in second:
        assert found[1] == f"memory/{names[1]}.md"


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("don’t touch it", "don't"),
        ("don't touch it", "don’t"),
        ("He said “stop here” twice", '"stop here"'),
        ("He said „stop here“ twice", "“stop here”"),
        ("« arrêt ici » dit-il", '"arrêt ici"'),
        ("a well–known fact", "well-known"),
        ("a well-known fact", "well–known"),
        ("a well\u2011known fact", "well-known"),
        ("the DEC—0054 file", "DEC-0054"),
        ("an oﬃcial ﬁle ﬂag", "official file flag"),
        ("an official file", "oﬃcial ﬁle"),
        ("ＶＬＡＮ　３０", "VLAN 30"),
        ("VLAN 30", "ＶＬＡＮ　３０"),
        ("ｶﾀｶﾅ ﾃｽﾄ", "カタカナ"),
        ("カタカナ", "ｶﾀｶﾅ"),
        ("5 km² of land", "km2"),
        ("wait… then go", "wait then"),
        ("価格：１００円", "100円"),
        ("l’impôt d’été", "l'impôt"),
        ("x\u00a0y separated", "x y"),
        ("soft\u00adware update", "software"),
    ],
)
def test_typographic_variants(lab: Any, written: str, asked: str) -> None:
    lab.model = None
    lab.note("memory/a.md", written)
    for number in range(20):
        lab.note(f"memory/other{number}.md", f"unrelated entry {number}")
    lab.index()

    assert lab.paths(asked)[:1] == ["memory/a.md"]


QUESTIONS = [
    ("en", "The printer stands in the cellar.", "So where is it that the printer is?"),
    ("de", "Der Drucker steht im Keller.", "Wo ist denn der Drucker von uns?"),
    ("fr", "L'imprimante est dans la cave.", "Où est-ce que nous avons mis l'imprimante ?"),
    ("es", "La impresora está en el sótano.", "¿Dónde está la impresora de nosotros?"),
    ("ja", "プリンターは地下室に置いてある。", "プリンターはどこですか"),
    ("zh", "打印机放在地下室。", "请问打印机在哪里？"),
    ("ko", "프린터는 지하실에 있다.", "프린터는 어디에 있습니까?"),
]
NOISE = {
    "en": "Where it was, that is what we had of the {n}, so it is for you and for me.",
    "de": "Wo es war, ist das, was wir von der {n} hatten, und von uns für euch.",
    "fr": "Où est-ce que nous avons été, que nous avons mis {n} et ce que vous avez.",
    "es": "Dónde está lo de nosotros, que de la {n} es para el y los que son.",
    "ja": "それはどこですか、何ですか、この{n}はどうでしたか、そうですか。",
    "zh": "请问这个在哪里？那个{n}是什么？为什么我们在这里？",
    "ko": "그것은 어디에 있습니까? 무엇이 {n} 있습니까? 어떻게 합니까?",
}


@pytest.mark.parametrize(("language", "note", "question"), QUESTIONS)
def test_small_words_of_seven_languages_do_not_decide(lab: Any, language: str, note: str, question: str) -> None:
    lab.model = None
    lab.note("memory/answer.md", note)
    for number in range(40):
        lab.note(f"memory/{number}.md", NOISE[language].format(n=f"Nr{number}"))
    lab.index()

    assert lab.paths(question)[0] == "memory/answer.md"


@pytest.mark.parametrize("query", ["what is it", "wo ist das", "どこですか", "为什么", "어디에", "的", "the"])
def test_small_words_alone_are_looked_for(lab: Any, query: str) -> None:
    lab.model = None
    lab.note("memory/a.md", f"before {query} after")
    lab.note("memory/b.md", "nothing")
    lab.index()

    assert lab.paths(query) == ["memory/a.md"]


def test_a_sentence_that_stands_in_a_note_is_an_exact_hit_though_it_has_small_words(lab: Any) -> None:
    lab.model = None
    lab.note("memory/a.md", "他说这个人很好。")
    lab.note("memory/b.md", "这里有个人电脑，也有其他东西。")
    lab.index()

    hits = lab.search("这个人", min_score=1.0, explain=True).hits

    assert [hit.path for hit in hits] == ["memory/a.md"] and hits[0].parts.exact


SCRIPTS = {  # each without its signs, which a search may leave out
    "zh": "昨天我们讨论了家里的路由器设置服务器放在地下室密码写在红色文件夹里明年四月中旬想去武夷山看茶园住三晚签证要邀请函",
    "ja": "昨日はルーターの設定を変更しプリンターを地下室へ移した煎茶のサンプルがフランクフルトの税関で止まっている原産地証明書",
    "th": "เมื่อวานฉันซื้อปลาที่ตลาดใหญ่และต้องยื่นใบอนุญาตก่อนวันศุกร์เขาใส่น้ำตาลลงในกาแฟร้อน".translate(dict.fromkeys(range(0xE31, 0xE4F))),
    "yi": "".join(map(chr, range(0xA000, 0xA030))),
    "javanese": "".join(map(chr, range(0xA984, 0xA9B3))),
    "tai tham": "".join(map(chr, range(0x1A20, 0x1A55))),
    "shan": "".join(map(chr, range(0x1075, 0x1082))),
    "rare Chinese": "".join(map(chr, [*range(0x9FCD, 0x9FFF), *range(0x2B820, 0x2B830), *range(0x31350, 0x31360), *range(0x2EBF0, 0x2EC00)])),
    "old kana": "".join(map(chr, range(0x1B002, 0x1B030))),
    "tangut": "".join(map(chr, range(0x17000, 0x17030))),
    "ko": "어제네트워크설정을변경하고프린터를지하실로옮겼다비밀번호는빨간폴더에적어두었고내년사월에차밭을보러간다",
}  # fmt: skip


@pytest.mark.parametrize("language", SCRIPTS)
def test_any_piece_of_a_text_without_spaces_is_found_where_it_stands(lab: Any, language: str) -> None:
    lab.model = None
    rng = random.Random(5)
    alphabet = SCRIPTS[language]
    texts = ["".join(rng.choices(alphabet, k=60)) for _ in range(40)]
    for number, text in enumerate(texts):
        lab.note(f"memory/{number}.md", f"{text}。")
    lab.index()
    memory = lab.memory()

    for length in [2] * 200 + [1, 3, 4, 6, 9] * 10:
        text = rng.choice(texts)
        at = rng.randrange(len(text) - length)
        piece = text[at : at + length]
        found = [hit.path for hit in memory.search(piece, max_results=200).hits]
        holding = {f"memory/{number}.md" for number, text in enumerate(texts) if piece in text}
        assert set(found[: len(holding)]) == holding, piece


CROWDS = {
    "Maße": "Masse", "café": "cafe", "schön": "schon", "résumé": "resume", "Nguyễn": "Nguyen", "ＡＢ": "ab", "λόγος": "λογος",
    "__init__": "init", "_key": "key", "C++": "C", "C# code": "C code", "$HOME": "home", ".NET": "net", "IT": "it", "(zed)": "zed",
    "schöne Grüße": "schone Grusse", "夷山看": "山看夷山",
}  # fmt: skip


@pytest.mark.parametrize("model", ["test-64", None])
def test_what_is_spelt_as_it_was_asked_is_first_in_a_crowd_of_shorter_notes_with_another_spelling(
    lab: Any, model: str | None
) -> None:
    lab.model = model
    for number, (asked, other) in enumerate(CROWDS.items()):
        words = "The router was moved to the new shelf and the logs were sent to the office, then we had coffee. " * 3
        lab.note(f"memory/{number}/asked.md", f"# Notes\n\n{words}\nAnd {asked} is here. {words}\n")
        for copy in range(210):
            lab.note(f"memory/{number}/{copy}.md", f"{other} {copy}\n")
    lab.index()
    memory = lab.memory()

    first = {asked: memory.search(asked, max_results=1).hits[0].path for asked in CROWDS}

    assert first == {asked: f"memory/{number}/asked.md" for number, asked in enumerate(CROWDS)}


def test_what_was_asked_without_accents_is_found_in_a_crowd_with_them(lab: Any) -> None:
    lab.model = None
    for number in range(210):
        lab.note(f"memory/{number}.md", f"Maße {number}")
    lab.note(
        "memory/asked.md", "a long note that names Masse once, and much else besides, to be longer than the others"
    )
    lab.index()

    assert lab.paths("Masse")[0] == "memory/asked.md"


@pytest.mark.parametrize("model", ["test-64", None])
@pytest.mark.parametrize(
    "around", ["", '""', "“”", "()", " ?", " .", "«»", " …", ("**", "**"), ("_", "_"), ("~~", "~~")]
)
def test_a_query_as_a_whole_is_before_its_words_apart(lab: Any, model: str | None, around: Any) -> None:
    lab.model = model
    lab.note("memory/apart.md", "fast red, lane")
    lab.note("memory/whole.md", f"He took the red\nfast lane home. {'And he did much else, as on most days. ' * 9}")
    lab.index()
    before, after = around or ("", "")

    hits = lab.search(f"{before}red fast lane{after}".strip(), explain=True).hits

    assert [hit.path for hit in hits] == ["memory/whole.md", "memory/apart.md"]
    assert [hit.parts.likeness for hit in hits] == [4, 2]


def test_capitals_that_name_a_thing_count_and_shouting_does_not(lab: Any) -> None:
    lab.model = None
    lab.note("memory/small.md", "who said it")
    lab.note("memory/name.md", "a letter of the WHO about IT, and what else there was to tell of on that day")
    lab.index()

    assert lab.paths("WHO")[0] == lab.paths("IT")[0] == "memory/name.md"
    assert lab.paths("who said it") == lab.paths("WHO SAID IT") == ["memory/small.md"]
