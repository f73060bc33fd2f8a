"""A query as it is spelt: the keyword index folds `C++` and `C`, `café` and `cafe`, `Maße` and `Masse` into one."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from recallite.index.tokens import UNSPACED_RUN, fold, plain

FOLDED, SPELT, WHOLE = 0, 2, 4
"""How like the query a chunk with all of its terms is: in another spelling, word by word, as a whole."""
SIGN = re.compile(r"[^\w\s]|_")
_QUOTES = "\"'`“”‘’„‚«»‹›「」『』"
_AROUND = _QUOTES + "()[]{}…–—¿¡、。，！？；：（）【】《》"
_AFTER = ".,;:!?"
"""What stands around a word in a sentence, and does not belong to it."""
_EMPHASIS = re.compile(r"(?P<marks>[*_~]{1,3})(?P<words>[^\s*_~]\S*\s.*[^\s*_~])(?P=marks)", re.DOTALL)
_MOST_WORDS = 4
"""In a longer query only words are looked at that folding makes like others: few chunks hold all of it."""
LONGEST = 200
"""Characters; a longer query is not looked for as a whole."""


class Text:
    """A text in which spellings are looked for."""

    def __init__(self, text: str) -> None:
        self.cased = text if text.isascii() else unicodedata.normalize("NFC", text)
        self.plain = plain(text)


@dataclass(frozen=True, slots=True)
class Spelling:
    """A word, or a whole query, as it was asked."""

    written: str
    pattern: re.Pattern[str]
    """For text that `plain` has changed."""
    cased: re.Pattern[str] | None
    """The same with its capitals, where they matter as in `IT` and `memorySearch`."""

    @property
    def forms(self) -> tuple[str, ...]:
        """Ways to write it in a text, for SQLite, which compares bytes."""
        cases = (self.written, self.written.lower(), self.written.upper(), self.written.capitalize())
        return tuple(dict.fromkeys(unicodedata.normalize(form, case) for case in cases for form in ("NFC", "NFD")))

    def likeness(self, text: Text) -> int:
        """0 where it does not stand in the text, 1 where its capitals differ, else 2."""
        if self.pattern.search(text.plain) is None:
            return 0
        return 2 if self.cased is None or self.cased.search(text.cased) else 1


@dataclass(frozen=True, slots=True)
class Asked:
    """A query as it is spelt. `whole` is None where it is too long to stand in a text."""

    words: tuple[Spelling, ...] = ()
    whole: Spelling | None = None

    @property
    def most(self) -> int:
        """What is looked for by itself in a crowd; words in a row are so anyway."""
        return WHOLE if self.whole is not None and " " not in self.whole.written else SPELT

    def likeness(self, text: str) -> int:
        """For a text that holds all terms: FOLDED to WHOLE, one less than SPELT or WHOLE in other capitals."""
        looked_at = Text(text)
        if self.whole is not None and (whole := self.whole.likeness(looked_at)):
            return WHOLE - 2 + whole
        return min((word.likeness(looked_at) for word in self.words), default=SPELT)


def asked_of(text: str, kept: Sequence[str]) -> Asked:
    """`kept` are the words of the query, without what stands around them, that are looked for."""
    shouted = is_shouted(text)
    told_apart = [word for word in kept if is_told_apart(word) or (has_capitals(word) and not shouted)]
    chosen = kept if len(kept) <= _MOST_WORDS else told_apart[:_MOST_WORDS]
    words = tuple(_spelling(word, shouted=shouted) for word in chosen)
    whole = _whole(text)
    return Asked(words, _spelling(whole, shouted=shouted) if 0 < len(whole) <= LONGEST else None)


def _whole(text: str) -> str:
    """The query as it may stand in a text: without quotes and full stop; brackets around a single word are its own."""
    literal = " ".join(text.split())
    return stripped(literal) if " " in literal else literal.rstrip(_QUOTES + _AFTER).lstrip(_QUOTES)


def unwrapped(text: str) -> str:
    """Several words without the marks of emphasis around them: `**red tulip**` → `red tulip`."""
    found = _EMPHASIS.fullmatch(text.strip())
    return found["words"] if found is not None else text


def _spelling(wanted: str, *, shouted: bool) -> Spelling:
    written = unicodedata.normalize("NFC", wanted)
    cased = _pattern(written) if has_capitals(written) and not shouted else None
    return Spelling(written, _pattern(plain(wanted)), cased)


def _pattern(wanted: str) -> re.Pattern[str]:
    return re.compile(bounded(wanted).replace(r"\ ", r"\s+"))


def has_capitals(text: str) -> bool:
    """Whether a word in it has a capital that does not merely begin it."""
    return any(character.isupper() for word in text.split() for character in word[1:])


def is_shouted(text: str) -> bool:
    """Whether all of several words are in capitals, which then say nothing."""
    return len(text.split()) > 1 and text == text.upper()


def stripped(word: str) -> str:
    """A word without what stands around it in a sentence: `“café”,` → `café`, but `.NET`, `C++` as they are."""
    return word.rstrip(_AROUND + _AFTER).lstrip(_AROUND)


def is_told_apart(word: str) -> bool:
    """Whether folding makes the word like others."""
    return bool(SIGN.search(word)) or plain(word) != fold(word)


def bounded(wanted: str) -> str:
    """A pattern for the text where it is no part of a longer word."""
    before, after = (r"(?<![^\W_])" if _is_bound(wanted[0]) else ""), (r"(?![^\W_])" if _is_bound(wanted[-1]) else "")
    return f"{before}{re.escape(wanted)}{after}"


def _is_bound(character: str) -> bool:
    return character.isalnum() and UNSPACED_RUN.match(character) is None
