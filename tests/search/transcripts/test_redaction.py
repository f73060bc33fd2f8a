"""No secret gets past: the reference's outputs, further kinds, and no text that takes long."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recallite.transcripts import redact

GOLDEN = [
    ("OPENAI_API_KEY=sk-abcdefghijklmnop1234", "OPENAI_API_KEY=sk-abc…1234"),
    ('token: "abc"', 'token: "***"'),
    (
        'curl -H "Authorization: Bearer abcdefghijklmnopqrstuvwx"',
        'curl -H "Authorization: Bearer abcdef…uvwx"',
    ),
    ("--password hunter2hunter2hunter2", "--password hunter…ter2"),
    ("ghp_ABCDEFGHIJKLMNOPQRSTUVWX", "ghp_AB…UVWX"),
    ("AIzaSyA1234567890abcdefghijklmn", "AIzaSy…klmn"),
    ("-----BEGIN RSA PRIVATE KEY----- MIIE abc -----END RSA PRIVATE KEY-----", "***"),
    ("PASSWORD=short", "PASSWORD=***"),
    ("the token is abc", "the token is abc"),
    ("xoxb-1234567890-abcdef", "xoxb-1…cdef"),
]


@pytest.mark.parametrize(("text", "expected"), GOLDEN)
def test_what_the_reference_masks_is_masked_alike(text: str, expected: str) -> None:
    assert redact(text) == expected


SECRET = "Zq9Xw8Vu7Ts6Rp5On4Ml3K"
LEAKS = [
    f"OMADA_TOKEN={SECRET}", f"my_secret : {SECRET}", f"DB_PASSWD='{SECRET}'", f'{{"apiKey": "{SECRET}"}}',
    f'{{"client_secret":"{SECRET}"}}', f'{{\\"password\\": \\"{SECRET}\\"}}', f"--api-key={SECRET}", f"--token '{SECRET}'",
    f"Authorization: Basic {SECRET}", f"authorization: bearer {SECRET}", f"Bearer {SECRET}", f"sk-{SECRET}",
    f"sk-proj-{SECRET}", f"rk_live_{SECRET}", f"gho_{SECRET}", f"github_pat_{SECRET}", f"glpat-{SECRET}",
    f"xoxp-{SECRET}", f"xapp-{SECRET}", f"gsk_{SECRET}", f"AIza{SECRET}", f"pplx-{SECRET}", f"npm_{SECRET}", f"hf_{SECRET}",
    f"postgres://me:{SECRET}@db/x", f"123456789:{SECRET}", f"https://api.telegram.org/bot123456789:{SECRET}/getMe",
    "AKIAIOSFODNN7EXAMPLE", f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0{SECRET}.{SECRET}",
    f"-----BEGIN OPENSSH PRIVATE KEY----- {SECRET}", f"密码 PASSWORD={SECRET}",
]  # fmt: skip


@pytest.mark.parametrize("text", LEAKS)
@pytest.mark.parametrize("around", ["{}", "it is {} there", "({})", "「{}」"])
def test_other_kinds_of_secrets_are_masked_wherever_they_stand(text: str, around: str) -> None:
    shown = redact(around.format(text))

    assert SECRET[6:-4] not in shown
    assert "IOSFODNN7EXA" not in shown
    assert "***" in shown or "…" in shown


@pytest.mark.parametrize(
    "text",
    [
        "sk-1 is short", "task-force-of-many-people", "risk-assessment-report", "the key to it is patience",
        "commit a828e60c7d5e4f3b2a1908172635445362718293", "memorySearch.query.hybrid", "ratio 16:9, at 12:30", "http://host:8080/path@home",
        "Bearer bonds", "npm_lifecycle", "monkey business", "x -- token",
    ],
)  # fmt: skip
def test_what_is_no_secret_stays(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize(
    "piece", ["-", "a-", "key", "key-", "token ", "-eyJ", "eyJa.", "://a:", "1", "1:", "KEY= ", '"token":"', "-----BEGIN ", "Bearer ", "--token ", "sk-"]
)  # fmt: skip
def test_no_text_takes_more_than_linear_time(piece: str) -> None:
    def seconds(length: int) -> float:
        text = piece * (length // len(piece))
        return min(_timed(text) for _ in range(3))

    assert seconds(400_000) < 40 * max(seconds(40_000), 0.001)


def _timed(text: str) -> float:
    began = time.process_time()
    redact(text)
    return time.process_time() - began


@given(st.text())
def test_any_text_is_taken(text: str) -> None:
    assert isinstance(redact(text), str)
