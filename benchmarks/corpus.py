"""Notes of any number, made from the words of the example notes: real vocabulary, nothing to download."""

from __future__ import annotations

import json
import random
from pathlib import Path

EXAMPLES = Path(__file__).parent.parent / "examples" / "notes"


def write_notes(workspace: Path, *, notes: int, characters: int, seed: int = 1) -> int:
    """Write `notes` daily logs of about `characters` each, each in the language of one note; the bytes written."""
    rng = random.Random(seed)
    models = [file.read_text("utf-8").splitlines() for file in sorted(EXAMPLES.rglob("*.md"))]
    models = [[line.strip("-*# ") for line in lines if len(line) > 20] for lines in models]
    models = [lines for lines in models if len(lines) > 2]
    total = 0
    for number in range(notes):
        lines = rng.choice(models)
        words = [word for line in lines for word in line.split()]
        parts = [f"# Log {number}\n"]
        while sum(map(len, parts)) < characters:
            filler = " ".join(rng.choices(words, k=12))
            parts.append(f"\n## Entry {len(parts)}\n\n- {rng.choice(lines)}\n- {filler}.\n")
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
