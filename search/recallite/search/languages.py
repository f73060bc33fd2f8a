"""The language of a text, as far as its script and its small words tell."""

from __future__ import annotations

import re

from recallite.search.stopwords import BY_LANGUAGE

LOOKED_AT = 600
"""Characters from the beginning of a text."""
_SCRIPTS = {
    "ja": "\u3041-\u30ff\u31f0-\u31ff",
    "ko": "\u1100-\u11ff\u3131-\u318e\uac00-\ud7a3",
    "zh": "\u3400-\u4dbf\u4e00-\u9fff",
    "cyrillic": "\u0400-\u052f",
    "greek": "\u0370-\u03ff\u1f00-\u1fff",
    "hebrew": "\u0590-\u05ff",
    "arabic": "\u0600-\u06ff\u0750-\u077f",
    "devanagari": "\u0900-\u097f",
    "thai": "\u0e00-\u0e7f",
}
_OF_SCRIPT = {name: re.compile(f"[{ranges}]") for name, ranges in _SCRIPTS.items()}
_LATIN = re.compile(r"[a-z\u00df-\u024f]+")
_LEAST_LETTERS, _LEAST_WORDS = 8, 6
_KANA_SHARE = 0.1
"""Japanese is written with Chinese characters, too: this share of kana tells it."""
_SMALL_SHARE = 0.15
"""Share of small words from which a text is taken for running text of a language."""


def language_of(text: str) -> str | None:
    """`en`, `de`, `fr`, `es`, `ja`, `zh`, `ko`, or a script with one name for its languages; None when unclear."""
    text = text[:LOOKED_AT].lower()
    if not text.isascii():
        counts = {name: len(pattern.findall(text)) for name, pattern in _OF_SCRIPT.items()}
        name = max(counts, key=lambda each: counts[each])
        if counts[name] >= _LEAST_LETTERS and 2 * counts[name] >= len(_LATIN.findall(text)):
            japanese = name in ("zh", "ja") and counts["ja"] >= _KANA_SHARE * (counts["zh"] + counts["ja"])
            return "ja" if japanese else name
    words = _LATIN.findall(text)
    if len(words) < _LEAST_WORDS:
        return None
    small = {name: sum(word in known for word in words) for name, known in BY_LANGUAGE.items()}
    first, second, *_ = sorted(small, key=lambda each: -small[each])
    return first if small[first] >= _SMALL_SHARE * len(words) and small[first] > small[second] else None
