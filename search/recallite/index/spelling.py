"""A query as it is spelt: the keyword index folds `C++` and `C`, `café` and `cafe`, `Maße` and `Masse` into one."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from recallite.index.tokens import UNSPACED_RUN, fold, plain

FOLDED, SPELT, WHOLE = 0, 1, 2
"""How like the query a chunk with all of its terms is: in another spelling, word by word, as a whole."""
SIGN = re.compile(r"[^\w\s]|_")
_AROUND = "\"'`()[]{}“”‘’„‚«»‹›…–—¿¡、。，！？；：「」『』（）【】《》"
_AFTER = ".,;:!?"
"""What stands around a word in a sentence, and does not belong to it."""
_MOST_WORDS = 4
"""In a longer query only words are looked at that folding makes like others: few chunks hold all of it."""
LONGEST = 200
"""Characters; a longer query is not looked for as a whole."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a query. `forms` are ways to write it in a text, `pattern` is for text that `plain` has changed."""

    forms: tuple[str, ...]
    pattern: re.Pattern[str]


@dataclass(frozen=True, slots=True)
class Asked:
    """A query as it is spelt. `whole` is None where it is too long to stand in a text."""

    words: tuple[Word, ...] = ()
    literal: str = ""
    whole: re.Pattern[str] | None = None

    @property
    def most(self) -> int:
        """What is looked for by itself: all in a row is a phrase, but signs around a single word are in no index."""
        one = len(self.words) == 1 and self.whole is not None and " " not in self.literal
        return WHOLE if one and stripped(self.literal) != self.literal else SPELT

    def likeness(self, text: str) -> int:
        """FOLDED, SPELT or WHOLE, for a text that holds all terms of the query."""
        text = plain(text)
        if self.whole is not None and self.whole.search(text):
            return WHOLE
        return SPELT if all(word.pattern.search(text) for word in self.words) else FOLDED


def asked_of(text: str, kept: Sequence[str]) -> Asked:
    """`kept` are the words of the query, without what stands around them, that are looked for."""
    chosen = kept if len(kept) <= _MOST_WORDS else [word for word in kept if is_told_apart(word)][:_MOST_WORDS]
    words = tuple(Word(_forms(word), re.compile(bounded(plain(word)))) for word in chosen)
    literal = " ".join(text.split())
    if not literal or len(literal) > LONGEST:
        return Asked(words)
    return Asked(words, literal, re.compile(bounded(plain(literal)).replace(r"\ ", r"\s+")))


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


def _forms(word: str) -> tuple[str, ...]:
    cases = (word, word.lower(), word.upper(), word.capitalize())
    return tuple(dict.fromkeys(unicodedata.normalize(form, case) for case in cases for form in ("NFC", "NFD")))
