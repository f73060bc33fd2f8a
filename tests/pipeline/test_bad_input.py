"""One bad input costs one input: a file, a chunk, a vector, a reply. The rest goes on and the bad one is named."""

from __future__ import annotations

import pytest

from recallite import MemorySearch
from recallite.testing.behaviours import BadVectors, Html, NullBody, Status
from recallite.testing.provider_server import PLANTED_KEY, ProviderServer


@pytest.fixture
def server():
    with ProviderServer() as running:
        yield running


@pytest.fixture
def remote(lab, server, monkeypatch: pytest.MonkeyPatch):
    """The lab with the real openai provider against the loopback server."""
    monkeypatch.setenv("OPENAI_API_KEY", PLANTED_KEY)
    lab.memory_search = {
        "provider": "openai",
        "model": "loopback",
        "remote": {"baseUrl": server.url, "timeoutSeconds": 5},
    }
    return lab


def index(lab):
    from recallite_worker.vector_stage import open_embedder

    return lab.index(embedders=open_embedder)


def test_five_hostile_files_among_twenty(remote, server) -> None:
    for number in range(15):
        remote.note(f"memory/good-{number}.md", f"good note {number} mentions word{number}x")
    remote.note("memory/hostile-utf8.md", b"\xff\xfe\xfd broken \x80 bytes hostileone")
    remote.note("memory/hostile-utf16.md", b"\xff\xfe" + "hostiletwo in UTF-16".encode("utf-16-le"))
    remote.note("memory/hostile-yaml.md", "---\ntitle: [x\n\t: y\n---\nhostilethree")
    remote.note("memory/hostile-line.md", "x" * 5_000_000 + " hostilefour")
    remote.note("memory/hostile-refused.md", "the provider refuses hostilefive")
    remote.note("memory/hostile-binary.md", b"\0\1\2\3")
    server.reject(lambda text: "hostilefive" in text, status=400)

    done = remote.run("index", check=False, OPENAI_API_KEY=PLANTED_KEY)
    status = remote.run("status", check=False)

    assert done.returncode == 3, done.stderr
    for output in (done.stdout, status.stdout):
        assert "hostile-refused.md" in output and "hostile-binary.md" in output
        assert "good-" not in output
    assert status.returncode == 3
    for number in range(15):
        assert remote.paths(f"word{number}x")[0] == f"memory/good-{number}.md"
    assert remote.paths("hostiletwo")[0] == "memory/hostile-utf16.md"
    assert remote.paths("hostilethree")[0] == "memory/hostile-yaml.md"
    assert remote.paths("hostilefour")[0] == "memory/hostile-line.md"
    assert remote.paths("hostilefive")[0] == "memory/hostile-refused.md", "found by keyword all the same"


def test_a_refused_text_is_not_sent_again_until_it_changes(remote, server) -> None:
    remote.note("memory/a.md", "a good text")
    remote.note("memory/b.md", "a cursed text")
    server.reject(lambda text: "cursed" in text, status=422)
    index(remote)
    sent = server.count("a cursed text")

    index(remote)
    remote.index(rebuild=True, embedders=_real())

    assert server.count("a cursed text") == sent
    assert [f.path for f in remote.real_status().failures] == ["memory/b.md"]


def _real():
    from recallite_worker.vector_stage import open_embedder

    return open_embedder


@pytest.mark.parametrize("kind", ["nan", "inf", "zeros", "empty", "null", "short", "strings", "missing"])
def test_a_bad_vector_never_enters(remote, server, kind: str) -> None:
    for number in range(9):
        remote.note(f"memory/{number}.md", f"quokka number {number}")
    remote.note("memory/bad.md", "the poisoned wombat")
    server.poison(lambda text: "poisoned" in text, kind)

    outcome = index(remote)
    status = remote.real_status()
    hits = remote.search("quokka number 3").hits

    assert outcome.error is None
    assert status.vectors.indexed == 9
    assert [failure.path for failure in status.failures] == ["memory/bad.md"]
    assert hits[0].path == "memory/3.md"
    assert remote.paths("wombat")[0] == "memory/bad.md"


