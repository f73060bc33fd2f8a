"""Taking secrets out of what was said, before anything of it is stored or sent."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_SHORTEST_SHOWN = 18
"""Characters; of a shorter secret nothing is shown, of others the first six and the last four."""
_MASKED = re.compile(r".{6}….{4}")
_COMPOSED = re.compile(r"[\s\x1f\"'`\\&,;@]")
"""Of what may be several words, or a secret with something else behind it, nothing is shown."""


@dataclass(frozen=True, slots=True)
class _Rule:
    """A kind of secret: what the last group of `pattern` matches, or the whole match when it has none.

    A rule is tried only on text that holds one of `signs` (in lower case): most text holds none, and looking for
    a word is many times faster than a pattern.
    """

    signs: tuple[str, ...]
    pattern: re.Pattern[str]
    hide: bool = False
    """Show nothing of it, however long it is."""

    def apply(self, text: str) -> str:
        return self.pattern.sub(self._mask, text)

    def _mask(self, match: re.Match[str]) -> str:
        if self.hide:
            return "***"
        group = match.lastindex or 0
        whole, secret = match.group(), match.group(group)
        start = match.start(group) - match.start()
        return f"{whole[:start]}{_masked(secret)}{whole[start + len(secret) :]}"


def _masked(secret: str) -> str:
    if _MASKED.fullmatch(secret):
        return secret  # two rules, or two readings, met the same secret
    if len(secret) < _SHORTEST_SHOWN or _COMPOSED.search(secret):
        return "***"
    return f"{secret[:6]}…{secret[-4:]}"


def _rule(signs: str, pattern: str, *, hide: bool = False, case: bool = False) -> _Rule:
    flags = re.ASCII | re.DOTALL if case else re.ASCII | re.DOTALL | re.IGNORECASE
    return _Rule(tuple(signs.split()), re.compile(pattern, flags), hide)


# The pieces that the patterns are made of. Each repetition that meets any text is possessive, or cannot begin
# again inside of what it has passed over: time stays linear in whatever is said.
_JOINT = "\x1f"
"""Between two texts of a message. It is white space, of which redacted text has none but blanks."""
_GAP = r"[\s\x1f]*+"
_ESCAPES = r"\\{0,7}"
"""Before the quotes of JSON in JSON in JSON."""
_QUOTE = r"[\"'`]"
_CLOSING = r"(?<!\\)(?:\1\1\\\\)*\1\2(?![A-Za-z0-9]|\\'')"
"""The quote that ends what groups 1 and 2 began: as deep in escapes, behind whole escapes only, and no apostrophe."""
_SHELL_QUOTE = r"'(?:\\'|\"'\")'"
"""How a shell has a quote inside of quotes: it closes them, and opens them again."""
_QUOTED = (
    rf"(?<!\\)({_ESCAPES})(\"{{3}}|'{{3}}|`{{3}}|{_QUOTE})((?:[^\\\"'`]++|{_SHELL_QUOTE}|(?!{_CLOSING}).)++){_CLOSING}"
)
_CURLY = r"[“„«「『]([^“”„«»「」『』]+)[”“»」』]"
_LIST = rf"([\[{{]{_GAP}{_ESCAPES}{_QUOTE}[^\[\]{{}}]*[\]}}])"
_LAST_QUOTE = rf"{_ESCAPES}{_QUOTE}{{1,3}}(?:[\s\x1f,;:)\]}}>]|[.!?](?:\s|\Z)|\Z)|\\(?:[\s\x1f]|\Z)"
"""A quote behind a word ends it only where nothing of the word can follow: it's, ab\\c."""
_WORD_PART = rf"(?:[^\s\x1f\"'`\\,;]|[,;](?![\s\x1f]|\Z)|\\[ ](?=[^\s\\-])|(?!{_LAST_QUOTE})[\\\"'`])"
_WORD = rf"(?:{_ESCAPES}{_QUOTE})?({_WORD_PART}++)"
_CALL = rf"(?:[A-Za-z_.]{{1,40}}\((?={_ESCAPES}{_QUOTE}))?"
"""As in SecretStr("…")."""
_VALUE = rf"{_CALL}(?:[bfru@$]{{1,2}}(?={_QUOTE}))?(?:{_QUOTED}|{_CURLY}|{_LIST}|{_WORD})"

