"""What `recallite index` does when a provider asks to slow down: wait as long as it was told, and go on."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence

from recallite.config import AgentSettings
from recallite_worker.executor import AgentOutcome, EmbeddedExecutor

logger = logging.getLogger(__name__)

LONGEST_PAUSE_SECONDS = 300.0
"""A limit per minute or for some minutes is sat out; who is told to come back later runs the command again."""
MOST_IN_VAIN = 5
"""Pauses after which the provider served nothing, before the run ends."""


class PauseWait:
    """For one run over some agents."""

    def __init__(
        self, agents: Sequence[AgentSettings], executor: EmbeddedExecutor, *, stopped: Callable[[], bool]
    ) -> None:
        self._agents = agents
        self._executor = executor
        self._stopped = stopped

    def run(self, outcomes: Mapping[str, AgentOutcome]) -> None:
        """Until no agent waits for its provider. What the further slices do is added to the outcomes."""
        in_vain = 0
        while in_vain < MOST_IN_VAIN and not self._stopped():
            due = {agent.agent: agent for agent in self._agents if self._waits(outcomes.get(agent.agent))}
            if not due:
                return
            seconds = max(outcomes[name].pause_seconds or 0.0 for name in due)
            logger.warning("%s: the provider asks to slow down; going on in %.0f s", ", ".join(due), seconds)
            self._sleep(seconds)
            if self._stopped():
                return
            further = self._executor.run(list(due.values()))
            for name, outcome in further.items():
                outcomes[name].add(outcome)
            in_vain = 0 if any(outcome.texts_embedded for outcome in further.values()) else in_vain + 1

    def _waits(self, outcome: AgentOutcome | None) -> bool:
        pause = outcome.pause_seconds if outcome is not None and outcome.error is None else None
        return pause is not None and pause <= LONGEST_PAUSE_SECONDS

    def _sleep(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until and not self._stopped():
            time.sleep(0.1)
