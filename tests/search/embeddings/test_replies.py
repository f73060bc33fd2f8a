"""Which vector belongs to which text."""

import pytest

from recallite.embeddings.replies import match_items, read_json
from recallite.errors import ProviderTransientError

A, B, C = [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]


def item(index: object, embedding: object = A) -> dict[str, object]:
    return {"object": "embedding", "index": index, "embedding": embedding}


@pytest.mark.parametrize(
    ("data", "vectors"),
    [
        ([item(0, A), item(1, B), item(2, C)], [A, B, C]),
        ([item(2, C), item(0, A), item(1, B)], [A, B, C]),
        ([item(0, A), item(2, C)], [A, None, C]),
        ([item(0, A), item(1, B), item(1, C)], [A, None, None]),
        ([item(0, A), item(1, B), item(1, C), item(1, B)], [A, None, None]),
        ([item(0, A), item(3, B), item(-1, C)], [A, None, None]),
        ([item(0, A), item(True, B), item("2", C)], [A, None, None]),
        ([item(0, A), {"embedding": B}, item(2, C)], [A, None, C]),
        ([{"embedding": A}, {"embedding": B}, {"embedding": C}], [A, B, C]),
        ([{"embedding": A}, {"embedding": B}], [None, None, None]),
        ([item(0, None), item(1, "text"), item(2, {})], [None, None, None]),
        ([item(0, []), item(1, B), item(2, C)], [[], B, C]),
        ([None, 7, "x"], [None, None, None]),
        ([], [None, None, None]),
    ],
)
def test_items_are_matched_by_index(data: object, vectors: object) -> None:
    assert match_items({"data": data}, expected=3, host="host") == vectors


@pytest.mark.parametrize("reply", [None, [], "x", 7, {}, {"data": None}, {"data": {}}, {"error": {}}])
def test_a_reply_without_items_is_a_failure_that_may_pass(reply: object) -> None:
    with pytest.raises(ProviderTransientError, match="host"):
        match_items(reply, expected=1, host="host")


@pytest.mark.parametrize("body", [b"<html>secret", b"", b"{", b"\xff\xfe", b"[" * 100_000])
def test_what_is_not_json_is_not_quoted(body: bytes) -> None:
    with pytest.raises(ProviderTransientError, match="host") as refused:
        read_json(body, host="host")

    assert "secret" not in str(refused.value)
