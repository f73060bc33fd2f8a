"""The doctor tries what is needed with the real client, names what fails and what to do, and shows no key."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from recallite.diagnosis import PROBE, Check, diagnose
from recallite.testing.behaviours import BadVectors, Hold, Status
from recallite.testing.provider_server import PLANTED_KEY, ProviderServer


@pytest.fixture
def remote(lab: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("OPENAI_API_KEY", PLANTED_KEY)
    with ProviderServer(dims=64) as server:
        lab.server = server
        lab.memory_search = {
            "provider": "openai",
            "model": "loopback",
            "remote": {"baseUrl": server.url, "timeoutSeconds": 2},
        }
        yield lab


def checks(lab: Any) -> dict[str, list[Check]]:
    found: dict[str, list[Check]] = {}
    for check in diagnose(lab.settings):
        found.setdefault(check.name, []).append(check)
    return found


def test_all_is_well(remote: Any) -> None:
    remote.note("memory/a.md", "quokka")
    remote.run("index", OPENAI_API_KEY=PLANTED_KEY)
    before = remote.server.requests

    done = remote.run("doctor", OPENAI_API_KEY=PLANTED_KEY)

    assert "failed" not in done.stdout and "warning" not in done.stdout
    assert "1 file indexed, 1 on disk, 1 vector" in done.stdout
    assert f"openai at {remote.server.url}, model loopback: 64 dimensions in " in done.stdout
    assert [list(request.texts) for request in remote.server.seen[before:]] == [[PROBE]]
    assert PLANTED_KEY not in done.stdout + done.stderr


def test_it_writes_nothing(remote: Any) -> None:
    remote.note("memory/a.md", "quokka")

    list(diagnose(remote.settings))

    assert not (remote.root / "state").exists()


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (Status(401, message=f"bad key {PLANTED_KEY}"), "401"),
        (Status(500), "500"),
        (BadVectors("zeros"), "zero"),
        (BadVectors("nan"), "finite"),
    ],
)
def test_a_provider_that_fails_is_named_with_its_address_after_one_request(remote: Any, reply: Any, said: str) -> None:
    remote.server.next(*[reply] * 5)

    [provider] = checks(remote)["provider"]

    assert provider.outcome == "failed"
    assert said in provider.text and remote.server.url in provider.text
    assert PLANTED_KEY not in provider.text
    assert remote.server.requests == 1


def test_a_provider_that_hangs_does_not_hold_it(remote: Any) -> None:
    import threading

    release = threading.Event()
    remote.server.next(Hold(release))

    [provider] = checks(remote)["provider"]
    release.set()

    assert provider.outcome == "failed" and "2" in provider.text


def test_another_model_behind_the_same_name_is_told_by_the_length(remote: Any) -> None:
    remote.note("memory/a.md", "quokka")
    remote.run("index", OPENAI_API_KEY=PLANTED_KEY)
    with ProviderServer(dims=32) as other:
        remote.memory_search["remote"]["baseUrl"] = other.url

        [provider] = checks(remote)["provider"]

    assert provider.outcome == "failed"
    assert "32 dimensions" in provider.text and "the index has 64" in provider.text


def test_files_that_failed_or_are_left_out_are_named(lab: Any) -> None:
    lab.note("memory/good.md", "quokka")
    lab.note("memory/bin.md", b"\0\1\2" * 100)
    (lab.workspace / "memory/link.md").symlink_to("good.md")
    lab.index()

    files = {check.text.partition(" ")[0].rstrip(":"): check for check in checks(lab)["file"]}

    assert files["memory/bin.md"].outcome == "warning" and "binary" in files["memory/bin.md"].text
    assert files["memory/link.md"].outcome == "ok" and "symlink" in files["memory/link.md"].text


def test_the_fallback_is_tried_too(remote: Any) -> None:
    remote.memory_search["fallback"] = "ollama"
    remote.providers["ollama"] = {"baseUrl": "http://127.0.0.1:9"}

    found = checks(remote)

    assert found["provider"][0].outcome == "ok"
    assert found["fallback"][0].outcome == "failed" and "127.0.0.1:9" in found["fallback"][0].text


def test_what_is_missing_is_a_warning_with_the_remedy(lab: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    lab.memory_search = {"provider": "openai", "store": {"vector": {"enabled": False}}}
    lab.note("memory/a.md", "quokka")

    found = checks(lab)

    assert "store.vector.enabled" in found["sqlite-vec"][0].text and found["sqlite-vec"][0].outcome == "warning"
    assert any("recallite index" in check.text for check in found["index"])
    assert found["provider"][0].outcome == "failed" and "OPENAI_API_KEY" in found["provider"][0].text


def test_the_exit_code_and_json(lab: Any) -> None:
    lab.memory_search = {"enabled": False}

    done = lab.run("doctor", "--json", check=False)

    assert done.returncode == 3
    assert [check["name"] for check in json.loads(done.stdout)] == ["versions", "sqlite-vec", "memory"]
