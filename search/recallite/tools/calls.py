"""The functions behind the tools. Nothing is raised into an agent: what went wrong is in the result."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from recallite.arguments import a_text
from recallite.client import MemorySearch
from recallite.errors import IndexMissingError, MemoryPathError, RecalliteError
from recallite.tools.arguments import BadArgument, number_of, read_arguments, shown, text_of, whole_of
from recallite.tools.chats import ChatType, chat_type, citation, shows_citations
from recallite.tools.schemas import GET, SEARCH, TOOLS, Format, tool_schemas
from recallite.types import Hit, SearchReply

logger = logging.getLogger(__name__)

Result = dict[str, Any]
"""What a tool returns: JSON's types only."""

_RECALL = (
    "## Memory\n"
    "You have a long-term memory of notes. Before you answer anything about earlier work, decisions, dates, people, "
    "preferences or open tasks, call memory_search, then read what you need with memory_get. If you are unsure after "
    "searching, say that you looked. A passage marked stale comes from a file that has changed since, or "
    "that cannot be read now: try to read it anew."
)
_NAME_SOURCES = "Name your source (`Source: path#line`) where it helps the user to check it."
_NO_SOURCES = "Do not mention paths or line numbers of notes in your answers unless you are asked for them."


class MemoryTools:
    """The two tools of one agent, for one conversation.

    `session_key` names the conversation: its first search counts as a session start, and `memory.citations: auto`
    goes by the kind of chat it tells of; `chat` says the kind outright. As thread-safe as `memory`.
    """

    def __init__(self, memory: MemorySearch, *, session_key: str | None = None, chat: ChatType | None = None) -> None:
        if not isinstance(memory, MemorySearch):
            raise TypeError(f"memory must be a MemorySearch, not {type(memory).__name__}")
        self._memory = memory
        self._session_key = a_text(session_key, "session_key") if session_key is not None else None
        self._citations = memory.settings.memory.citations
        self._shows_sources = shows_citations(self._citations, chat or chat_type(session_key))
        self._functions: Mapping[str, Callable[[Any], Result]] = {
            SEARCH.name: lambda sent: self._search(sent),
            GET.name: lambda sent: self._get(sent),
        }

    @property
    def enabled(self) -> bool:
        """Whether the agent has these tools: `memorySearch.enabled` and `plugins.slots.memory` decide."""
        return self._memory.settings.tools_enabled

    def schemas(self, format_: Format = "openai") -> list[dict[str, Any]]:
        """The tools to declare in a request; none when the agent has no memory."""
        return tool_schemas(format_) if self.enabled else []

    def instructions(self) -> str:
        """A section for the system prompt that tells a model when to search; empty when the agent has no memory."""
        if not self.enabled:
            return ""
        return f"{_RECALL}\n{_NAME_SOURCES if self._shows_sources else _NO_SOURCES}"

    def call(self, name: str, arguments: object = None) -> Result:
        """Run the tool that a model asked for, with its arguments as a mapping or as JSON text. Never raises."""
        function = self._functions.get(name) if isinstance(name, str) else None
        if function is None:
            known = ", ".join(tool.name for tool in TOOLS)
            return {"error": f"there is no tool {shown(name)}; there are {known}"}
        return function(arguments)

    def memory_search(self, query: str, max_results: int | None = None, min_score: float | None = None) -> Result:
        """`{results, mode, provider, model, fallback, citations, pending, …}`; see docs/library.md. Never raises."""
        return self._search({"query": query, "maxResults": max_results, "minScore": min_score})

    def memory_get(self, path: str, from_line: int | None = None, lines: int | None = None) -> Result:
        """`{text, path}`; with `error` and `disabled` for a path that must not be read. Never raises."""
        return self._get({"path": path, "from": from_line, "lines": lines})

    def _search(self, sent: object) -> Result:
        try:
            arguments = read_arguments(sent, SEARCH.parameters["properties"])
            query = text_of(arguments, "query")
            reply = self._memory.search(
                query,
                max_results=whole_of(arguments, "maxResults"),
                min_score=number_of(arguments, "minScore", low=0, high=1),
                session=self._session_key,
            )
            return self._found(reply)
        except BadArgument as error:
            return {"results": [], "error": str(error)}
        except Exception as error:
            # A model can do nothing with a traceback, and its host must not fall over one.
            return {"results": [], "disabled": True, "unavailable": True, **_unavailable(error, self.enabled)}

    def _found(self, reply: SearchReply) -> Result:
        fallback = reply.fallback
        found: Result = {
            "results": [self._result(hit) for hit in reply.hits],
            "mode": reply.mode,
            "provider": reply.provider,
            "model": reply.model,
            "fallback": {"from": fallback.from_provider, "reason": fallback.reason} if fallback is not None else None,
            "citations": self._citations,
            "pending": {"files": reply.pending_files, "vectors": reply.pending_vectors},
        }
        if reply.reason is not None:
            found["reason"] = reply.reason
        return found

    def _result(self, hit: Hit) -> Result:
        result: Result = {
            "path": hit.path,
            "startLine": hit.start_line,
            "endLine": hit.end_line,
            "score": round(hit.score, 4),
            "snippet": hit.snippet,
            "source": hit.source,
        }
        if self._shows_sources:
            result["citation"] = citation(hit)
            result["snippet"] = f"{hit.snippet.strip()}\n\nSource: {result['citation']}"
        if hit.stale:
            result["stale"] = True
        return result

    def _get(self, sent: object) -> Result:
        path = ""
        try:
            arguments = read_arguments(sent, GET.parameters["properties"])
            path = text_of(arguments, "path")
            first, lines = whole_of(arguments, "from"), whole_of(arguments, "lines")
            excerpt = self._memory.get(path, from_line=first, lines=lines)
            return {"text": excerpt.text, "path": excerpt.path}
        except (BadArgument, MemoryPathError) as error:
            return {"text": "", "path": path, "disabled": True, "error": str(error)}
        except Exception as error:
            return {"text": "", "path": path, "disabled": True, "error": _unavailable(error, self.enabled)["error"]}


def _unavailable(error: Exception, enabled: bool) -> dict[str, str]:
    """The words for an error that is not the model's fault."""
    if not isinstance(error, RecalliteError):
        logger.warning("a memory tool failed: %s", type(error).__name__, exc_info=error)
        text = f"the memory failed unexpectedly ({type(error).__name__})"
        action = "Go on without the memory, and tell the user that its log has the details."
    elif not enabled:
        text, action = str(error), "Go on without the memory."
    elif isinstance(error, IndexMissingError):
        text, action = str(error), "Run `recallite index`, then retry memory_search; memory_get works meanwhile."
    else:
        text, action = str(error), "Tell the user what the error says; memory_get works meanwhile."
    return {"error": text, "warning": "Memory search is unavailable.", "action": action}
