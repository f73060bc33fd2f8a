"""A user's words → what the keyword index is asked. No text can make this fail."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from recallite.index.keyword import KeywordQuery, Related, Term
from recallite.index.spelling import LONGEST, SIGN, asked_of, has_capitals, is_shouted, stripped, unwrapped
from recallite.index.tokens import UNSPACED_RUN, fold, split_scripts, tokens
from recallite.search.stopwords import STOP_PAIRS, STOP_WORDS

MAX_TERMS = 32
MAX_CHARACTERS = 10_000
_PART_SHARE, _STEM_SHARE = 0.3, 0.8
"""What holding a part of a joined word, or another form of a word, counts beside the word itself."""
_LEAST_STEM = 4
_ENDING = re.compile(r"(?:ings?|ed|es|s|e|er|ers|en|em|ly|ies|y|ung|ungen|ment|ments|ation|ations|ions?)$")
_NAME_SIGN = re.compile(r"[^\w\s'’-]|_")
_IDENTIFIER = re.compile(r"\d|[_./\\:@#-]\w|[a-z][A-Z]|[A-Z]{2}")
"""What names a thing rather than describes it: digits, joined words, camelCase, capitals."""


@lru_cache(maxsize=256)
def parse_query(text: str) -> KeywordQuery:
    """The terms of a query.

    Stop words are left out if something remains. A word with inner punctuation (`dec-0054`, `don't`) is one
    term: its parts in a row. Runs of scripts without spaces (Chinese, Japanese, …) become pairs of characters.
    """
    text = unwrapped(text[:MAX_CHARACTERS])
    atoms: list[str] = []
    terms: dict[str, Term] = {}
    stopped: dict[str, Term] = {}
    words: dict[str, set[str]] = {}
    shouted = is_shouted(text)
    for word in text.split():
        bare = stripped(word)
        parts = [part for part in split_scripts(fold(word)) if tokens(part)]
        atoms.extend(parts)
        found = words.setdefault(bare, set()) if bare else set()
        for part in parts:
            found.update(
                _add(part, terms, stopped, named=bool(SIGN.search(bare)) or (has_capitals(bare) and not shouted))
            )
    dropped = bool(terms) and bool(stopped)
    chosen = list((terms or stopped).values())[:MAX_TERMS]
    phrase = _phrase(atoms)
    if phrase is not None and len(chosen) == 1 and chosen[0].fts == phrase.fts:
        phrase = None
    literal = text.strip().replace("\0", "")
    kept = {term.fts for term in chosen}
    return KeywordQuery(
        terms=tuple(chosen),
        phrase=phrase,
        related=tuple(_related(chosen))[:MAX_TERMS],
        literal=literal,
        signed=len(literal) <= LONGEST and bool(SIGN.search(literal)),
        asked=asked_of(literal, [word for word, found in words.items() if not found or found & kept]),
        distinctive=not dropped or len(chosen) > 1 or bool(_IDENTIFIER.search(text)) or _names(words),
    )


def _names(words: Iterable[str]) -> bool:
    """Whether a word names a thing by its signs: `C++`, `.NET`, `$HOME`."""
    return any(_NAME_SIGN.search(word) for word in words)


def _phrase(atoms: list[str]) -> Term | None:
    """All of the query in a row, as the index has it.

    Behind a run of an unspaced script the index holds its last character alone; a run at the query's end may go
    on in the text, so there a single character is a prefix and longer runs end with their last pair.
    """
    row: list[str] = []
    for number, atom in enumerate(atoms):
        row.extend(tokens(atom))
        if UNSPACED_RUN.fullmatch(atom) and len(atom) > 1 and number < len(atoms) - 1:
            row.append(atom[-1])
    if not 1 < len(row) <= 2 * MAX_TERMS:
        return None
    if len(atoms[-1]) == 1 and UNSPACED_RUN.fullmatch(atoms[-1]):
        return Term(f'"{" ".join(row)}"*', (*row[:-1], f"{row[-1]}*"))
    return _term(row)


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


def _add(atom: str, terms: dict[str, Term], stopped: dict[str, Term], *, named: bool) -> Iterator[str]:
    """Put the terms of one piece where they belong; their FTS5 strings."""
    if not UNSPACED_RUN.fullmatch(atom):
        term = _term(tokens(atom))
        small = len(term.tokens) == 1 and term.tokens[0] in STOP_WORDS and not named
        (stopped if small else terms)[term.fts] = term
        yield term.fts
    elif len(atom) == 1:
        terms[atom] = Term(f'"{atom}"*', (f"{atom}*",))
        yield terms[atom].fts
    else:
        for token in tokens(atom):
            (stopped if token in STOP_PAIRS else terms).setdefault(token, _one(token))
            yield _one(token).fts


def _term(row: list[str]) -> Term:
    return Term(f'"{" ".join(row)}"', tuple(row))


def _one(token: str) -> Term:
    return _term([token])
