"""From reset to deletion: what stays, what goes for good, what never gets in."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw
import pytest

from recallite.index.rows import fetch
from recallite.testing.transcripts import (
    append,
    assistant,
    dialogue,
    header,
    user,
    write_transcript,
)
from recallite.transcripts import ALL_TRANSCRIPTS
from recallite.work import SCAN

if TYPE_CHECKING:
    from conftest import Lab

TRACE = b"batword"
"""Of `numbatword`: the keyword index does not repeat the beginning that a word shares with the one before it."""
TIME = "2026-02-10T09-00-00.000Z"
SESSIONS: dict[str, Any] = {"sources": ["memory", "sessions"], "experimental": {"sessionMemory": True}}


@pytest.fixture
def lab(make_lab: Callable[..., Lab]) -> Lab:
    return make_lab(memory_search=dict(SESSIONS))


def test_a_reset_takes_what_is_indexed_along_and_embeds_nothing(lab: Lab) -> None:
    lab.memory_search = {**SESSIONS, "cache": {"enabled": False}}
    path = write_transcript(lab.sessions, "a.jsonl", dialogue(100))
    counting = lab.counting()
    lab.index(embedders=counting)
    sent = len(counting.texts)

    path.rename(lab.sessions / f"a.jsonl.reset.{TIME}")
    write_transcript(lab.sessions, "a.jsonl", user("a new numbat"))
    lab.index(embedders=counting)

    assert lab.paths("word57")[0] == f"sessions/a.jsonl.reset.{TIME}"
    assert lab.paths("numbat")[0] == "sessions/a.jsonl"
    assert counting.texts[sent:] == ["User: a new numbat"]
    assert lab.memory().status().health == "ok"


def test_an_archive_that_was_never_indexed_is_found(lab: Lab) -> None:
    write_transcript(lab.sessions, f"old.jsonl.reset.{TIME}", user("the numbat"))
    lab.sync(SCAN)

    assert lab.paths("numbat") == [f"sessions/old.jsonl.reset.{TIME}"]


@pytest.mark.parametrize(
    "way", ["deleted", "renamed .deleted", "renamed .bak", "source taken out", "reset, source out", "folder gone"]
)
def test_what_is_deleted_is_nowhere_in_the_file(lab: Lab, way: str) -> None:
    lab.note("memory/note.md", "the note about aardvarks")
    path = write_transcript(lab.sessions, "a.jsonl", user("the secret numbatword"), dialogue(800))
    write_transcript(lab.sessions, "b.jsonl", user("the quoll stays"))
    lab.index()
    assert TRACE in _bytes(lab)

    if way == "deleted":
        path.unlink()
    elif way.startswith("renamed"):
        path.rename(path.with_name(f"a.jsonl{way.split()[1]}.{TIME}"))
    elif way == "source taken out":
        lab.memory_search = {}
    elif way == "reset, source out":
        path.rename(path.with_name(f"a.jsonl.reset.{TIME}"))
        lab.memory_search = {}
    else:
        path.parent.rename(lab.root / "elsewhere")
    lab.sync(SCAN)

    assert not [text for name, *_, text in lab.session_chunks() if name != "sessions/b.jsonl"]
    assert TRACE not in _bytes(lab)
    assert bool(lab.session_chunks()) is (way in ("deleted", "renamed .deleted", "renamed .bak"))
    assert lab.memory().status().health == "ok"
    assert lab.paths("aardvarks") == ["memory/note.md"]


@pytest.mark.parametrize("way", ["one line of many", "one chunk", "cut", "cut to its header", "while it grew"])
def test_what_is_taken_out_of_a_session_is_nowhere_in_the_file(lab: Lab, way: str) -> None:
    said = user("the secret numbatword, do not tell")
    before, after = (
        (dialogue(800), dialogue(800, first=800)) if way in ("one line of many", "while it grew") else (user("a"), b"")
    )
    path = write_transcript(lab.sessions, "a.jsonl", before, said, after)
    write_transcript(lab.sessions, "b.jsonl", user("the quoll stays"))
    lab.index()
    assert TRACE in _bytes(lab)

    kept = b"" if way.startswith("cut") else user("the secret (removed), do not tell")
    path.write_bytes(header() + (b"" if way == "cut to its header" else before) + kept + after)
    if way == "while it grew":
        append(path, dialogue(100, first=1600))
    lab.index()

    assert TRACE not in _bytes(lab)
    assert lab.paths("quoll")[0] == "sessions/b.jsonl"
    assert lab.memory().status().health == "ok"


@pytest.mark.parametrize("way", ["it goes on", "its times are put back", "it goes on below the thresholds first"])
def test_a_word_that_is_masked_in_its_place_is_nowhere_in_the_file(lab: Lab, way: str) -> None:
    said = user("the secret numbatword, do not tell")
    path = write_transcript(lab.sessions, "a.jsonl", dialogue(800), said, dialogue(807, first=800))
    lab.index()
    times = path.stat()
    if way == "it goes on below the thresholds first":
        append(path, user("one more"))
        lab.sync(SCAN)

    data = path.read_bytes()
    with path.open("r+b") as file:
        file.seek(data.index(b"numbatword"))
        file.write(b"xxxxxxxxxx")
    if way == "its times are put back":
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    else:
        append(path, user("and the quoll goes on"))
    lab.index()

    assert TRACE not in _bytes(lab)
    assert not [text for *_, text in lab.session_chunks() if "numbatword" in str(text)]
    assert lab.memory().status().health == "ok"


def test_an_append_merges_nothing(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_transcript(lab.sessions, "a.jsonl", dialogue(100))
    lab.index()
    asked: list[int] = []
    monkeypatch.setattr("recallite_worker.transcripts.must_forget", lambda store, generation: asked.append(generation))
    for turn in range(5):
        append(path, dialogue(20, first=100 + 20 * turn))
        lab.index()

    assert not asked


def test_a_note_that_is_deleted_is_nowhere_in_the_file(lab: Lab) -> None:
    note = lab.note("memory/a.md", "the secret numbatword")
    lab.note("memory/b.md", "the quoll stays")
    lab.index()
    assert TRACE in _bytes(lab)

    note.unlink()
    lab.sync(SCAN)

    assert TRACE not in _bytes(lab)
    assert lab.paths("quoll") == ["memory/b.md"]


def _bytes(lab: Lab) -> bytes:
    """All that is on disk of the index: the file and its log."""
    index = lab.settings.index_path
    return b"".join(file.read_bytes() for file in index.parent.glob(f"{index.name}*"))


def test_a_secret_gets_into_neither_index_nor_cache_nor_provider(lab: Lab) -> None:
    secret = "Zq9Xw8Vu7Ts6Rp5On4Ml3K"
    write_transcript(
        lab.sessions, "a.jsonl", user(f"my OMADA_TOKEN={secret} for you"), assistant(f"curl -H 'Authorization: Bearer {secret}'"),
        user("-----BEGIN PRIVATE KEY-----\n" + f"{secret}\n" * 200 + "-----END PRIVATE KEY-----"), user("word " * 3000 + f"--password {secret} " + "word " * 3000),
    )  # fmt: skip
    counting = lab.counting()
    lab.index(embedders=counting)

    everything = b"".join(
        file.read_bytes() for file in (lab.root / "state").rglob("*") if file.is_file() and "agents" not in file.parts
    )
    assert lab.search("OMADA_TOKEN").hits[0].snippet.startswith("User: my OMADA_TOKEN=Zq9Xw8…Ml3K for you")
    assert secret.encode() not in everything
    assert secret[6:-4].lower().encode() not in everything.lower()
    assert not [text for text in counting.texts if secret in text]


def test_an_agent_finds_its_own_sessions_only(tmp_path: Path) -> None:
    from recallite import MemorySearch, load_settings
    from recallite.work.sqlite import SqliteQueue, queue_path
    from recallite_worker.executor import EmbeddedExecutor

    config = {
        "agents": {
            "defaults": {"memorySearch": {**SESSIONS, "provider": "openai"}},
            "list": [{"id": "one", "workspace": str(tmp_path / "1")}, {"id": "two", "workspace": str(tmp_path / "2")}],
        }
    }
    (tmp_path / "openclaw.json").write_text(json.dumps(config))
    settings = load_settings(tmp_path / "openclaw.json", env={"OPENCLAW_STATE_DIR": str(tmp_path / "state")})
    agents = [settings.agent("one"), settings.agent("two")]
    for agent, word in zip(agents, ("numbat", "quoll"), strict=True):
        write_transcript(agent.sessions_dir, "same-name.jsonl", user(f"the {word}"))
    queue = SqliteQueue(queue_path(settings.state_dir))
    for agent in agents:
        queue.mark(agent.agent, [SCAN, ALL_TRANSCRIPTS])
    EmbeddedExecutor(queue, embedders=lambda _: (None, "by keyword")).run(agents)
    queue.close()

    for agent, own, foreign in zip(agents, ("numbat", "quoll"), ("quoll", "numbat"), strict=True):
        with MemorySearch(settings=agent) as memory:
            assert [hit.path for hit in memory.search(own).hits] == ["sessions/same-name.jsonl"]
            assert memory.search(foreign).hits == ()


def test_a_transcript_is_searched_and_never_read(lab: Lab) -> None:
    from recallite import MemoryPathError

    write_transcript(lab.sessions, "a.jsonl", user("the numbat"))
    lab.memory_search = {**SESSIONS, "extraPaths": [str(lab.sessions)]}
    lab.index()

    with pytest.raises(MemoryPathError, match="is a transcript"):
        lab.memory().get("sessions/a.jsonl")
    with pytest.raises(MemoryPathError):
        lab.memory().get(str(lab.sessions / "a.jsonl"))


def test_a_hit_is_stale_when_its_session_is_no_longer_what_it_was(lab: Lab) -> None:
    path = write_transcript(lab.sessions, "a.jsonl", user("the numbat"))
    lab.index()
    append(path, user("more"))
    grown = lab.search("numbat").hits[0].stale
    path.write_bytes(header())
    cut = lab.search("numbat").hits[0].stale
    path.unlink()

    assert (grown, cut, lab.search("numbat").hits[0].stale) == (False, True, True)


def test_nothing_is_ever_written_into_a_session(lab: Lab) -> None:
    path = write_transcript(lab.sessions, "a.jsonl", dialogue(20), b"{bad\n")
    before = path.read_bytes(), path.stat().st_mtime_ns, sorted(lab.sessions.iterdir())

    lab.index()
    lab.search("word3")
    lab.index(rebuild=True)

    assert (path.read_bytes(), path.stat().st_mtime_ns, sorted(lab.sessions.iterdir())) == before


def test_an_index_of_the_version_before_is_read_and_then_brought_up(lab: Lab) -> None:
    lab.note("MEMORY.md", "the quoll")
    lab.memory_search = {}
    lab.index()
    lab.close()
    connection = apsw.Connection(str(lab.settings.index_path))
    connection.execute("ALTER TABLE files DROP COLUMN transcript; PRAGMA user_version=1").fetchall()
    connection.close()
    old = lab.run("status", check=False).stdout, lab.run("search", "quoll").stdout
    lab.memory_search = dict(SESSIONS)
    write_transcript(lab.sessions, "a.jsonl", user("the numbat"))

    lab.run("index", check=False)

    assert "1 indexed, 1 " in old[0] and "MEMORY.md" in old[1]
    assert "sessions/a.jsonl" in lab.run("search", "numbat").stdout


def test_the_index_is_written_with_the_settings_that_it_asks_for(lab: Lab) -> None:
    from recallite.index.extension import VectorExtension
    from recallite_worker.store import open_store

    store = open_store(lab.settings.index_path, epoch=1, extension=VectorExtension())
    pragmas = {
        name: fetch(store.connection, f"PRAGMA {name}")[0][0]
        for name in ("journal_mode", "synchronous", "secure_delete", "temp_store", "cache_size")
    }
    store.close()

    assert pragmas == {
        "journal_mode": "wal",
        "synchronous": 1,
        "secure_delete": 1,
        "temp_store": 2,
        "cache_size": -65536,
    }


def test_a_session_comes_back_after_damage_even_below_the_thresholds(lab: Lab) -> None:
    write_transcript(lab.sessions, "a.jsonl", user("the numbat"))
    lab.index()
    data = bytearray(lab.settings.index_path.read_bytes())
    data[4096 : 4096 * 20] = b"\xff" * len(data[4096 : 4096 * 20])
    lab.close()
    lab.settings.index_path.write_bytes(data)

    result = lab.sync(SCAN)
    while result.more:
        result = lab.sync()

    assert list(lab.settings.index_path.parent.glob("*.damaged-*"))
    assert lab.paths("numbat") == ["sessions/a.jsonl"]
