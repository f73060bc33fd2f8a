"""The broker's address: refused in words that do not show it."""

from __future__ import annotations

from pathlib import Path

import pytest

from recallite.errors import ConfigError
from recallite.work.connect import broker_url


@pytest.mark.parametrize(
    "url",
    [
        "http://:top-secret@127.0.0.1/0",
        "redis://:top/sec#ret@127.0.0.1:6379/0",
        "redis://127.0.0.1:abc/0",
        "redis://u:se[cret@127.0.0.1/0",
        "redis+socket:///run/redis.sock?virtual_host=x",
    ],
)
def test_an_address_that_cannot_be_used_is_refused_without_showing_it(url: str) -> None:
    with pytest.raises(ConfigError, match="broker's address") as caught:
        broker_url(url, env={})
    for part in ("top", "sec#ret", "se[cret", "abc"):
        assert part not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    "url",
    [
        "redis://127.0.0.1:6379/0",
        "rediss://user:p%2Fw@redis.example:6380/3",
        "redis+socket:///run/redis.sock?virtual_host=2",
        "unix:///run/redis.sock",
    ],
)
def test_an_address_of_redis_is_taken(url: str) -> None:
    assert broker_url(url, env={}) == url


def test_a_broker_file_that_is_not_text_is_named(tmp_path: Path) -> None:
    file = tmp_path / "url"
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match=r"RECALLITE_BROKER_FILE.*UTF-8"):
        broker_url(env={"RECALLITE_BROKER_FILE": str(file)})
