"""For folders without events: walk an agent's memory now and then, and compare."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping

from recallite.config import AgentSettings
from recallite.sources import scan_sources
from recallite.workspace import FoundFile
from recallite_producer.roots import Change

logger = logging.getLogger(__name__)


class Poller:
    """A thread of its own, since a walk over a network can take long. It begins with the first agent.

    It walks as the indexer does, so it sees what is indexed and nothing else; a changed `ctime` gives away an
    edit that kept size and modification time.
    """

    def __init__(self, touch: Callable[[Change], None], *, seconds: float) -> None:
        self._touch = touch
        self._seconds = seconds
        self._agents: Mapping[str, AgentSettings] = {}
        self._known: dict[str, dict[str, FoundFile]] = {}
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def watch(self, agents: Mapping[str, AgentSettings]) -> None:
        """These agents are walked from now on, and no others."""
        self._agents = dict(agents)
        if agents and (self._thread is None or not self._thread.is_alive()) and not self._stopped.is_set():
            self._thread = threading.Thread(target=self._run, name="recallite-poll", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Do not wait for a walk that hangs."""
        self._stopped.set()

    def _run(self) -> None:
        while not self._stopped.is_set():
            agents = self._agents
            for gone in self._known.keys() - agents.keys():
                del self._known[gone]
            for agent, settings in agents.items():
                try:
                    self._compare(agent, settings)
                except Exception:
                    # A scan by the indexer does not depend on what failed here.
                    logger.exception("agent %s: its folders could not be walked", agent)
            self._stopped.wait(self._seconds)

    def _compare(self, agent: str, settings: AgentSettings) -> None:
        scan = scan_sources(settings)
        before = self._known.get(agent)
        self._known[agent] = dict(scan.files)
        if before is None:
            # Whatever changed until now is found by a scan, which must not be older than this walk.
            self._touch(Change.anywhere(agent))
            return
        for path in before.keys() | scan.files.keys():
            if before.get(path) == scan.files.get(path):
                continue
            if path not in scan.files and scan.keeps(path):
                self._known[agent][path] = before[path]
            else:
                self._touch(Change(agent, path))
