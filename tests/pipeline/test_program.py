"""The program as the system sees it: streams that are closed or full, and interrupts while it is being loaded."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture
def keyword(lab):
    """By keyword only: the openai provider is asked for and has no key."""
    lab.memory_search = {"provider": "openai"}
    lab.note("memory/a.md", "the router")
    return lab


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", ">&- 2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("command", ["index", "search router", "status", "config", "get memory/a.md", "--help"])
def test_a_closed_stream_changes_nothing_but_what_is_said(keyword, command: str, closed: str) -> None:
    expected = keyword.run(*command.split(), check=False).returncode
    _ = keyword.settings
    line = f"{sys.executable} -m recallite.cli.main --config {keyword.root}/openclaw.json {command} {closed}"
    env = {**os.environ, "OPENCLAW_STATE_DIR": str(keyword.root / "state")}

    done = subprocess.run(["sh", "-c", line], env=env, capture_output=True, text=True, check=False)

    assert done.returncode == expected
    assert "Traceback" not in done.stderr + done.stdout and "Error" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_output_that_cannot_be_written_is_an_error(keyword) -> None:
    keyword.run("index", check=False)
    line = f"{sys.executable} -m recallite.cli.main --config {keyword.root}/openclaw.json search router > /dev/full"
    env = {**os.environ, "OPENCLAW_STATE_DIR": str(keyword.root / "state")}

    done = subprocess.run(["sh", "-c", line], env=env, capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert re.search(r"^recallite: .*No space left", done.stderr, re.MULTILINE)
    assert "Traceback" not in done.stderr and "ignored" not in done.stderr


INTERRUPTED_WHILE_LOADING = """
import importlib.abc, os, signal, sys
module, count, *arguments = sys.argv[1:]
class Interrupt(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name == module:
            for _ in range(int(count)):
                os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupt())
sys.argv = ["recallite", *arguments]
from recallite.cli.entry import run
sys.exit(run())
"""


@pytest.mark.parametrize("count", [1, 5])
@pytest.mark.parametrize("module", ["argparse", "recallite.cli.search", "recallite.client", "apsw"])
def test_an_interrupt_while_the_program_is_loaded_is_quiet(lab, module: str, count: int) -> None:
    arguments = ["--config", str(lab.settings.config_file), "search", "x"]
    command = [sys.executable, "-c", INTERRUPTED_WHILE_LOADING, module, str(count), *arguments]

    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode == 130
    assert done.stderr in ("", "recallite: interrupted\n")


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_line_ends_of_another_system_are_shown_as_line_ends(keyword, end: str) -> None:
    text = end.join(["# Router", "", "it is in the cellar", ""])
    keyword.note("memory/a.md", text)
    keyword.run("index", check=False)

    shown = keyword.run("search", "cellar").stdout
    hits = json.loads(keyword.run("search", "cellar", "--json").stdout)["results"]
    got = json.loads(keyword.run("get", "memory/a.md", "--json").stdout)["text"]

    assert "# Router\n\nit is in the cellar\n" in shown
    assert "\\r" not in shown
    assert hits[0]["snippet"] in text and end in hits[0]["snippet"]
    assert got == text


def test_the_demo_is_not_changed_by_what_is_set_for_other_agents(tmp_path: Path) -> None:
    demo = Path(__file__).parents[2] / "examples/demo/demo.py"
    env = {
        **os.environ,
        "RECALLITE_BROKER_URL": "redis://127.0.0.1:1/0",
        "OPENCLAW_CONFIG_PATH": "/nowhere/openclaw.json",
        "OPENAI_API_KEY": "sk-of-another",
    }

    done = subprocess.run([sys.executable, str(demo), str(tmp_path)], env=env, capture_output=True, check=False)

    assert done.returncode == 0, done.stderr.decode()