_NAME_START = r"(?<![A-Za-z0-9_-])"
"""Else each letter of a long name would be tried as its beginning."""
_NAME = rf"{_NAME_START}[A-Z0-9_-]*(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD)"
_NAME_END = rf"(?:{_ESCAPES}[\"'`*_]{{1,3}}\]?|\[\]|</\w{{1,10}}>)?+"
_TYPED = rf"[:：]{_GAP}&?[A-Za-z][A-Za-z_.\[\]]{{0,40}}(?: ?\| ?None)?{_GAP}={_GAP}(?={_ESCAPES}{_QUOTE})"
"""As in `key: str = "…"`; the quote tells it from a value with an equals sign."""
_SETS = rf"{_GAP}(?:{_TYPED}|[:?+!]?={{1,3}}[>~]?|<-(?={_GAP}{_QUOTE})|[:：＝])"
_BESIDE = r"(?:(?:[|>][+-]?|[*_]{1,3}|[=~-])[\s\x1f]+)?(?:(?-i:Bearer|Basic)[\s\x1f]+)?"
"""What stands before a value and is none of it: the end of **bold:** type, a YAML block's sign, a scheme."""
_SCHEME = r"(?:Bearer|Basic|Token|Api-?Key|Key|Negotiate|NTLM|Bot|OAuth|SSWS|GenieKey)"
_KEY_LIKE = r"(?=[^\s:\"'`]{0,60}\d|[^\s:\"'`]{16})"
"""What tells a key from a word."""
_NOT_NEXT_URL = r"(?!://)"
_RULES = (
    # A private key comes first: nothing of its inside may be taken for something smaller.
    _rule(
        "private",
        r"-{4,5}[ ]?BEGIN [A-Z0-9 \x1f]*PRIVATE[ \x1f]KEY[A-Z0-9 \x1f]*-{4,5}"
        r".*?(?:-{4,5}[ ]?END [A-Z0-9 \x1f]*PRIVATE[ \x1f]KEY[A-Z0-9 \x1f]*-{4,5}|\Z)",
        hide=True,
    ),
    _rule("putty-user-key-file", r"PuTTY-User-Key-File-\d:.*?(?:Private-MAC:\s*\w+|\Z)", hide=True),
    _rule("key token secret passw", rf"{_NAME}{_NAME_END}{_SETS}{_GAP}{_BESIDE}{_VALUE}"),
    _rule(
        "key token secret passw",
        rf"{_NAME_START}(?=-)(?:{_NAME.removeprefix(_NAME_START)})[\s\x1f]+(?!--?[A-Z]){_VALUE}",
    ),
    _rule(
        "authorization",
        rf"(?<![A-Za-z0-9_])Authorization{_NAME_END}{_GAP}(?:[:：]?=>?|[:：,]){_GAP}{_ESCAPES}{_QUOTE}?{_GAP}"
        rf"(?:(?:Digest|Hawk|OAuth|Signature|AWS4-HMAC-SHA256)[\s\x1f]+((?:[\w-]+=(?:{_ESCAPES}\"[^\"]*\"|[^\s\",]+)[\s,]*)++)"
        rf"|{_SCHEME}[\s\x1f]+({_WORD_PART}++)|(?:[A-Z][A-Z0-9_-]{{0,30}}[\s\x1f]+)?{_KEY_LIKE}({_WORD_PART}++))",
    ),
    _rule(
        "authorization",
        rf"(?<![A-Za-z0-9_])Authorization{_NAME_END}{_GAP}[:：=]{_GAP}(?!{_ESCAPES}{_QUOTE}{_SCHEME}\b){_QUOTED}",
    ),
    _rule("bearer", r"\bBearer\s+([A-Za-z0-9._~+/=-]{18,})"),
    # A password may hold an @ or a slash; a port does not make a path a password.
    _rule("://", rf"\bhttps?://[^\s/:@\"']*:((?:{_NOT_NEXT_URL}(?!/){_WORD_PART})+)@"),
    _rule("://", rf"(?<!http)(?<!https)://[^\s/:@\"']*:(?!\d{{1,5}}/)((?:{_NOT_NEXT_URL}{_WORD_PART})+)@"),
    _rule("://", rf"\bhttps?://[^\s/:@\"']*:(?!\d{{1,5}}[/?#])((?:{_NOT_NEXT_URL}(?!@){_WORD_PART})+)@"),
    _rule("://", r"\bhttps?://([A-Za-z0-9_~+=%-]{16,})@"),
    _rule("sk-", r"\b(sk-[A-Za-z0-9_-]{8,})"),
    _rule("sk_live_ sk_test_ rk_live_ rk_test_ whsec_", r"\b((?:[sr]k_(?:live|test)_|whsec_)[A-Za-z0-9]{10,})"),
    _rule("ghp_ gho_ ghu_ ghs_ ghr_", r"\b(gh[pousr]_[A-Za-z0-9]{20,})"),
    _rule("github_pat_", r"\b(github_pat_[A-Za-z0-9_]{20,})"),
    _rule("glpat-", r"\b(glpat-[A-Za-z0-9_-]{16,})"),
    _rule("xox", r"\b(xox[baprs]-[A-Za-z0-9-]{10,})"),
    _rule("xapp-", r"\b(xapp-[A-Za-z0-9-]{10,})"),
    _rule("gsk_", r"\b(gsk_[A-Za-z0-9_-]{10,})"),
    _rule("aiza", r"\b(AIza[A-Za-z0-9_-]{20,})"),
    _rule("pplx-", r"\b(pplx-[A-Za-z0-9_-]{10,})"),
    _rule("npm_", r"\b(npm_[A-Za-z0-9]{10,})"),
    _rule("hf_", r"\b(hf_[A-Za-z0-9]{20,})"),
    _rule("akia asia", r"\b((?:AKIA|ASIA)[A-Z0-9]{16})\b", case=True),
    _rule("age-secret-key-", r"\b(AGE-SECRET-KEY-1[A-Z0-9]{20,})"),
    # From the beginning of a run on, which need not be that of the token: a run is looked at once.
    _rule(
        "eyj",
        r"(?<![A-Za-z0-9_-])(?=[A-Za-z0-9_-]*?eyJ)"
        r"([A-Za-z0-9_-]{13,}+(?:\.eyJ[A-Za-z0-9_-]{10,}+(?:\.[A-Za-z0-9_-]*+)?|(?:\.[A-Za-z0-9_-]*+){4}))",
        case=True,
    ),
)
_TELEGRAM_SIGN = re.compile(r":[A-Za-z0-9_-]{20}")
_TELEGRAM = _rule("", r"(?<![0-9])((?<![A-Za-z0-9])\d{6,}:[A-Za-z0-9_-]{20,}|(?<=bot)\d{6,}:[A-Za-z0-9_-]{20,})")
_BY_SIGN: tuple[tuple[str, tuple[int, ...]], ...] = tuple(
    (sign, tuple(number for number, rule in enumerate(_RULES) if sign in rule.signs))
    for sign in dict.fromkeys(sign for rule in _RULES for sign in rule.signs)
)


