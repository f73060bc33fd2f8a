"""`MemorySearch`: what an agent's host uses."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from recallite.arguments import a_count, a_place, a_share, a_text, a_whole_number, agent_settings, some_texts, yes_or_no
from recallite.config import AgentSettings, load_settings
from recallite.embeddings.choice import choose_fallback, choose_provider
from recallite.errors import RecalliteError
from recallite.index.files import is_there
from recallite.index.filters import Filter
from recallite.search.connections import SearchConnections
from recallite.search.fusion import Weights
from recallite.search.ordering import Ordering
from recallite.search.questions import QuestionEmbedder
from recallite.search.searcher import MAX_CANDIDATES, Searcher, SearchSettings
from recallite.types import Excerpt, IndexStatus, SearchReply, Source
from recallite.workspace.ignore import IgnoreRules

if TYPE_CHECKING:
    from recallite.work import WorkQueue


class MemorySearch:
    """One agent's memory: search it, read from it, ask how it is. Reads only, never waits for the indexer.

    May be shared by threads, and carried over a fork at which none of them is searching. Use it as a context manager,
    or call `close`.

    Raises ConfigError and UnknownAgentError when it is made, and TypeError when `settings` are not those of one agent;
    an index that is not there yet raises IndexMissingError from `search`, and a closed object ClosedError.
    """

    def __init__(
        self,
        agent: str | None = None,
        *,
        config: str | Path | None = None,
        settings: AgentSettings | None = None,
    ) -> None:
        """`agent` None is the default agent; `config` None finds openclaw.json as the command line does."""
        self.settings = agent_settings(settings if settings is not None else load_settings(config).agent(agent))
        self._sessions: set[str] = set()
        self._choice = choose_provider(self.settings)
        self._connections = SearchConnections(self.settings.index_path)
        self._questions = QuestionEmbedder(self._choice, fallback=choose_fallback(self.settings))
        self._searcher = Searcher(_search_settings(self.settings), self._connections, self._questions)

    @property
    def searcher(self) -> Searcher:
        """What answers the questions, for measuring it in other ways than the one that is set."""
        return self._searcher

    @property
    def agent(self) -> str:
        return self.settings.agent

    def search(
        self,
        query: str,
        *,
        max_results: int | None = None,
        min_score: float | None = None,
        sources: Sequence[Source] | None = None,
        folder: str | None = None,
        explain: bool = False,
        session: str | None = None,
    ) -> SearchReply:
        """The chunks that answer `query`, best first.

        At most `max_results` (1 to 200, by default `query.maxResults`) with a score of at least `min_score`
        (0..1, by default `query.minScore`); a chunk with every term of the query is never held back.
        `sources`, out of those that the settings name, and `folder` (an index path, or the folder of some; the
        workspace itself is all) narrow it exactly.
        `session` names the conversation that asks: its first search is a session start.
        Raises IndexUnusableError and its subclasses; no query text raises.
        """
        a_text(query, "query")
        yes_or_no(explain, "explain")
        if session is not None:
            a_text(session, "session")
        wanted_sources = some_texts(sources, "sources") if sources is not None else None
        folder = self._folder(folder)
        defaults = self._searcher.settings
        wanted = defaults.max_results if max_results is None else a_count(max_results, "max_results", least=1)
        least = defaults.min_score if min_score is None else a_share(min_score, "min_score")
        self._check_enabled()
        waiting = self.waiting_changes()  # before the next line, which may add one
        self._ask_for_updates(session)
        if wanted_sources is not None and (refused := self._refused(wanted_sources)) is not None:
            return SearchReply((), "none", refused)
        where = Filter(wanted_sources, folder)  # type: ignore[arg-type]  # other names find nothing
        reply = self._searcher.search(
            query, max_results=min(wanted, MAX_CANDIDATES), min_score=least, where=where, explain=explain
        )
        return replace(reply, pending_files=waiting)

    def _refused(self, sources: Sequence[str]) -> str | None:
        """Why nothing can be found in these sources; None if there is one that the settings name."""
        named = self.settings.search.sources
        if any(source in named for source in sources):
            return None
        asked = " and ".join(dict.fromkeys(sources)) or "none"
        needs = ", and experimental.sessionMemory must be true" if "sessions" in sources else ""
        return f"source {asked} is not indexed for this agent: memorySearch.sources has to name it{needs}"

    def _folder(self, folder: str | None) -> str | None:
        """A folder as index paths begin with it: `./memory/`, or the same with the workspace before it."""
        if folder is None:
            return None
        from recallite.filenames import as_spelled
        from recallite.workspace.files import index_path

        workspace = self.settings.workspace
        name = index_path(workspace, Path(os.path.normpath(workspace / as_spelled(a_place(folder, "folder")))))
        return None if name == "." else name

    def _ask_for_updates(self, session: str | None) -> None:
        """As `sync.onSearch` and `sync.onSessionStart` say. Costs a comparison; the rest is done elsewhere."""
        sync = self.settings.search.sync
        starts = session is not None and session not in self._sessions
        if session is not None:
            self._sessions.add(session)
        if sync.on_search or (starts and sync.on_session_start):
            from recallite.work.requests import request_sync

            request_sync(self.settings, "session-start" if starts and sync.on_session_start else "search")

    def get(self, path: str, *, from_line: int | None = None, lines: int | None = None) -> Excerpt:
        """Lines of a note by its path as search gives it; empty text for a file that is not there.

        Raises MemoryPathError, with the reason, for a path outside the memory.
        """
        a_text(path, "path")
        from_line = a_whole_number(from_line, "from_line") if from_line is not None else None
        lines = a_whole_number(lines, "lines") if lines is not None else None
        self._check_enabled()
        from recallite.workspace import read_excerpt

        return read_excerpt(path, self.settings.workspace, self.settings.extra_paths, from_line=from_line, lines=lines)

    def status(self, *, look_at_queue: bool = True) -> IndexStatus:
        """How the index stands against the files, from the data. Works without an index.

        `look_at_queue` False leaves out what waits in the queue and who works on it.
        """
        from recallite.status import agent_status  # a search needs neither this nor the queue

        queue = self._queue() if look_at_queue else None
        try:
            return agent_status(self.settings, self._choice, queue)
        finally:
            if queue is not None:
                queue.close()

    def waiting_changes(self) -> int:
        """Changes that the queue on this disk knows and that are not indexed yet; 0 when it does not say.

        Looks at no note, and asks no broker, which might take its time to answer.
        """
        from recallite.work.connect import broker_url

        queue = self._queue() if broker_url() is None else None
        if queue is None:
            return 0
        try:
            return queue.length(self.agent)
        except (RecalliteError, OSError):
            return 0
        finally:
            queue.close()

    def _queue(self) -> WorkQueue | None:
        """The queue for looking at; None when there was never one."""
        from recallite.work.connect import broker_url, open_redis_queue
        from recallite.work.sqlite import SqliteQueue, queue_path

        if (url := broker_url()) is not None:
            return open_redis_queue(self.settings, url, only_looks=True)
        path = queue_path(self.settings.state_dir)
        return SqliteQueue(path, read_only=True) if is_there(path) else None

    def _check_enabled(self) -> None:
        if not self.settings.tools_enabled:
            by = "memorySearch.enabled" if not self.settings.search.enabled else "plugins.slots.memory"
            raise RecalliteError(f"memory search is switched off for agent {self.agent!r} ({by})")

    def close(self) -> None:
        """Close all connections; no search may be under way in another thread."""
        self._connections.close()
        self._questions.close()

    def __enter__(self) -> MemorySearch:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _search_settings(settings: AgentSettings) -> SearchSettings:
    query = settings.search.query
    hybrid = query.hybrid
    return SearchSettings(
        workspace=settings.workspace,
        sessions_dir=settings.sessions_dir,
        sources=settings.search.sources,
        max_results=query.max_results,
        min_score=query.min_score,
        hybrid=hybrid.enabled,
        weights=_weights(hybrid.vector_weight, hybrid.text_weight),
        fusion=hybrid.fusion,
        candidate_multiplier=hybrid.candidate_multiplier,
        ordering=Ordering(
            half_life_days=hybrid.temporal_decay.half_life_days if hybrid.temporal_decay.enabled else None,
            lambda_=hybrid.mmr.lambda_ if hybrid.mmr.enabled else None,
            evergreen=IgnoreRules(hybrid.temporal_decay.evergreen),
            zone=settings.zone,
        ),
    )


def _weights(vector: float, text: float) -> Weights:
    """Scaled to add up to 1; the settings see to it that not both are 0."""
    total = vector + text
    return Weights(vector / total, text / total)
