"""Taking secrets out of what was said, before anything of it is stored or sent."""

from __future__ import annotations

import re
from dataclasses import dataclass

_SHORTEST_SHOWN = 18
"""Characters; of a shorter secret nothing is shown, of others the first six and the last four."""
_MASKED = re.compile(r".{6}….{4}")


@dataclass(frozen=True, slots=True)
class _Rule:
    """A kind of secret. `secret` is the group to mask, 0 for the whole match.

    A rule is tried only on text that holds one of `signs` (in lower case): most text holds none, and looking for
    a word is many times faster than a pattern.
    """

    signs: tuple[str, ...]
    pattern: re.Pattern[str]
    secret: int = 1
    hide: bool = False
    """Show nothing of it, however long it is."""

    def apply(self, text: str) -> str:
        return self.pattern.sub(self._mask, text)

    def _mask(self, match: re.Match[str]) -> str:
        whole, secret = match.group(), match.group(self.secret)
        if self.hide:
            return "***"
        start = match.start(self.secret) - match.start()
        return f"{whole[:start]}{_masked(secret)}{whole[start + len(secret) :]}"


def _masked(secret: str) -> str:
    if _MASKED.fullmatch(secret):
        return secret  # two rules, or two readings, met the same secret
    return "***" if len(secret) < _SHORTEST_SHOWN else f"{secret[:6]}…{secret[-4:]}"


def _rule(signs: str, pattern: str, secret: int = 1, *, hide: bool = False, case: bool = False) -> _Rule:
    flags = re.ASCII if case else re.ASCII | re.IGNORECASE
    return _Rule(tuple(signs.split()), re.compile(pattern, flags), secret, hide)


_NAME_START = r"(?<![A-Za-z0-9_-])"
"""Else each letter of a long name would be tried as its beginning."""
_NAMES = "KEY|TOKEN|SECRET|PASSWORD|PASSWD"
_RULES = (
    # A private key comes first: nothing of its inside may be taken for something smaller.
    _rule("-----begin", r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", 0, hide=True),
    _rule("key token secret passw", rf"{_NAME_START}[A-Z0-9_-]*(?:{_NAMES})\s*[=:]\s*(?:\\?[\"'])?([^\s\"'\\]+)"),
    _rule(
        "key token secret passw",
        r"\\?[\"'](?:api_?key|(?:access|refresh|auth|id)_?token|token|(?:client_?)?secret|password|passwd)\\?[\"']"
        r"\s*:\s*\\?\"((?:[^\"\\]|\\[^\"])+)",
    ),
    _rule("--", r"--(?:api[-_]?key|token|secret|password|passwd)(?:\s+|=)(?:\\?[\"'])?([^\s\"'\\]+)"),
    _rule("authorization", r"Authorization\s*[:=]\s*\\?[\"']?(?:Bearer|Basic|Token)\s+([A-Za-z0-9._~+/=-]+)"),
    _rule("bearer", r"\bBearer\s+([A-Za-z0-9._~+/=-]{18,})"),
    _rule("://", r"://[^\s/:@\"']*:([^\s/@\"']+)@"),
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
    _rule("eyj", r"\b(eyJ[A-Za-z0-9_-]{10,400}\.eyJ[A-Za-z0-9_-]{10,}(?:\.[A-Za-z0-9_-]*)?)", case=True),
)
_TELEGRAM_SIGN = re.compile(r":[A-Za-z0-9_-]{20}")
_TELEGRAM = _rule("", r"(?<![0-9])((?<![A-Za-z0-9])\d{6,}:[A-Za-z0-9_-]{20,}|(?<=bot)\d{6,}:[A-Za-z0-9_-]{20,})")
_BY_SIGN: tuple[tuple[str, tuple[int, ...]], ...] = tuple(
    (sign, tuple(number for number, rule in enumerate(_RULES) if sign in rule.signs))
    for sign in dict.fromkeys(sign for rule in _RULES for sign in rule.signs)
)


def redact(text: str) -> str:
    """The text with its secrets masked: keys and passwords by their names or forms, private keys, bot tokens.

    A secret of less than 18 characters becomes `***`, a longer one keeps its first six and last four.
    """
    folded = text.lower()
    wanted = {number for sign, numbers in _BY_SIGN if sign in folded for number in numbers}
    for number in sorted(wanted):
        text = _RULES[number].apply(text)
    if _TELEGRAM_SIGN.search(text):
        text = _TELEGRAM.apply(text)
    return text
