"""The values that give access to a server: its address, a key, headers."""

from __future__ import annotations

import re
from typing import Annotated
from urllib.parse import urlsplit

from recallite.config.faults import Fault, Refused, an_object, refused
from recallite.config.values import a_string

# Compiled when they are first used: most files have no key and no header.
_HEADER_NAME = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_HEADER_VALUE = r"[\t\x20-\x7e]*"
_KEY = r"[\x21-\x7e]*"


class Secret:
    """A key or the value of a header. `repr`, `str` and formats hide it; `reveal` gives it."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """The text itself."""
        return self._text

    def __repr__(self) -> str:
        return "Secret(set)" if self._text else "Secret(empty)"

    def __eq__(self, other: object) -> bool:
        return self._text == other._text if isinstance(other, Secret) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._text)


def _url(value: object) -> str:
    text = a_string(value).strip()
    try:
        parts = urlsplit(text)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or re.search(r"[\s\x00-\x1f\x7f]", text):
        raise refused("must be an http:// or https:// address with a host name")
    if "@" in parts.netloc:
        raise refused("must not hold a user name or password; use apiKey or headers")
    if parts.query or parts.fragment:
        raise refused("must end with the path, without ? or #")
    return text.rstrip("/")


def sendable_key(text: str) -> bool:
    """True if the trimmed `text` can be put into a request header."""
    return re.fullmatch(_KEY, text.strip()) is not None


def _api_key(value: object) -> Secret:
    if not isinstance(value, str):
        raise refused('must be a string such as "${OPENAI_API_KEY}"')
    if not sendable_key(value):
        raise refused("no key has blanks inside, line breaks or non-ASCII characters")
    return Secret(value)


def _headers(value: object) -> dict[str, Secret]:
    texts: dict[str, str] = {}
    faults = []
    for name, text in an_object(value).items():
        if isinstance(text, str):
            texts[name] = text
        else:
            faults.append(Fault("must be a string", at=(name,)))
    if faults:
        raise Refused(*faults)
    if not all(re.fullmatch(_HEADER_NAME, name) for name in texts):
        raise refused("a header's name has characters that are not allowed there")
    if not all(re.fullmatch(_HEADER_VALUE, text) for text in texts.values()):
        raise refused("a header's value has characters that are not allowed there (line breaks or non-ASCII)")
    if len({name.lower() for name in texts}) < len(texts):
        raise refused("one header is named twice (upper and lower case do not matter)")
    return {name: Secret(text) for name, text in texts.items()}


Url = Annotated[str, _url]
ApiKey = Annotated[Secret, _api_key]
Headers = Annotated[dict[str, Secret], _headers]
