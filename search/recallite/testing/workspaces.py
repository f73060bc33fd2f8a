"""Sample workspaces on disk."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

SAMPLE_NOTES: Mapping[str, str] = {
    "MEMORY.md": "# Memory\n\n- The user lives in Lisbon and works on boats.\n- Answers should be short.\n",
    "memory/2026-03-30.md": "# 2026-03-30\n\nThe VPN of the office moved to port 51821.\n",
    "memory/2026-03-31.md": "# 2026-03-31\n\nBackups go to the second disk, codeword ZEBRA-7731.\n",
    "memory/projects/router.md": "# Router\n\nFirmware 4.2 drops IPv6 after a day; a restart helps.\n",
}
"""A small workspace: curated memory, two daily logs, one undated note."""


def write_workspace(root: Path, notes: Mapping[str, str | bytes] = SAMPLE_NOTES) -> list[Path]:
    """Writes each note (relative path → content) under `root`; the paths, in the order of `notes`.

    Text is written as UTF-8 with its line ends as they are; bytes are written untouched.
    """
    paths = []
    for name, content in notes.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
        paths.append(path)
    return paths


def write_daily_notes(root: Path, *, days: int, lines_per_day: int = 5) -> list[Path]:
    """`days` daily logs from 2026-01-01 on, each line with a word that stands nowhere else."""
    notes = {}
    for day in range(days):
        name = f"memory/{2026 + day // 336}-{day // 28 % 12 + 1:02}-{day % 28 + 1:02}.md"
        lines = [f"Entry {line} mentions keyword{day}x{line} among others." for line in range(lines_per_day)]
        notes[name] = "\n".join([f"# Day {day}", "", *lines, ""])
    return write_workspace(root, notes)


def write_config(file: Path, config: Mapping[str, object]) -> Path:
    """Write a configuration file in one step: a process that is just starting finds the old one or the new one."""
    beside = file.with_name(f".{file.name}.{os.getpid()}")
    beside.write_text(json.dumps(config), encoding="utf-8")
    beside.replace(file)
    return file
