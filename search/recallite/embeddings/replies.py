"""Which vector belongs to which text, in replies of the form that OpenAI made common."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import cast

from recallite.embeddings.protocol import RawVector
from recallite.errors import ProviderTransientError


def read_json(body: bytes, *, host: str) -> object:
    """The JSON of a reply, with NaN and Infinity let through: `checks` refuses them vector by vector.

    Raises ProviderTransientError for HTML and the like: a gateway's error page, or a wrong base URL.
    """
    try:
        return cast(object, json.loads(body))
    except (ValueError, RecursionError):
        what = "HTML" if body.lstrip()[:1] == b"<" else "something"
        # The decoder's own message quotes the body.
        raise ProviderTransientError(f"{host} sent {what} instead of JSON: check the base URL") from None


def match_items(reply: object, *, expected: int, host: str) -> list[RawVector]:
    """One raw vector per text, in the order in which the texts were sent.

    Items are matched by their `index`; where it is doubled or out of range nobody can tell, and the text
    gets None. Only if no item has an index does the order count, and then the number must be right.
    Raises ProviderTransientError when the reply holds no list of items at all.
    """
    data = reply.get("data") if isinstance(reply, dict) else None
    if not isinstance(data, list):
        raise ProviderTransientError(f"{host} answered without embeddings")
    items = [item if isinstance(item, dict) else {} for item in data]
    if not any("index" in item for item in items):
        return [_embedding(item) for item in items] if len(items) == expected else [None] * expected
    return _by_index(items, expected)


def _by_index(items: Sequence[Mapping[str, object]], expected: int) -> list[RawVector]:
    vectors: list[RawVector] = [None] * expected
    seen: set[int] = set()
    for item in items:
        index = item.get("index")
        if type(index) is not int or not 0 <= index < expected:
            continue
        vectors[index] = None if index in seen else _embedding(item)
        seen.add(index)
    return vectors


def _embedding(item: Mapping[str, object]) -> RawVector:
    embedding = item.get("embedding")
    # The numbers are checked by `checks.check_vectors`, all at once.
    return cast(Sequence[float], embedding) if isinstance(embedding, list) else None
