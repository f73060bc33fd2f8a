"""A thousand files that others wrote: all of it is indexed, and every word can be found."""

from __future__ import annotations

import random
import re
import sysconfig
from pathlib import Path

import pytest


@pytest.mark.slow
def test_every_word_of_sampled_lines_is_found(lab) -> None:
    lab.model = None
    rng = random.Random(4)
    library = Path(sysconfig.get_paths()["stdlib"])
    sources = sorted(path for path in library.rglob("*.py") if "site-packages" not in path.parts)
    chosen = rng.sample(sources, min(1000, len(sources)))
    texts: dict[str, str] = {}
    for number, source in enumerate(chosen):
        data = source.read_bytes()[:12_000]
        lab.note(f"memory/{number}.md", data)
        texts[f"memory/{number}.md"] = data.decode("utf-8", "replace")
    outcome = lab.index()
    memory = lab.memory()
    lines = [(path, line) for path, text in texts.items() for line in text.splitlines() if line.strip()]

    missed = []
    for path, line in rng.sample(lines, 200):
        for word in set(re.findall(r"[^\W_]+", line)):
            hits = memory.search(word, max_results=200).hits
            holding = [hit for hit in hits if re.search(rf"(?i)(?<![^\W_]){re.escape(word)}(?![^\W_])", hit.snippet)]
            if not holding or (len(hits) < 200 and path not in {hit.path for hit in hits}):
                missed.append((word, path, len(hits)))

    assert outcome.error is None
    assert outcome.failures == []
    assert missed == []
    assert len(chosen) > 500