_GOES_ON = rf"(?![A-Z][a-z']*[.,:;!?]?(?:\s|\Z))(?=[^\s{_JOINT}]*\w)([^\s{_JOINT}]+)"
"""The first word of a text that may be the rest of a secret: not one that a sentence begins with."""
_CONTINUED = re.compile(rf"(?:\*\*\*|….{{4}}){_JOINT}{_GOES_ON}", re.ASCII)
_MASK_AT_END = re.compile(r"(?:\*\*\*|….{4})\Z")
_FIRST_WORD = re.compile(_GOES_ON, re.ASCII)
_NEARBY = 300
"""Characters on each side of a joint in which a secret is looked for that only both together show."""


def redact(text: str) -> str:
    """The text with its secrets masked: keys and passwords by their names or forms, private keys, bot tokens.

    A secret of less than 18 characters, or of several parts, becomes `***`, another keeps its first six and last four.
    """
    folded = text.lower()
    wanted = {number for sign, numbers in _BY_SIGN if sign in folded for number in numbers}
    for number in sorted(wanted):
        text = _RULES[number].apply(text)
    if _TELEGRAM_SIGN.search(text):
        text = _TELEGRAM.apply(text)
    return text


def redact_texts(texts: Iterable[str]) -> str:
    """The texts of one message as one line, without its secrets, also those that go on from one text to the next.

    White space of any kind and length becomes one blank.
    """
    stripped = [" ".join(text.split()) for text in texts]
    text = redact(_JOINT.join(_mask_broken([text for text in stripped if text])))
    if _JOINT in text:
        text = _CONTINUED.sub(lambda match: match.group().removesuffix(match.group(1)) + "***", text)
    return text.replace(_JOINT, " ")


def _mask_broken(texts: list[str]) -> list[str]:
    """Mask both halves of a secret that breaks where neither half tells of it: in its name or its first letters."""
    for number in range(1, len(texts)):
        found = _FIRST_WORD.match(texts[number])
        if found is None:
            continue
        before, after = texts[number - 1][-_NEARBY:], found.group()[:_NEARBY]
        apart = redact(before)
        if _MASK_AT_END.search(apart) or redact(before + after) == apart + after:
            continue
        if redact(before + _JOINT + after) == apart + _JOINT + after:
            texts[number - 1] = f"{texts[number - 1].rpartition(' ')[0]} ***".lstrip()
            texts[number] = f"***{texts[number][found.end() :]}"
    return texts
