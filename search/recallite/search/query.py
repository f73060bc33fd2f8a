"""A user's words → what the keyword index is asked. No text can make this fail."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from recallite.index.keyword import WORD, KeywordQuery, Related, Term, split_scripts
from recallite.index.tokens import CJK_RUN, fold
from recallite.search.stopwords import STOP_WORDS

MAX_TERMS = 32
MAX_CHARACTERS = 10_000
_PART_SHARE, _STEM_SHARE = 0.3, 0.8
"""What holding a part of a joined word, or another form of a word, counts beside the word itself."""
_LEAST_STEM = 4
_ENDING = re.compile(r"(?:ings?|ed|es|s|e|er|ers|en|em|ly|ies|y|ung|ungen|ment|ments|ation|ations|ions?)$")
_IDENTIFIER = re.compile(r"\d|[_./\\:@#-]\w|[a-z][A-Z]|[A-Z]{2}")
"""What names a thing rather than describes it: digits, joined words, camelCase, capitals."""


@lru_cache(maxsize=256)
def parse_query(text: str) -> KeywordQuery:
    """The terms of a query.

    Stop words are left out if something remains. A word with inner punctuation (`dec-0054`, `don't`) is one
    term: its parts in a row. Runs of Chinese, Japanese and Korean become pairs of characters.
    """
    text = text[:MAX_CHARACTERS]
    atoms = [part for word in text.split() for part in split_scripts(word)]
    terms: dict[str, Term] = {}
    sequence: list[str] = []
    identifiers = False
    stopped: dict[str, Term] = {}
    for atom in atoms:
        tokens = _tokens(atom)
        if not tokens:
            continue
        sequence.extend(tokens)
        if CJK_RUN.fullmatch(atom):
            _add_pairs(atom, terms)
            continue
        term = _term(tokens)
        if len(tokens) == 1 and tokens[0] in STOP_WORDS:
            stopped[term.fts] = term
            continue
        identifiers = identifiers or bool(_IDENTIFIER.search(atom))
        terms[term.fts] = term
    dropped = bool(terms) and bool(stopped)
    chosen = list((terms or stopped).values())[:MAX_TERMS]
    phrase = _term(sequence) if len(sequence) > 1 and len(sequence) <= 2 * MAX_TERMS else None
    if phrase is not None and len(chosen) == 1 and chosen[0].tokens == phrase.tokens:
        phrase = None
    return KeywordQuery(
        terms=tuple(chosen),
        phrase=phrase,
        related=tuple(_related(chosen))[:MAX_TERMS],
        literal=text.strip().replace("\0", ""),
        distinctive=not dropped or len(chosen) > 1 or identifiers,
    )


def _related(terms: list[Term]) -> Iterator[Related]:
    """The parts of joined words, and other endings of plain ones (`testing` → `test…`)."""
    for number, term in enumerate(terms):
        if len(term.tokens) > 1:
            for token in term.tokens:
                if len(token) > 2:
                    yield Related(_one(token), number, _PART_SHARE)
        elif (stem := _stem(term.tokens[0])) is not None:
            yield Related(Term(f'"{stem}"*', (f"{stem}*",)), number, _STEM_SHARE)


def _stem(token: str) -> str | None:
    """The beginning that the forms of a word share, if the word is long enough to have one."""
    if len(token) < _LEAST_STEM or not token.isascii() or not token.isalpha():
        return None
    ending = _ENDING.search(token)
    stem = token[: ending.start()] if ending else token
    return stem if len(stem) >= _LEAST_STEM else token


def _tokens(atom: str) -> list[str]:
    """The tokens that the keyword index holds for these characters, in order."""
    found: list[str] = []
    for part in split_scripts(fold(atom)):
        if CJK_RUN.fullmatch(part):
            found.extend(part[i : i + 2] for i in range(len(part) - 1)) if len(part) > 1 else found.append(part)
        else:
            found.extend(WORD.findall(part))
    return found


def _add_pairs(run: str, terms: dict[str, Term]) -> None:
    folded = fold(run)
    if len(folded) == 1:
        terms[folded] = Term(f'"{folded}"*', (f"{folded}*",))
        return
    for token in _tokens(run):
        terms.setdefault(token, _one(token))


def _term(tokens: list[str]) -> Term:
    return Term(f'"{" ".join(tokens)}"', tuple(tokens))


def _one(token: str) -> Term:
    return _term([token])
