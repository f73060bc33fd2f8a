"""No secret gets past: the reference's outputs, further kinds, and no text that takes long."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Callable
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recallite.transcripts import redact
from recallite.transcripts.redaction import redact_texts

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
    f'password: "correct {SECRET} horse"', f"PASSWORD='correct {SECRET} horse'", f'{{"secret": "correct {SECRET} horse"}}',
    f'"dbPassword": {SECRET}', f'{{"pass_key":"{SECRET}"}}', f"'SIGNING_SECRET': '{SECRET}'",
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


MASKED = [
    # A field or a header of JSON, however deep, whatever its scheme
    ('{"headers":{"Authorization": "Basic enpodW5"}}', '{"headers":{"Authorization": "Basic ***"}}'),
    ('{"Authorization": "Bearer zzshort"}', '{"Authorization": "Bearer ***"}'),
    ("Authorization: ApiKey hunter22, then", "Authorization: ApiKey ***, then"),
    (f"Authorization: {SECRET}", "Authorization: Zq9Xw8…Ml3K"),
    ('headers.set("Authorization", "Basic ab")', 'headers.set("Authorization", "Basic ***")'),
    ('Authorization: Digest username="me", response="6629fae493"', "Authorization: Digest ***"),
    ('{"Authorization": "a raw key"}', '{"Authorization": "***"}'),
    (r'\\\"apiKey\\\": \\\"ab c\\\"', r'\\\"apiKey\\\": \\\"***\\\"'),
    ('{"tokenKey": ["ab", "cd"], "x": 1}', '{"tokenKey": ***, "x": 1}'),
    # Quotes: what is in them is one secret, up to the quote that really ends it
    (r'{"password": "ab\"tail", "b": 1}', '{"password": "***", "b": 1}'),
    (r'PASSWORD="a\"tail"', 'PASSWORD="***"'),
    ('{"db_password": "correct horse battery"}', '{"db_password": "***"}'),
    ("{'password': 'correct horse'}", "{'password': '***'}"),
    ("PASSWORD='it'\\''secret word'", "PASSWORD='***'"),
    ("run --password 'it'\"'\"'!secret word' x", "run --password '***' x"),
    ("password: 'don't tell'", "password: '***'"),
    (f'API_SECRET="{"zz " * 300}tail" end', 'API_SECRET="***" end'),
    ('SECRET = """correct horse""" end', 'SECRET = """***""" end'),
    ("password: “correct horse”", "password: “***”"),
    ('password = SecretStr("correct horse")', 'password = SecretStr("***")'),
    # A word without quotes goes on over a quote or a backslash inside of it
    ("DB_PASSWORD=it'ssecret", "DB_PASSWORD=***"),
    (r"DB_PASSWORD=ab\secret", "DB_PASSWORD=***"),
    (r"DB_PASSWORD=ab\ secret", "DB_PASSWORD=***"),
    (r"PASSWORD=hunter\nUSER=administrator", "PASSWORD=***"),
    ('{"url":"x?token=abc","b":"c"}', '{"url":"x?token=***","b":"c"}'),
    # Options
    ("psql --db-password hunter2 x", "psql --db-password *** x"),
    ("tool --access-token abc --client-secret def", "tool --access-token *** --client-secret ***"),
    ('mysql --password "correct horse" db', 'mysql --password "***" db'),
    # What stands between a name and its value is not the value
    ("**Password:** hunter2", "**Password:** ***"),
    ("Password: **hunter2**", "Password: ***"),
    ("`API_KEY`: `abc`", "`API_KEY`: `***`"),
    ('token := "abc"', 'token := "***"'),
    ('API_KEY: str = "abc"', 'API_KEY: str = "***"'),
    ("token: Optional[str] = 'abc'", "token: Optional[str] = '***'"),
    (':password => "abc"', ':password => "***"'),
    ('if password == "abc":', 'if password == "***":'),
    ("password: | abc", "password: | ***"),
    ("token: Bearer abc", "token: Bearer ***"),
    ("PASSWORD：abc", "PASSWORD：***"),
    ("<b>TOKEN</b>: abc", "<b>TOKEN</b>: ***"),
    ('os.environ["API_KEY"] = "abc"', 'os.environ["API_KEY"] = "***"'),
    # Addresses
    ("postgres://admin:p@ss@db/x", "postgres://admin:***@db/x"),
    ("postgres://admin:p/ss@db/x", "postgres://admin:***@db/x"),
    ("https://me:p/ss@db/x", "https://me:***@db/x"),
    ("https://u:tok@github.com/org/repo@v1", "https://u:***@github.com/org/repo@v1"),
    (f"https://{SECRET}@github.com/x", "https://Zq9Xw8…Ml3K@github.com/x"),
    # Blocks and tokens
    (f"-----BEGIN PGP PRIVATE KEY BLOCK----- {SECRET} -----END PGP PRIVATE KEY BLOCK----- end", "*** end"),
    (f"---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ---- {SECRET}", "***"),
    (f"PuTTY-User-Key-File-2: ssh-rsa Private-Lines: 1 {SECRET} Private-MAC: 0a1b end", "*** end"),
    (f"eyJ{'a' * 600}.eyJzdWIi{SECRET}.sigQ end", "eyJaaa…sigQ end"),
    (f"x-eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0{SECRET}.{SECRET} end", "x-eyJh…Ml3K end"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), MASKED)
def test_the_whole_secret_is_masked_and_what_is_around_it_stays(text: str, expected: str) -> None:
    assert redact(text) == expected
    assert redact(expected) == expected


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ([f"OMADA_TOKEN={SECRET}", "rest7end and on"], "OMADA_TOKEN=Zq9Xw8…Ml3K *** and on"),
        (["PASSWORD=correct", "horse"], "PASSWORD=*** ***"),
        (["OMADA_TOKEN=", "abc is it"], "OMADA_TOKEN= *** is it"),
        (['PASSWORD="correct', 'horse" is it'], 'PASSWORD="***" is it'),
        (["-----BEGIN RSA PRIVATE", "KEY----- abc", "def -----END RSA PRIVATE KEY----- end"], "*** end"),
        (["it is ghp_Zq9Xw8", "Vu7Ts6Rp5On4Ml3KZq9Xw8 and on"], "it is *** *** and on"),
        (["my OMADA_TO", "KEN=abc and on"], "my *** *** and on"),
        (["postgres://me:Zq9X", "w8Vu7T@db and on"], "*** *** and on"),
        (["see a key", "value store"], "see a key value store"),
        (["it is in the mon", "key: no"], "it is in the mon key: ***"),
        (["OMADA_TOKEN=abc", "Now restart  it."], "OMADA_TOKEN=*** Now restart it."),
        (["the token", "is\n\nabc"], "the token is abc"),
    ],
)  # fmt: skip
def test_a_secret_goes_on_in_the_next_text_of_its_message(texts: list[str], expected: str) -> None:
    assert redact_texts(texts) == expected


@pytest.mark.parametrize(
    "text",
    [
        "sk-1 is short", "task-force-of-many-people", "risk-assessment-report", "the key to it is patience",
        "commit a828e60c7d5e4f3b2a1908172635445362718293", "memorySearch.query.hybrid", "ratio 16:9, at 12:30", "http://host:8080/path@home",
        "Bearer bonds", "npm_lifecycle", "monkey business", "x -- token",
        "the password is a long one, don't tell", "--no-password --host x", "a token (or two) = fine", "https://me@github.com/x",
        "Authorization: see the docs", "Authorization: required for all", "eyJhbGciOiJIUzI1NiJ9.a.b", "d[key] = 5", 'PASSWORD="" next "z"',
        '{"token":"","b":"c"}', "mail a@b.c about http://x:80/y", "private keys stay private", "is_authorization = any(name)",
    ],
)  # fmt: skip
def test_what_is_no_secret_stays(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize(
    "piece", ["-", "a-", "key", "key-", "token ", "-eyJ", "eyJa.", "://a:", "1", "1:", "KEY= ", '"token":"', "-----BEGIN ", "Bearer ", "--token ", "sk-",
     "KEY='", 'KEY=\\"', "KEY=\\", 'KEY="', "KEY=`", "'", "\\", "KEY: a = ", "KEY=[\"", "KEY=“", "https://a:@", "b://a:@/", "Authorization: ", "a.eyJ", "eyJ-",
     'Authorization: Digest a="', "Authorization:a", "-----BEGIN PRIVATE KEY", "--a-token", "KEY='\\'", "KEY=a\"'`", "KEY \x1f", "KEY_", "PuTTY-User-Key-File-2:"]
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


FORMS: list[Callable[[str], str]] = [
    lambda value: json.dumps({"db_password": value, "b": "x y"}),
    lambda value: json.dumps({"db_password": value}, separators=(",", ":"), ensure_ascii=False),
    lambda value: json.dumps(json.dumps({"a": json.dumps({"apiKey": value, "b": 1})})),
    lambda value: json.dumps({"Authorization": value}),
    lambda value: f"DB_PASSWORD={shlex.quote(value)} run --x 'a b'",
    lambda value: f"run --db-password {shlex.quote(value)} --x 'a b'",
    lambda value: f"password = {value!r} and 'more'",
    lambda value: f"postgres://admin:{quote(value, safe='@/:').replace('://', ':%2F%2F')}@db/x",
]


@given(st.sampled_from(FORMS), *[st.text("aZ09 '\"\\`,;:)]}>{[(@/.!?&=|-#$~é密", max_size=8)] * 2)
def test_no_character_of_a_secret_lets_its_rest_out(form: Callable[[str], str], one: str, other: str) -> None:
    shown = redact_texts([form(f"k{one}ZQMARK7{other}ZQTAIL7")])

    assert "ZQMARK7" not in shown and "ZQTAIL7" not in shown


@given(st.text())
def test_any_text_is_taken(text: str) -> None:
    assert isinstance(redact(text), str)
