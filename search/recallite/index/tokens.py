"""Text → the form that the keyword index stores, the same for chunks and for queries.

FTS5's unicode61 splits this form at everything that is not a letter or a digit. What it cannot do is done
here: compatibility and case folding (`ß` = `ss`, full-width = half-width), accents and vowel points taken off,
and runs of characters of scripts without spaces between words (Chinese, Japanese, Thai, …) as overlapping pairs,
so that words are found inside them.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise

TOKENS_VERSION = 2
"""Stored with each generation; a change rebuilds the keyword index."""

_UNSPACED = (
    "\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3038-\u303c\u3105-\u312f\u31a0-\u31bf"  # Chinese
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fffd"
    "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\U0001aff0-\U0001b16f"  # Japanese
    "\u1100-\u11ff\u3131-\u318e\ua960-\ua97c\uac00-\ud7a3\ud7b0-\ud7c6\ud7cb-\ud7fb"  # Korean
    "\ua000-\ua48c\U00017000-\U00018d7f\U0001b170-\U0001b2ff"  # Yi; Tangut, Khitan, Nushu
    "\u0e01-\u0e30\u0e32\u0e33\u0e40-\u0e46\u0e81-\u0eae\u0eb0\u0eb2\u0eb3\u0ebd\u0ec0-\u0ec6"  # Thai, Lao
    "\u1780-\u17b3\u17d7\u17dc"  # Khmer
    "\u1000-\u102a\u103f\u1050-\u1055\u105a-\u105d\u1061\u1065\u1066\u106e-\u1070\u1075-\u1081\u108e"  # Burmese
    "\ua9e0-\ua9e4\ua9e7-\ua9ef\ua9fa-\ua9fe\uaa60-\uaa76\uaa7a\uaa7e\uaa7f"
    "\u1950-\u1974\u1980-\u19ab\u19c1-\u19c7\u1a20-\u1a54"  # Tai Le, New Tai Lue, Tai Tham
    "\uaa80-\uaaaf\uaab1\uaab5\uaab6\uaab9-\uaabd\uaac0\uaac2\uaadb-\uaadd"  # Tai Viet
    "\ua984-\ua9b2\u1b05-\u1b33\u1b45-\u1b4c\uaa00-\uaa28\uaa40-\uaa42\uaa44-\uaa4b"  # Javanese, Balinese, Cham
)
_MARK = re.compile(
    "[\u0300-\u036f"  # accents
    "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"  # Hebrew points
    "\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed"  # Arabic vowels
    "\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece"  # Thai, Lao
    "\u17b4-\u17d3\u17dd"  # Khmer
    "\u102b-\u103e\u1056-\u1059\u105e-\u1060\u1062-\u1064\u1067-\u106d\u1071-\u1074\u1082-\u108d\u108f"  # Burmese
    "\u109a-\u109d\ua9e5\uaa7b-\uaa7d"
    "\u19b0-\u19c0\u19c8\u19c9\u1a55-\u1a7f\uaab0\uaab2-\uaab4\uaab7\uaab8\uaabe\uaabf\uaac1"  # Tai
    "\ua980-\ua983\ua9b3-\ua9c0\u1b00-\u1b04\u1b34-\u1b44\uaa29-\uaa36\uaa43\uaa4c\uaa4d"  # Javanese, Balinese, Cham
    "\u00ad\u200b-\u200f\u2060\ufeff]+"  # soft hyphen, zero width
)
"""Signs that a search may leave out: they are dropped, not turned into spaces, so that words stay whole."""
_NO_LETTER = re.compile(rf"[^\w\x00-\x7f{_UNSPACED}]+")
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
