"""Notes of any number, made from the words of the example notes: real vocabulary, nothing to download."""

from __future__ import annotations

import json
import random
from pathlib import Path

EXAMPLES = Path(__file__).parent.parent / "examples" / "notes"


def write_notes(workspace: Path, *, notes: int, characters: int, seed: int = 1) -> int:
    """Write `notes` daily logs of about `characters` each; the bytes written."""
    rng = random.Random(seed)
    sentences = [
        line.strip("-*# ")
        for file in sorted(EXAMPLES.rglob("*.md"))
        for line in file.read_text("utf-8").splitlines()
        if len(line) > 20
    ]
    words = sorted({word for sentence in sentences for word in sentence.split()})
    total = 0
    for number in range(notes):
        parts = [f"# Log {number}\n"]
        while sum(map(len, parts)) < characters:
            filler = " ".join(rng.choices(words, k=12))
            parts.append(f"\n## Entry {len(parts)}\n\n- {rng.choice(sentences)}\n- {filler}.\n")
        target = workspace / "memory" / f"{number // 100}" / f"note-{number}.md"
        target.parent.mkdir(parents=True, exist_ok=True)
        text = "".join(parts)
        target.write_text(text, "utf-8")
        total += len(text.encode())
    return total


def write_config(root: Path, **memory_search: object) -> Path:
    """An openclaw.json for the workspace in `root/workspace`."""
    config = {"agents": {"defaults": {"workspace": str(root / "workspace"), "memorySearch": memory_search}}}
    file = root / "openclaw.json"
    file.write_text(json.dumps(config), "utf-8")
    return file
