"""A file's name is the UTF-8 of its bytes, whatever locale a process runs under."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from recallite.filenames import as_spelled, as_text

ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
LOOK = "import sys; print(sys.getfilesystemencoding())"


@pytest.fixture(scope="session")
def latin(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Variables for a locale of ISO-8859-1, which few machines still have."""
    folder = tmp_path_factory.mktemp("locales")
    tool = shutil.which("localedef")
    if tool is None:
        pytest.skip("localedef is not installed: no locale of ISO-8859-1 can be made")
    command = [tool, "-c", "-i", "de_DE", "-f", "ISO-8859-1", str(folder / "de_DE.ISO-8859-1")]
    subprocess.run(command, capture_output=True, check=False)
    found = {"LC_ALL": "de_DE.ISO-8859-1", "LOCPATH": str(folder), "PYTHONUTF8": "0"}
    said = subprocess.run([sys.executable, "-c", LOOK], env={**os.environ, **found}, capture_output=True, text=True)
    if said.stdout.strip() != "iso8859-1":
        pytest.skip(f"the machine has no sources of a locale of ISO-8859-1 ({said.stdout.strip()} is in use)")
    return found


@pytest.fixture(params=["ascii", "latin"])
def odd(request: pytest.FixtureRequest) -> dict[str, str]:
    return ASCII if request.param == "ascii" else request.getfixturevalue("latin")


def make(make_lab):
    """Everything has a name beyond ASCII: the state, the workspace, an extra path, an ignore file's pattern."""
    lab = make_lab("bücher")
    lab.memory_search = {
        "extraPaths": [str(lab.root / "Zusätze")],
        "sources": ["memory", "sessions"],
        "experimental": {"sessionMemory": True},
    }
    lab.note("memory/café.md", "quokka in a café")
    lab.note("memory/日本/語.md", "wombat in a folder")
    lab.note("../Zusätze/é.md", "numbat in an extra path")
    lab.note("../Zusätze/weg/ö.md", "left out")
    lab.note("../Zusätze/.gitignore", "weg/ö*\n")
    lab.sessions.mkdir(parents=True)
    said = {"type": "message", "message": {"role": "user", "content": "okapi in a session"}}
    (lab.sessions / "sitzung-ä.jsonl").write_text(json.dumps(said) + "\n")
    return lab


def names(lab) -> list[str]:
    extra = str(lab.root / "Zusätze/é.md")
    return sorted(["memory/café.md", "memory/日本/語.md", extra, "sessions/sitzung-ä.jsonl"])


def indexed(lab) -> list[str]:
    found = {hit.path for word in ("quokka", "wombat", "numbat", "okapi") for hit in lab.search(word).hits}
    return sorted(found)


@pytest.mark.slow
def test_runs_under_any_locale_leave_the_same_index(make_lab, odd: dict[str, str]) -> None:
    lab = make(make_lab)

    first = lab.run("index", **odd)
    second = lab.run("index", PYTHONUTF8="1")
    third = lab.run("index", **odd)

    assert "this run: 4 files written, 0 removed" in first.stdout
    for done in (second, third):
        assert "this run: 0 files written, 0 removed" in done.stdout
        assert "left out" not in done.stdout
    assert indexed(lab) == names(lab)


@pytest.mark.slow
def test_the_library_reads_and_writes_the_same_under_any_locale(make_lab, odd: dict[str, str]) -> None:
    lab = make(make_lab)
    lab.run("index", PYTHONUTF8="1")
    program = """
import json, sys
import recallite
settings = recallite.load_settings(sys.argv[1]).agent("main")
written = recallite.remember(settings, "a dugong")
with recallite.MemorySearch(settings=settings) as memory:
    hits = [memory.search(word).hits[0] for word in ("quokka", "wombat", "numbat", "okapi")]
    texts = [memory.get(hit.path).text for hit in hits[:3]]
    folder = [hit.path for hit in memory.search("wombat", folder="memory/日本").hits]
    status = memory.status()
print(json.dumps([[(h.path, h.stale) for h in hits], texts, folder, status.vanished, status.unindexed]))
"""
    file = lab.root / "program.py"
    file.write_text(program, encoding="utf-8")
    env = {**os.environ, **odd, "OPENCLAW_STATE_DIR": str(lab.root / "state")}

    done = subprocess.run(
        [sys.executable, str(file), str(lab.root / "openclaw.json")], env=env, capture_output=True, text=True
    )

    assert done.returncode == 0, done.stderr
    hits, texts, folder, vanished, unindexed = json.loads(done.stdout)
    extra = str(lab.root / "Zusätze/é.md")
    wanted = ["memory/café.md", "memory/日本/語.md", extra, "sessions/sitzung-ä.jsonl"]
    assert hits == [[path, False] for path in wanted]
    assert texts == ["quokka in a café", "wombat in a folder", "numbat in an extra path"]
    assert folder == ["memory/日本/語.md"]
    assert (vanished, unindexed) == ([], ["MEMORY.md"])
    assert (lab.workspace / "MEMORY.md").read_text() == "# Memory\n\n- a dugong\n"


@pytest.mark.slow
def test_what_is_saved_is_watched_under_any_locale(make_lab, odd: dict[str, str]) -> None:
    lab = make(make_lab)
    lab.run("index", PYTHONUTF8="1")
    _ = lab.settings
    env = {**os.environ, **odd, "OPENCLAW_STATE_DIR": str(lab.root / "state")}
    command = [sys.executable, "-m", "recallite.cli.main", "--config", str(lab.root / "openclaw.json"), "up"]
    with (lab.root / "up.log").open("w") as log, subprocess.Popen(command, env=env, stdout=log, stderr=log) as running:
        try:
            _wait_until(lambda: "watching " in (lab.root / "up.log").read_text(), "it watches")
            _wait_until(lambda: lab.real_status().queue_live + lab.real_status().queue_backfill == 0, "it has scanned")
            lab.note("memory/日本/語.md", "aardvark in a folder")
            _wait_until(lambda: lab.paths("aardvark")[:1] == ["memory/日本/語.md"], "the save is indexed")
        finally:
            running.terminate()


def _wait_until(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def test_where_names_are_utf8_both_spellings_are_one() -> None:
    assert as_text(as_spelled("café/\udcff")) == "café/\udcff"
    assert as_text(Path("café")) == "café"
