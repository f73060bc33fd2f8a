"""Asking for an agent to be indexed soon, at no cost for who asks."""

from __future__ import annotations

import logging
import threading
import time
from typing import Literal, get_args

from recallite.arguments import agent_settings
from recallite.config import AgentSettings
from recallite.transcripts.names import ALL_TRANSCRIPTS
from recallite.work.connect import broker_url, open_dispatch
from recallite.work.producer_state import producer_state
from recallite.work.queue import SCAN
from recallite.work.sqlite import SqliteQueue, queue_path

logger = logging.getLogger(__name__)

Reason = Literal["session-start", "post-compaction", "search", "interval", "request"]
_WITH_ALL_SESSIONS = ("session-start", "post-compaction")
"""Reasons for which transcripts are indexed as they are, and not as the thresholds say."""

QUIET_SECONDS = 5.0
"""An agent is asked for at most this often; asking more often changes nothing."""

_lock = threading.Lock()
_asked: dict[tuple[str, str, bool], float] = {}


def request_sync(settings: AgentSettings, reason: Reason = "request") -> None:
    """Let the agent's files be compared with its index soon. Returns at once, never waits.

    Raises only for arguments of the wrong kind: TypeError, ValueError.

    At the start of a session, and after a compaction, whatever its transcripts hold is indexed; otherwise what lies
    above the thresholds of `sync.sessions`.

    With a broker (RECALLITE_BROKER_URL) the workers are told, else the `recallite up` of this state directory; when
    neither is there nothing happens. The work is done elsewhere: this only leaves a mark, in a thread of its own.
    """
    agent_settings(settings)
    if reason not in get_args(Reason):
        raise ValueError(f"reason is {reason!r}, it must be one of {', '.join(get_args(Reason))}")
    key = (str(settings.state_dir), settings.agent, reason in _WITH_ALL_SESSIONS)
    now = time.monotonic()
    with _lock:
        if now - _asked.get(key, -QUIET_SECONDS) < QUIET_SECONDS:
            return
        _asked[key] = now
    threading.Thread(target=_send, args=(settings, reason), name="recallite-request", daemon=True).start()


def _send(settings: AgentSettings, reason: Reason) -> None:
    try:
        marks = [SCAN, ALL_TRANSCRIPTS] if reason in _WITH_ALL_SESSIONS else [SCAN]
        url = broker_url()
        if url is not None:
            _send_to_broker(settings, url, marks)
        else:
            _leave_mark(settings, marks)
    except Exception as error:  # whatever a broken installation raises: nobody waits for this thread
        logger.info("agent %s: the request to index (%s) was not passed on: %s", settings.agent, reason, error)


def _send_to_broker(settings: AgentSettings, url: str, marks: list[str]) -> None:
    dispatch = open_dispatch(settings, url)
    try:
        dispatch.dirty(settings.agent, marks)
    finally:
        dispatch.close()


def _leave_mark(settings: AgentSettings, marks: list[str]) -> None:
    state = producer_state(settings.state_dir)
    if state is None or not state.alive:
        return
    queue = SqliteQueue(queue_path(settings.state_dir))
    try:
        queue.mark(settings.agent, marks)
    finally:
        queue.close()
