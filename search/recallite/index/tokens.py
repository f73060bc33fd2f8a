"""Text → the form that the keyword index stores, the same for chunks and for queries.

FTS5's unicode61 splits this form at everything that is not a letter or a digit. What it cannot do is done
here: compatibility and case folding (`ß` = `ss`, full-width = half-width), accents and vowel points taken off,
and runs of Chinese, Japanese, Korean, Thai, Lao, Khmer and Burmese characters as overlapping pairs, so that
words without spaces around them are found.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise

TOKENS_VERSION = 1
"""Stored with each generation; a change rebuilds the keyword index."""

_UNSPACED = (
    "\u1100-\u11ff\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3038-\u303c\u3041-\u3096\u309d-\u309f"
    "\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312d\u3131-\u318e\u31a0-\u31ba\u31f0-\u31ff\u3400-\u4db5"
    "\u4e00-\u9fcc\ua960-\ua97c\uac00-\ud7a3\ud7b0-\ud7c6\ud7cb-\ud7fb\uf900-\ufa6d\ufa70-\ufad9"
    "\u0e01-\u0e30\u0e32\u0e33\u0e40-\u0e46\u0e81-\u0eae\u0eb0\u0eb2\u0eb3\u0ebd\u0ec0-\u0ec6"  # Thai, Lao
    "\u1780-\u17b3\u1000-\u102a\u103f\u1050-\u1055"  # Khmer, Burmese
    "\U00020000-\U0002a6d6\U0002a700-\U0002b734\U0002b740-\U0002b81d"
)
_MARK = re.compile(
    "[\u0300-\u036f"  # accents
    "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"  # Hebrew points
    "\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed"  # Arabic vowels
    "\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece"  # Thai, Lao
    "\u17b4-\u17d3\u102b-\u103e"  # Khmer, Burmese
    "\u00ad\u200b-\u200f\u2060\ufeff]+"  # soft hyphen, zero width
)
"""Signs that a search may leave out: they are dropped, not turned into spaces, so that words stay whole."""
_NO_LETTER = re.compile(r"[^\w\x00-\x7f]+")
"""Symbols become spaces here: unicode61 takes those younger than its tables (most emoji) for letters."""
UNSPACED_RUN = re.compile(f"[{_UNSPACED}]+")
WORD = re.compile(r"[^\W_]+")
"""Approximately what unicode61 takes for a token."""
_TERMINAL_CODE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
"""Colours in pasted terminal output: their letters would grow onto the words beside them."""
_CAMEL = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]")
_CAMELWORD = re.compile(r"[A-Za-z0-9]*[a-z0-9][A-Z][A-Za-z0-9]*|[A-Z]{2,}[a-z][A-Za-z0-9]*")
_CAMEL_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+|[0-9]+")


def fold(text: str) -> str:
    """Compatibility forms, case and accents folded away; the result may be longer than `text`."""
    if text.isascii():
        return text.lower()
    plain = _MARK.sub("", unicodedata.normalize("NFKD", text.casefold()))
    return _NO_LETTER.sub(" ", unicodedata.normalize("NFKC", plain).casefold())


def plain(text: str) -> str:
    """Case and ways of composing characters folded away, accents, ß and widths kept: for comparing spellings."""
    return text.lower() if text.isascii() else unicodedata.normalize("NFC", text.lower())


def _pairs(match: re.Match[str]) -> str:
    """`ABC` → ` AB BC C `: the last character alone, so that a prefix query finds every character."""
    run = match.group()
    pairs = [run[i : i + 2] for i in range(len(run) - 1)]
    pairs.append(run[-1])
    return f" {' '.join(pairs)} "


def index_form(text: str) -> str:
    """What the keyword index stores for a chunk.

    Parts of camelCase words are added at the end, so that `memory search` finds `memorySearch`.
    """
    if "\x1b" in text:
        text = _TERMINAL_CODE.sub(" ", text)
    folded = fold(text).replace("\0", " ")
    if not folded.isascii():
        folded = UNSPACED_RUN.sub(_pairs, folded)
    if _CAMEL.search(text):
        parts = {
            part.lower() for word in _CAMELWORD.findall(text) for part in _CAMEL_PART.findall(word) if len(part) > 1
        }
        if parts:
            return f"{folded}\n{' '.join(sorted(parts))}"
    return folded


def split_scripts(text: str) -> list[str]:
    """Text cut where a run of CJK characters begins or ends: `SSH铁律` → `SSH`, `铁律`."""
    edges = sorted({0, len(text), *(edge for m in UNSPACED_RUN.finditer(text) for edge in m.span())})
    return [text[start:end] for start, end in pairwise(edges)]


def tokens(folded: str) -> list[str]:
    """The tokens that the keyword index holds for a folded text, in order: words, and pairs of CJK characters."""
    found: list[str] = []
    for part in split_scripts(folded):
        if UNSPACED_RUN.fullmatch(part):
            found.extend(part[i : i + 2] for i in range(len(part) - 1)) if len(part) > 1 else found.append(part)
        else:
            found.extend(WORD.findall(part))
    return found
