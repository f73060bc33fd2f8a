"""An agent talks; a sentence of it is searched for, below the threshold and after it. Fails if that is not as it should be.

Runs `recallite up` on a state directory of its own, by keyword (no key, no model), and ends it again.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from environment import plain_environment

THRESHOLD = 50
SENTENCE = "The NAS moved to VLAN 30, its new address is 10.30.0.7."
SECRET = "My token for the router: OMADA_TOKEN=Zq9Xw8Vu7Ts6Rp5On4Ml3K"
MOST_SECONDS = 60.0


class Agent:
    """One agent in a directory, whose session grows."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "notes").mkdir()
        self.config = root / "openclaw.json"
        memory_search = {
            "provider": "openai",  # no key is set: search by keyword
            "sources": ["memory", "sessions"],
            "experimental": {"sessionMemory": True},
        }
        agent = {"id": "pip", "workspace": "notes", "memorySearch": memory_search}
        self.config.write_text(json.dumps({"agents": {"list": [agent]}}))
        self.env = {**plain_environment(), "OPENCLAW_STATE_DIR": str(root / "state"), "PYTHONIOENCODING": "utf-8"}
        self.session = root / "state/agents/pip/sessions/5e0c1d2f.jsonl"
        self.session.parent.mkdir(parents=True)
        self.session.write_text(json.dumps({"type": "session", "version": 3, "id": "5e0c1d2f"}) + "\n")
        self.messages = 0

    def says(self, role: str, text: str) -> None:
        message = {"role": role, "content": [{"type": "text", "text": text}]}
        with self.session.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"type": "message", "message": message}) + "\n")
        self.messages += 1

    def talks(self, messages: int) -> None:
        for _ in range(messages):
            self.says("user" if self.messages % 2 else "assistant", f"Step {self.messages} of the move is done.")

    def recallite(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "recallite.cli.main", "--config", str(self.config), *arguments]

    @contextlib.contextmanager
    def up(self) -> Iterator[None]:
        """`recallite up` for as long as the block lasts."""
        log = self.root / "up.log"
        with log.open("w") as output:
            process = subprocess.Popen(self.recallite("up"), env=self.env, stderr=output)
        try:
            wait_until(lambda: "watching " in log.read_text() or process.poll() is not None)
            yield
        finally:
            process.terminate()
            process.wait(20)

    def hits(self, query: str) -> list[dict[str, Any]]:
        done = subprocess.run(
            self.recallite("search", "--json", "--source", "sessions", query),
            env=self.env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="utf-8", check=False,
        )  # fmt: skip
        return json.loads(done.stdout)["results"] if done.stdout.startswith("{") else []

    def status(self) -> str:
        done = subprocess.run(
            self.recallite("status"), env=self.env, stdout=subprocess.PIPE, encoding="utf-8", check=False
        )
        return next((line.strip() for line in done.stdout.splitlines() if "Sessions:" in line), "no answer")


def wait_until(condition: Any) -> float:
    """The seconds that it took."""
    began = time.monotonic()
    while not condition():
        if time.monotonic() - began > MOST_SECONDS:
            sys.exit("demo failed: waited in vain")
        time.sleep(0.1)
    return time.monotonic() - began


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        agent = Agent(Path(name))
        with agent.up():
            agent.talks(20)
            agent.says("assistant", SENTENCE)
            agent.says("user", SECRET)
            agent.talks(THRESHOLD - 1 - agent.messages)
            time.sleep(3)  # for the watcher to see all of it
            print(f"{agent.messages} messages:  {agent.status()}")
            if agent.hits("NAS VLAN"):
                sys.exit("demo failed: found below the threshold")
            agent.talks(1)
            seconds = wait_until(lambda: agent.hits("NAS VLAN"))
            print(f"{agent.messages} messages:  {agent.status()}")
            hit = agent.hits("NAS VLAN")[0]
            print(f"found {seconds:.1f} s after message {agent.messages}: {hit['path']}:{hit['start_line']}-{hit['end_line']}")
            for query in ("NAS VLAN", "OMADA_TOKEN"):
                snippet = agent.hits(query)[0]["snippet"]
                said = SENTENCE if query == "NAS VLAN" else "My token"
                print("  │ " + next(line for line in snippet.splitlines() if said in line))


if __name__ == "__main__":
    main()
