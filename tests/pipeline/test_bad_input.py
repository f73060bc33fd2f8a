"""One bad input costs one input: a file, a chunk, a vector, a reply. The rest goes on and the bad one is named."""

from __future__ import annotations

import json
import os
import resource
import sys

import apsw
import pytest

from recallite import AgentSettings, MemorySearch, load_settings
from recallite.testing.behaviours import BadVectors, Html, NullBody, Status
from recallite.testing.provider_server import PLANTED_KEY, ProviderServer
from recallite.work import SCAN
from recallite.work.sqlite import SqliteQueue, queue_path
from recallite.workspace import Scan
from recallite_worker import sync
from recallite_worker.chunking import ChunkText
from recallite_worker.executor import EmbeddedExecutor


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


@pytest.mark.parametrize("year", [1600, 1677, 2262, 2300, 2440])
def test_a_file_from_a_year_that_no_index_can_hold_is_like_any_other(lab, year: int) -> None:
    """Beyond 1677 to 2262 nanoseconds since 1970 do not go into 64 bits; file systems differ in what they take."""
    seconds = (year - 1970) * 31_556_952
    lab.memory_search = {
        "extraPaths": [str(lab.root / "extra")],
        "sources": ["memory", "sessions"],
        "experimental": {"sessionMemory": True},
        "query": {"hybrid": {"temporalDecay": {"enabled": True}}},
    }
    lab.note("../extra/c.md", "zebra in an extra path")
    lab.sessions.mkdir(parents=True)
    files = [lab.note("memory/a.md", "quokka in a note"), lab.root / "extra/c.md", lab.sessions / "s.jsonl"]
    said = {"type": "message", "message": {"role": "user", "content": "okapi in a session"}}
    files[-1].write_text(json.dumps(said) + "\n")
    for file in files:
        os.utime(file, (seconds, seconds))
    lab.settle()

    first, second = lab.index(), lab.index()

    assert first.error is None and first.files_written == 3
    assert second.files_written == 0, "what is clamped on both sides is the same on both"
    assert lab.memory().status().health == "ok"
    for word in ("quokka", "zebra", "okapi"):
        [hit] = [hit for hit in lab.search(word).hits if word in hit.snippet]
        assert not hit.stale
    os.utime(files[0], (seconds + 1, seconds + 1))
    files[0].write_text("numbat in a note")
    lab.index()
    assert lab.paths("numbat")[0] == "memory/a.md"


@pytest.mark.parametrize("fault", [OverflowError("secret words"), MemoryError(), RecursionError(), apsw.TooBigError()])
def test_an_error_that_nobody_foresaw_costs_its_file(lab, fault: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    real = sync.chunk_markdown

    def chunk_markdown(text: str, **options: int) -> list[ChunkText]:
        if "poison" in text:
            raise fault
        return real(text, **options)

    monkeypatch.setattr(sync, "chunk_markdown", chunk_markdown)
    lab.note("memory/b.md", "numbat, before")
    lab.index()
    lab.note("memory/a.md", "quokka")
    lab.note("memory/b.md", "poison")
    lab.note("memory/c.md", "wombat")

    outcome = lab.index()
    status = lab.real_status()

    assert outcome.error is None
    assert [failure.path for failure in outcome.failures] == ["memory/b.md"]
    assert [failure.path for failure in status.failures] == ["memory/b.md"]
    assert "secret" not in status.failures[0].reason
    assert (lab.paths("quokka")[0], lab.paths("wombat")[0]) == ("memory/a.md", "memory/c.md")
    monkeypatch.undo()
    lab.index()
    assert lab.real_status().failures == ()
    assert lab.paths("poison")[0] == "memory/b.md"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux keeps a process to its address space")
def test_notes_for_which_the_memory_is_too_small_cost_themselves(lab) -> None:
    """Address space for 1.4 GB: tiny lines take 50 times their size."""
    lab.note("memory/a.md", "quokka")
    lab.note("memory/b.md", "a\n" * (16 * 2**20))
    lab.note("memory/c.md", "wombat")
    huge = lab.note("memory/d.md", "text" * 4096)
    os.truncate(huge, 10 * 2**30)
    stray = lab.note("memory/e.md", b"\0")
    os.truncate(stray, 10 * 2**30)

    limit = 1400 * 2**20
    done = lab.run("index", check=False, before_start=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))

    assert done.returncode == 3, done.stderr
    assert "memory/b.md: cannot be indexed: there is not enough memory for it" in done.stdout
    assert "memory/d.md: has 10240.0 MiB, a note may have 32 MiB: split it" in done.stdout
    assert "memory/e.md: looks binary" in done.stdout
    assert (lab.paths("quokka"), lab.paths("wombat")) == (["memory/a.md"], ["memory/c.md"])


def test_an_agent_whose_run_ends_in_a_fault_does_not_end_the_others(make_lab, monkeypatch: pytest.MonkeyPatch) -> None:
    real = sync.scan_sources

    def scan_sources(settings: AgentSettings) -> Scan:
        if settings.agent == "one":
            raise ZeroDivisionError
        return real(settings)

    monkeypatch.setattr(sync, "scan_sources", scan_sources)
    lab = make_lab(config={"agents": {"list": [{"id": "one"}, {"id": "two"}]}})
    lab.note("memory/a.md", "quokka")
    lab.config["agents"]["defaults"] = {"workspace": str(lab.workspace)}
    _ = lab.settings
    settings = load_settings(lab.root / "openclaw.json", env={"OPENCLAW_STATE_DIR": str(lab.root / "state")})
    queue = SqliteQueue(queue_path(settings.agent("one").state_dir))
    for name in ("one", "two"):
        queue.mark(name, [SCAN])

    outcomes = EmbeddedExecutor(queue, embedders=lab.embedders).run([settings.agent("one"), settings.agent("two")])
    queue.close()

    assert "ZeroDivisionError" in str(outcomes["one"].error)
    assert outcomes["two"].error is None and outcomes["two"].files_written == 1


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
