"""The image: its steps in a plain directory, and built and run where there is a Docker engine."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCKERFILE = ROOT / "deploy" / "Dockerfile"
HAS_ENGINE = (
    shutil.which("docker") is not None
    and subprocess.run(["docker", "info"], capture_output=True, check=False).returncode == 0
)


def build_steps() -> list[str]:
    """The RUN lines of the first stage."""
    first_stage = DOCKERFILE.read_text("utf-8").split("\nFROM ")[1]
    return re.findall(r"^RUN (.+)$", first_stage, re.MULTILINE)


@pytest.mark.slow
def test_the_build_steps_give_a_working_command(tmp_path: Path) -> None:
    source, target = tmp_path / "src", tmp_path / "opt"
    source.mkdir()
    ignored = shutil.ignore_patterns("__pycache__", "*.egg-info", ".venv")
    for name in ("search", "worker", "producer"):
        shutil.copytree(ROOT / name, source / name, ignore=ignored)
    shutil.copy(ROOT / "constraints.txt", source)
    for step in build_steps():
        words = shlex.split(step.replace("/opt/recallite", str(target)))
        words = [sys.executable if word == "python" else word for word in words]
        subprocess.run(words, cwd=source, check=True, capture_output=True, timeout=500)
    shutil.rmtree(source)
    notes = tmp_path / "notes" / "memory"
    notes.mkdir(parents=True)
    (notes / "a.md").write_text("the quokka")
    config = tmp_path / "openclaw.json"
    config.write_text(f'{{"agents": {{"defaults": {{"workspace": "{notes.parent}"}}}}}}')
    env = {"PATH": f"{target}/bin:/usr/bin:/bin", "OPENCLAW_STATE_DIR": str(tmp_path / "state")}
    env |= {"OPENCLAW_CONFIG_PATH": str(config)}

    def run(*arguments: str) -> str:
        command = [str(target / "bin" / "recallite"), *arguments]
        return subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, check=True).stdout

    run("index")
    helped = run("--help")

    assert "memory/a.md" in run("search", "quokka")
    assert {"search", "index", "worker", "watch", "up", "flower", "health"} <= set(helped.split())


@pytest.mark.docker
@pytest.mark.skipif(not HAS_ENGINE, reason="needs a Docker engine that answers `docker info`")
def test_the_stack_indexes_a_note_and_finds_it(tmp_path: Path) -> None:
    notes = tmp_path / "notes" / "pip" / "memory"
    notes.mkdir(parents=True)
    (notes / "a.md").write_text("the quokka")
    subprocess.run([str(ROOT / "deploy/make-secrets.sh")], check=True)
    shutil.copy(ROOT / "deploy/openclaw.example.json", ROOT / "deploy/openclaw.json")
    env = {**os.environ, "NOTES": str(tmp_path / "notes")}
    compose = ["docker", "compose", "-p", "recallite-test", "-f", str(ROOT / "deploy/compose.yaml")]
    try:
        subprocess.run([*compose, "up", "--build", "--detach", "--wait"], env=env, check=True, timeout=1200)
        found = subprocess.run(
            [*compose, "run", "--rm", "search", "quokka"], env=env, check=True, capture_output=True, text=True
        )
        assert "memory/a.md" in found.stdout
    finally:
        subprocess.run([*compose, "down", "--volumes"], env=env, check=False)
