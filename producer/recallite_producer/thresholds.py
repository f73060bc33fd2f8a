"""Session deltas: when a growing transcript is worth an update of the index.

What was indexed is asked of the index itself. So nothing has to be remembered over a restart, and an update that
others caused counts as well.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from recallite.config import AgentSettings
from recallite.transcripts import Thresholds, find_transcript, judge, scan_transcripts
from recallite.transcripts.indexed import TranscriptState, indexed_transcripts
from recallite.transcripts.pending import Growth, read_growth
from recallite.workspace import FoundFile

logger = logging.getLogger(__name__)

Key = tuple[str, str]
"""Agent and index path."""


@dataclass(slots=True)
class _Delta:
    """What is known of a transcript's new text: it is read once, however often it is asked for."""

    since: int
    end: int
    messages: int = 0
    compacted: bool = False


class SessionThresholds:
    """For one thread. Agents whose sources do not name transcripts have none."""

    def __init__(self, agents: Iterable[AgentSettings]) -> None:
        self._agents = {a.agent: a for a in agents if "sessions" in a.search.sources}
        self._limits = {agent: Thresholds.of(settings) for agent, settings in self._agents.items()}
        self._below: dict[Key, _Delta] = {}
        self._sent: dict[Key, TranscriptState] = {}

    def __len__(self) -> int:
        """How many transcripts have new text that is not worth an update yet."""
        return len(self._below)

    def begin(self) -> None:
        """Look at all transcripts, so that one that is quiet from now on is not forgotten."""
        for agent, settings in self._agents.items():
            indexed = indexed_transcripts(settings.index_path)
            for path, found in scan_transcripts(settings.sessions_dir).files.items():
                if self._judge((agent, path), found, indexed.get(path)):
                    del self._sent[agent, path]  # the scan of the start asks for it, as far as it gets

    def changed(self, agent: str, path: str) -> bool:
        """Whether a transcript that has just changed is to be indexed now; one that is gone is, too."""
        settings = self._agents.get(agent)
        if settings is None:
            return False
        key = (agent, path)
        found = _look(path, settings)
        if found is None:
            self._below.pop(key, None)
            self._sent.pop(key, None)
            return True
        indexed = indexed_transcripts(settings.index_path, path).get(path)
        return self._judge(key, found, self._newest(key, indexed))

    def quiet(self) -> dict[str, list[str]]:
        """By agent: the transcripts below their thresholds whose session has gone quiet. Each is told once."""
        due: dict[str, list[str]] = {}
        for agent, path in list(self._below):
            found = _look(path, self._agents[agent])
            is_due = found is None or self._limits[agent].are_over(found.mtime_ns, time.time())
            if is_due and self.changed(agent, path):
                due.setdefault(agent, []).append(path)
        return due

    def _newest(self, key: Key, indexed: TranscriptState | None) -> TranscriptState | None:
        """What is indexed, or what was asked to be indexed and is on its way."""
        sent = self._sent.get(key)
        if sent is None or (indexed is not None and indexed.size >= sent.size):
            self._sent.pop(key, None)
            return indexed
        return sent

    def _judge(self, key: Key, found: FoundFile, known: TranscriptState | None) -> bool:
        def count(file: FoundFile, since: int) -> Growth:
            return self._count(key, file, since)

        verdict = judge(found, known, self._limits[key[0]], count=count)
        if verdict != "waiting":
            self._below.pop(key, None)
        if verdict == "due":
            self._sent[key] = TranscriptState(found.size, found.mtime_ns, found.ctime_ns, "indexed")
        return verdict == "due"

    def _count(self, key: Key, found: FoundFile, since: int) -> Growth:
        delta = self._below.get(key)
        if delta is None or delta.since != since or delta.end > found.size:
            delta = self._below[key] = _Delta(since, since)
        growth = read_growth(found, delta.end)
        delta.end = growth.end
        delta.messages += growth.messages
        delta.compacted |= growth.compacted
        return Growth(delta.messages, delta.compacted, delta.end)


def _look(path: str, settings: AgentSettings) -> FoundFile | None:
    """None also for what cannot be looked at: the indexer tells the one from the other."""
    with suppress(OSError):
        return find_transcript(path, settings.sessions_dir)
    return None
