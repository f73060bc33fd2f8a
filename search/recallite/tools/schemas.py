"""`memory_search` and `memory_get` as the common function-calling APIs want them declared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Format = Literal["openai", "openai-responses", "anthropic", "gemini", "mcp"]
"""`openai` is Chat Completions, which most compatible servers speak; `openai-responses` the Responses API."""


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool; `parameters` is JSON Schema, kept to what all of these APIs understand."""

    name: str
    description: str
    parameters: Mapping[str, Any]


SEARCH = Tool(
    "memory_search",
    "Search the long-term memory: notes, decisions, preferences, people, dates, things to do. Call it before you "
    "answer anything about earlier work or about the user. Gives short passages with their path and lines; read "
    "more around one of them with memory_get.",
    {
        "type": "object",
        "properties": {
            "query": {
                "type": "string",
                "description": "A question, some words, or an exact identifier; any language.",
            },
            "maxResults": {"type": "integer", "minimum": 1, "maximum": 200, "description": "Most passages to return."},
            "minScore": {"type": "number", "minimum": 0, "maximum": 1, "description": "Least score of a passage."},
        },
        "required": ["query"],
    },
)
GET = Tool(
    "memory_get",
    "Read a note of the memory, or some of its lines, by a path that memory_search returned. A note that does not "
    "exist has empty text.",
    {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Such as MEMORY.md or memory/2026-02-10.md."},
            "from": {"type": "integer", "minimum": 1, "description": "First line, counted from 1."},
            "lines": {"type": "integer", "minimum": 1, "description": "How many lines."},
        },
        "required": ["path"],
    },
)
TOOLS = (SEARCH, GET)


def tool_schemas(format_: Format = "openai") -> list[dict[str, Any]]:
    """Both tools, as the `tools` of a request in this API take them.

    Raises ValueError for a format that is not known.
    """
    match format_:
        case "openai":
            return [{"type": "function", "function": _named(tool, "parameters")} for tool in TOOLS]
        case "openai-responses":
            return [{"type": "function", **_named(tool, "parameters")} for tool in TOOLS]
        case "anthropic":
            return [_named(tool, "input_schema") for tool in TOOLS]
        case "gemini":
            return [{"functionDeclarations": [_named(tool, "parameters") for tool in TOOLS]}]
        case "mcp":
            return [_named(tool, "inputSchema") for tool in TOOLS]
    raise ValueError(f"no such format {format_!r}: openai, openai-responses, anthropic, gemini, mcp")


def _named(tool: Tool, key: str) -> dict[str, Any]:
    parameters = {**tool.parameters, "properties": {k: dict(v) for k, v in tool.parameters["properties"].items()}}
    return {"name": tool.name, "description": tool.description, key: parameters}
