"""What `recallite index` does with batch jobs: submit them, and wait for their vectors if it is asked to."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence

from recallite.config import AgentSettings
from recallite.errors import RecalliteError
from recallite.work import WorkQueue
from recallite_worker.batch_poll import open_jobs, poll_if_free
from recallite_worker.executor import AgentOutcome, EmbeddedExecutor

logger = logging.getLogger(__name__)

_BUSY_SECONDS = 2.0
"""While another process moves the jobs on."""


class BatchWait:
    """For one run over some agents."""

    def __init__(
        self,
        agents: Sequence[AgentSettings],
        queue: WorkQueue,
        executor: EmbeddedExecutor,
        *,
        stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        self._agents = agents
        self._queue = queue
        self._executor = executor
        self._stopped = stopped

    def run(self, outcomes: Mapping[str, AgentOutcome]) -> None:
        """Until no job is open, or the time is over. What comes is added to the outcomes.

        An agent with `remote.batch.wait` false is looked at once: its jobs are submitted, as many as may run. One whose
        run ended with an error is left alone: vectors that come could not be written.
        """
        began = time.monotonic()
        failed = {name for name, outcome in outcomes.items() if outcome.error is not None}
        left = {agent.agent: agent for agent in self._agents if agent.agent not in failed and self._has_jobs(agent)}
        while left and not self._stopped():
            soonest = 60.0
            for agent in list(left.values()):
                wait = self._poll(agent, outcomes)
                limits = agent.search.remote.batch
                over = time.monotonic() - began > limits.timeout_minutes * 60
                if wait is None or not limits.wait or over:
                    del left[agent.agent]
                else:
                    soonest = min(soonest, wait)
            self._sleep(soonest if left else 0.0)

    def _has_jobs(self, agent: AgentSettings) -> bool:
        try:
            return bool(open_jobs(agent))
        except (RecalliteError, OSError) as error:
            logger.error("agent %s: %s", agent.agent, error)
            return False

    def _poll(self, agent: AgentSettings, outcomes: Mapping[str, AgentOutcome]) -> float | None:
        """Seconds until the next look; None when the agent has no open job any more, or cannot be looked at."""
        try:
            done = poll_if_free(agent, self._queue)
        except (RecalliteError, OSError) as error:
            logger.error("agent %s: batch jobs: %s", agent.agent, error)
            return None
        if done is None:
            return _BUSY_SECONDS if self._has_jobs(agent) else None
        if done.delivered or done.freed:
            again = self._executor.run([agent])[agent.agent]
            if (outcome := outcomes.get(agent.agent)) is not None:
                outcome.add(again)
            if done.next_seconds is None and not done.unasked and self._has_jobs(agent):
                return 0.0
        return done.next_seconds

    def _sleep(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until and not self._stopped():
            time.sleep(0.1)