@pytest.mark.parametrize("kind", ["shuffled", "doubled"])
def test_vectors_are_matched_by_their_index(remote, server, kind: str) -> None:
    for number in range(8):
        remote.note(f"memory/{number}.md", f"subject{number} " * 5)
    server.next(BadVectors(kind))
    index(remote)
    index(remote)

    with MemorySearch(settings=remote.settings) as memory:
        for number in range(8):
            hit = memory.search(f"subject{number}", explain=True).hits[0]
            assert hit.path == f"memory/{number}.md"
            assert hit.parts is not None
            assert hit.parts.cosine == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize("reply", [Html(), NullBody(), Status(500), Status(503)])
def test_a_bad_moment_of_the_provider_is_waited_out(remote, server, reply, monkeypatch) -> None:
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    remote.note("memory/a.md", "quokka")
    server.next(reply)

    outcome = index(remote)

    assert outcome.provider_reason is None
    assert remote.real_status().health == "ok"


def test_a_provider_that_is_down_leaves_keyword_search_and_is_named(remote) -> None:
    remote.memory_search["remote"]["baseUrl"] = "http://127.0.0.1:9/v1"
    remote.note("memory/a.md", "quokka")

    done = remote.run("index", check=False, OPENAI_API_KEY=PLANTED_KEY)
    reply = remote.search("quokka")

    assert done.returncode == 3
    assert "127.0.0.1" in done.stderr
    assert reply.hits[0].path == "memory/a.md"
    assert remote.real_status().vectors.pending == 1


@pytest.mark.parametrize("dims_known", [False, True])
def test_without_any_vector_a_search_says_keyword_and_embeds_no_question(remote, server, dims_known: bool) -> None:
    if dims_known:
        note = remote.note("memory/gone.md", "soon gone")
        index(remote)
        note.unlink()
    server.next(*[Status(403)] * 20)
    remote.note("memory/a.md", "quokka")
    index(remote)
    before = server.requests

    reply = remote.search("quokka")

    assert (reply.mode, reply.hits[0].path, reply.pending_vectors) == ("keyword", "memory/a.md", 1)
    assert reply.reason == "nothing is embedded yet"
    assert server.requests == before


def test_a_failed_run_pays_only_for_what_it_had_not(remote, server, monkeypatch) -> None:
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    remote.memory_search["remote"]["maxItemsPerRequest"] = 10
    for number in range(100):
        remote.note(f"memory/{number}.md", f"note number {number}")
    for _ in range(9):
        server.next(_fine())
    server.next(*[Status(401)] * 50)
    index(remote)
    before = server.texts

    server.__dict__["_queue"].clear()
    index(remote)

    assert before == 100
    assert server.texts - before == 10
    assert remote.real_status().health == "ok"


def _fine():
    from recallite.testing.behaviours import Delay

    return Delay(0)


def test_the_key_is_nowhere(remote, server, caplog: pytest.LogCaptureFixture) -> None:
    remote.note("memory/a.md", "quokka")
    server.next(Status(401, message=f"bad key {PLANTED_KEY}"))

    done = remote.run("index", check=False, OPENAI_API_KEY=PLANTED_KEY)
    index(remote)
    status = remote.run("status", "--json", check=False, OPENAI_API_KEY=PLANTED_KEY)
    config = remote.run("config", check=False, OPENAI_API_KEY=PLANTED_KEY)

    shown = done.stdout + done.stderr + status.stdout + status.stderr + config.stdout + caplog.text
    assert PLANTED_KEY not in shown
    for path in (remote.root / "state").rglob("*"):
        if path.is_file():
            assert PLANTED_KEY.encode() not in path.read_bytes(), path


@pytest.mark.parametrize("said", [True, False])
def test_the_provider_is_not_asked_when_only_its_address_changes(remote, server, caplog, said: bool) -> None:
    remote.note("memory/a.md", "quokka")
    index(remote)
    with ProviderServer(key="other") as second:
        remote.memory_search["remote"] = {"baseUrl": second.url, "apiKey": "other", "sameModel": said}
        index(remote)
        index(remote)
        assert second.requests == 0

    assert caplog.text.count("remote.sameModel") == (0 if said else 1), "said once, unless the settings say it"

    assert remote.real_status().vectors.indexed == 1
