"""The tools as each API wants them declared."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

from recallite.tools.schemas import TOOLS, tool_schemas

FORMATS = ("openai", "openai-responses", "anthropic", "gemini", "mcp")


def declared(format_: Any) -> list[tuple[str, str, dict[str, Any]]]:
    """Name, description and parameters of each tool, taken from the place where the API has them."""
    schemas = tool_schemas(format_)
    if format_ == "openai":
        assert all(set(schema) == {"type", "function"} and schema["type"] == "function" for schema in schemas)
        return [(f["name"], f["description"], f["parameters"]) for f in (schema["function"] for schema in schemas)]
    if format_ == "openai-responses":
        assert all(schema["type"] == "function" for schema in schemas)
        return [(s["name"], s["description"], s["parameters"]) for s in schemas]
    if format_ == "anthropic":
        return [(s["name"], s["description"], s["input_schema"]) for s in schemas]
    if format_ == "mcp":
        return [(s["name"], s["description"], s["inputSchema"]) for s in schemas]
    [group] = schemas
    return [(s["name"], s["description"], s["parameters"]) for s in group["functionDeclarations"]]


@pytest.mark.parametrize("format_", FORMATS)
def test_both_tools_are_declared_with_a_valid_schema(format_: str) -> None:
    search, get = declared(format_)

    assert (search[0], get[0]) == ("memory_search", "memory_get")
    assert set(search[2]["properties"]) == {"query", "maxResults", "minScore"}
    assert set(get[2]["properties"]) == {"path", "from", "lines"}
    for name, description, parameters in (search, get):
        jsonschema.Draft202012Validator.check_schema(parameters)
        assert description and json.dumps(parameters), name


def test_the_schemas_of_one_call_can_be_changed_without_changing_the_next() -> None:
    first = tool_schemas("anthropic")
    first[0]["input_schema"]["properties"]["query"]["type"] = "number"
    first[0]["input_schema"]["properties"].clear()

    assert tool_schemas("anthropic")[0]["input_schema"]["properties"]["query"]["type"] == "string"
    assert TOOLS[0].parameters["required"] == ["query"]


def test_an_unknown_format_is_an_error_that_names_those_there_are() -> None:
    with pytest.raises(ValueError, match="'xml': openai, openai-responses, anthropic, gemini, mcp"):
        tool_schemas("xml")  # type: ignore[arg-type]  # on purpose


def test_openais_own_types_take_the_declarations() -> None:
    from openai.types.chat import ChatCompletionFunctionToolParam
    from openai.types.responses import FunctionTool
    from pydantic import TypeAdapter

    for schema in tool_schemas("openai"):
        TypeAdapter(ChatCompletionFunctionToolParam).validate_python(schema)
    for schema in tool_schemas("openai-responses"):
        FunctionTool.model_validate({**schema, "strict": False})
