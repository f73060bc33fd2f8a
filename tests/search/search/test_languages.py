"""The language of a text, from script and small words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recallite.search.languages import _SCRIPTS, language_of


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The printer is in the cellar and we have to move it to the office.", "en"),
        ("Der Drucker steht im Keller und wir müssen ihn ins Büro bringen.", "de"),
        ("L'imprimante est dans la cave et nous avons le projet de la déplacer.", "fr"),
        ("La impresora está en el sótano y hay que llevarla a la oficina.", "es"),
        ("打印机放在地下室，我们要把它搬到办公室。", "zh"),
        ("プリンターは地下室に置いてあるので、事務所へ移す。", "ja"),
        ("税関で止まっている、原産地証明書が入っていなかった", "ja"),
        ("프린터는 지하실에 있고 사무실로 옮겨야 한다.", "ko"),
        ("Принтер стоит в подвале.", "cyrillic"),
        ("הַמַּדְפֶּסֶת נִמְצֵאת בַּמַּרְתֵּף", "hebrew"),
        ("الطابعة في القبو", "arabic"),
        ("เครื่องพิมพ์อยู่ในห้องใต้ดิน", "thai"),
        ("SSH铁律服务器禁止密码登录", "zh"),
        ("router vlan printer nas backup omada er605 firmware", None),
        ("def main(): return 0", None),
        ("VLAN 30", None),
        ("12 345 --- ***", None),
        ("", None),
    ],
)
def test_language(text: str, language: str | None) -> None:
    assert language_of(text) == language


@given(st.text())
def test_no_text_raises(text: str) -> None:
    assert language_of(text) in {None, "en", "de", "fr", "es", *_SCRIPTS}
