"""Which provider embeds now: the configured one, or the fallback while that one fails.

What is known of the primary is kept in the index, where readers see why another provider answers. Vectors of the
two never meet: the fallback gets a space of its own, which answers when it is complete, and so does the primary
when it is back; its vectors are then in the cache.
"""

from __future__ import annotations

import json
import logging
import time
from dataclasses import dataclass

from recallite.config import AgentSettings
from recallite.embeddings.checks import BadVector, check_vectors
from recallite.embeddings.choice import choose_fallback
from recallite.embeddings.protocol import Embedder
from recallite.embeddings.registry import create_embedder
from recallite.embeddings.retry import PROBE_TEXT
from recallite.errors import ProviderError, ProviderPausedError, ProviderTransientError
from recallite.index.connection import FAILOVER, active_rows, space_row
from recallite.work import WorkQueue
from recallite_worker.pacing import pace
from recallite_worker.store import IndexStore, get_meta, set_meta

logger = logging.getLogger(__name__)

PATIENCE_SECONDS = 60.0
"""How long a failure that may pass is waited for, in an index whose vectors the primary has made."""
RETURN_SECONDS = 600.0
"""How often the primary is asked again while the fallback is used."""
_FAILING = "primary_failing"


@dataclass(frozen=True, slots=True)
class Opened:
    """An embedder, or why there is none."""

    embedder: Embedder | None
    reason: str | None = None
    is_fallback: bool = False


class Failover:
    """For one slice of work on one index."""

    def __init__(self, store: IndexStore, settings: AgentSettings, queue: WorkQueue) -> None:
        self._store = store
        self._settings = settings
        self._queue = queue
        self._fallback = choose_fallback(settings)
        self._primary = ""

    def open(self, primary: Embedder | None, reason: str | None, *, name: str) -> Opened:
        """The primary, unless the fallback has its turn. `name` is the primary's id, also where it cannot be used.

        The one that is not used is closed.
        """
        self._primary = name
        state = self._state()
        if self._fallback is None or (state is not None and state["from"] != name):
            self._note(None)
            state = None
        if self._fallback is None:
            return Opened(primary, reason)
        if primary is None:
            self._begin(reason or "it cannot be used")
            return self._open_fallback(reason)
        if state is None or self._is_back(primary, state):
            return Opened(primary)
        primary.close()
        return self._open_fallback(str(state["reason"]))

    def failed(self, error: ProviderError) -> bool:
        """Take note of the primary's failure; whether the fallback has its turn from now on."""
        if self._fallback is None or (isinstance(error, ProviderPausedError) and not error.for_quota):
            return False
        reason = f"{type(error).__name__}: {error}"
        if isinstance(error, ProviderTransientError) and self._has_vectors():
            now = time.time()
            since = get_meta(self._store.connection, _FAILING)
            if since is None:
                with self._store.transaction() as connection:
                    set_meta(connection, _FAILING, now)
                return False
            if now - float(str(since)) < PATIENCE_SECONDS:
                return False
        self._begin(reason)
        return True

    def fallback_failed(self, error: ProviderError) -> None:
        """Neither works: the primary is asked again with the next slice."""
        state = self._state()
        if state is not None:
            reason = str(state["reason"]).partition("; and the fallback")[0]
            self._note(
                {**state, "asked": 0.0, "reason": f"{reason}; and the fallback: {type(error).__name__}: {error}"}
            )

    def served(self) -> None:
        """The primary has given vectors."""
        if get_meta(self._store.connection, _FAILING) is not None:
            with self._store.transaction() as connection:
                set_meta(connection, _FAILING, None)

    def _open_fallback(self, why: str | None) -> Opened:
        assert self._fallback is not None
        options = self._fallback.options
        problem = self._fallback.reason
        if options is not None:
            try:
                embedder = pace(create_embedder(options), options, self._queue)
                return Opened(embedder, is_fallback=True)
            except ProviderError as error:
                problem = str(error)
        return Opened(None, f"{why}; fallback {self._fallback.requested}: {problem}")

    def _begin(self, reason: str) -> None:
        state = self._state()
        if state is None:
            logger.warning(
                "agent %s: %s fails (%s); %s embeds until it is back",
                self._settings.agent,
                self._primary,
                reason,
                self._settings.search.fallback,
            )
        elif state["reason"] == reason:
            return
        self._note({"from": self._primary, "reason": reason, "asked": time.time()})

    def _is_back(self, primary: Embedder, state: dict[str, object]) -> bool:
        if time.time() - float(str(state["asked"])) < RETURN_SECONDS:
            return False
        try:
            raw = primary.embed([PROBE_TEXT], kind="document")
            (result,) = check_vectors(raw, expected=1, dims=primary.space.dims)
            trouble = result.reason if isinstance(result, BadVector) else None
        except ProviderError as error:
            trouble = f"{type(error).__name__}: {error}"
        if trouble is not None:
            self._note({**state, "reason": trouble, "asked": time.time()})
            return False
        logger.info("agent %s: %s is back and embeds again", self._settings.agent, self._primary)
        self._note(None)
        return True

    def _state(self) -> dict[str, object] | None:
        value = get_meta(self._store.connection, FAILOVER)
        state = json.loads(str(value)) if value is not None else None
        return state if isinstance(state, dict) else None

    def _note(self, state: dict[str, object] | None) -> None:
        if state is None and get_meta(self._store.connection, FAILOVER) is None:
            return
        with self._store.transaction() as connection:
            set_meta(connection, FAILOVER, json.dumps(state) if state is not None else None)
            set_meta(connection, _FAILING, None)

    def _has_vectors(self) -> bool:
        """Whether the primary's vectors answer now: they are not given up for a short outage."""
        _, active = active_rows(self._store.connection)
        space = space_row(self._store.connection, active) if active is not None else None
        return space is not None and space.dims is not None
