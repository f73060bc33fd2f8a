"""Where a text may be cut without tearing what a reader sees as one character."""

from __future__ import annotations

import unicodedata

_JOINER = "\u200d"
_HANGUL = (
    ("L", "\u1100", "\u115f"),
    ("L", "\ua960", "\ua97f"),
    ("V", "\u1160", "\u11a7"),
    ("V", "\ud7b0", "\ud7c6"),
    ("T", "\u11a8", "\u11ff"),
    ("T", "\ud7cb", "\ud7ff"),
    ("S", "\uac00", "\ud7a3"),
)
"""Leading consonants, vowels, trailing consonants, whole syllables."""
_FOLLOWS = {"L": "LVS", "V": "VT", "S": "VT", "T": "T"}
"""Which kinds continue a syllable after which."""
_LOOK_BACK = 64
"""Code points searched for a boundary. A longer cluster (stacked accents without end) is cut."""


def boundary_before(text: str, start: int, end: int) -> int:
    """The last grapheme boundary in `text` at or before `end`, or `end` if none lies after `start`.

    `start` must be a boundary. Covers CR LF, combining marks, variation selectors, joined emoji, skin
    tones, flags and Hangul jamo: the rules of Unicode annex 29 that need no table.
    """
    floor = max(start, end - _LOOK_BACK)
    for position in range(end, floor, -1):
        if not _is_joined(text, start, position):
            return position
    return end


def _is_joined(text: str, start: int, position: int) -> bool:
    """Whether the characters on both sides of `position` belong together."""
    if position >= len(text):
        return False
    before, after = text[position - 1], text[position]
    if before < "\u0300" and after < "\u0300":
        return before == "\r" and after == "\n"
    if before == _JOINER or after == _JOINER or _extends(after):
        return True
    if _is_flag_letter(before) and _is_flag_letter(after):
        return _flag_letters_until(text, start, position) % 2 == 1
    return _hangul(after) in _FOLLOWS.get(_hangul(before), "")


def _extends(character: str) -> bool:
    if unicodedata.category(character) in ("Mn", "Me", "Mc"):
        return True
    return "\U0001f3fb" <= character <= "\U0001f3ff" or "\U000e0020" <= character <= "\U000e007f"


def _is_flag_letter(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _flag_letters_until(text: str, start: int, position: int) -> int:
    first = position
    while first > start and _is_flag_letter(text[first - 1]):
        first -= 1
    return position - first


def _hangul(character: str) -> str:
    """The kind of a Hangul character, "-" for any other."""
    return next((kind for kind, first, last in _HANGUL if first <= character <= last), "-")
