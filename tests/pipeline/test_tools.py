"""The agent's tools on a real index: documented shapes, and nothing is ever raised."""

from __future__ import annotations

import json
import re
import sqlite3
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recallite import ClosedError, MemorySearch, MemoryTools


@pytest.fixture
def noted(lab: Any) -> Any:
    lab.note("MEMORY.md", "# Memory\n\n- The printer is on VLAN 30.\n")
    lab.note("memory/2026-02-10.md", "# Day\n\nCodeword ZEBRA-7731.\nSecond line.\nThird line.\n")
    lab.index()
    return lab


def tools_of(lab: Any, **options: Any) -> MemoryTools:
    return MemoryTools(lab.memory(), **options)


def test_a_search_has_the_documented_shape(noted: Any) -> None:
    found = tools_of(noted).memory_search("ZEBRA-7731")

    hit = found["results"][0]
    assert set(found) == {"results", "mode", "provider", "model", "fallback", "citations", "pending"}
    assert (found["mode"], found["provider"], found["model"], found["fallback"]) == ("hybrid", "test", "test-64", None)
    assert found["citations"] == "auto" and found["pending"] == {"files": 0, "vectors": 0}
    assert set(hit) == {"path", "startLine", "endLine", "score", "snippet", "source", "citation"}
    assert (hit["path"], hit["startLine"], hit["source"]) == ("memory/2026-02-10.md", 1, "memory")
    assert 0 <= hit["score"] <= 1
    assert hit["snippet"].endswith("Third line.\n\nSource: memory/2026-02-10.md#L1-L5")
    assert json.loads(json.dumps(found)) == found


def test_an_answer_by_keyword_says_why(noted: Any) -> None:
    noted.model = None

    found = tools_of(noted).memory_search("printer")

    assert (found["mode"], found["provider"], found["reason"]) == ("keyword", None, "no provider in this test")


@pytest.mark.parametrize(
    ("mode", "key", "shown"),
    [
        ("auto", None, True),
        ("auto", "agent:main:main", True),
        ("auto", "agent:main:discord:channel:1", False),
        ("auto", "agent:main:whatsapp:group:1", False),
        ("on", "agent:main:discord:channel:1", True),
        ("off", "agent:main:main", False),
    ],
)
def test_citations(noted: Any, mode: str, key: str | None, shown: bool) -> None:
    noted.config = {"memory": {"citations": mode}}

    tools = tools_of(noted, session_key=key)
    [hit, *_] = tools.memory_search("ZEBRA-7731")["results"]

    assert ("Source:" in hit["snippet"], "citation" in hit) == (shown, shown)
    assert hit["path"] == "memory/2026-02-10.md"
    assert ("Do not mention paths" in tools.instructions()) is not shown


def test_a_hit_of_a_changed_file_and_waiting_changes_are_marked(noted: Any) -> None:
    from recallite.work.sqlite import SqliteQueue, queue_path

    noted.note("MEMORY.md", "# Memory\n\n- The printer is on VLAN 31 now.\n")
    queue = SqliteQueue(queue_path(noted.settings.state_dir))
    queue.mark("main", ["MEMORY.md"])
    queue.close()

    found = tools_of(noted).memory_search("printer VLAN")

    assert found["results"][0]["stale"] is True
    assert found["pending"]["files"] == 1


def test_reading_has_the_documented_shape(noted: Any) -> None:
    tools = tools_of(noted)

    assert tools.memory_get("memory/2026-02-10.md", 3, 2) == {
        "text": "Codeword ZEBRA-7731.\nSecond line.\n",
        "path": "memory/2026-02-10.md",
    }
    assert tools.memory_get("memory/none.md") == {"text": "", "path": "memory/none.md"}
    assert tools.call("memory_get", {"path": "MEMORY.md", "from": 3})["text"] == "- The printer is on VLAN 30.\n"


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("../secret.md", "'..'"),
        ("/etc/passwd", "outside the memory"),
        ("memory/a.txt", "not a Markdown file"),
        ("", "path required"),
        ("memory/link.md", "symlink"),
    ],
)
def test_a_path_that_must_not_be_read_is_refused_with_the_reason(noted: Any, path: str, reason: str) -> None:
    (noted.workspace / "memory/link.md").symlink_to("/etc/hostname")

    refused = tools_of(noted).call("memory_get", {"path": path})

    assert refused["text"] == "" and refused["path"] == path and refused["disabled"] is True
    assert reason in refused["error"]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({}, "query required"),
        ({"query": "  "}, "query required"),
        ({"query": 7}, "query must be a text"),
        ({"query": "x", "maxResults": 0}, "maxResults is 0: it must be at least 1"),
        ({"query": "x", "maxResults": "many"}, "maxResults is 'many': it must be a number"),
        ({"query": "x", "maxResults": True}, "maxResults is True: it must be a number"),
        ({"query": "x", "minScore": float("nan")}, "minScore is nan: it must be a number"),
        ({"query": "x", "minScore": 3}, "minScore is 3: it must be between 0 and 1"),
        ({"query": "x", "corpus": "all"}, "unknown argument 'corpus'; there are query, maxResults, minScore"),
        ("{broken", "the arguments are not JSON"),
        pytest.param("[" * 100_000, "the arguments are not JSON", id="deep"),
        pytest.param(
            {"query": "x", "maxResults": 10**5000}, "maxResults is of type int: it must be a number", id="long"
        ),
        ("[1]", "the arguments must be a JSON object"),
        (None, "query required"),
    ],
)
def test_arguments_that_cannot_be_used_are_named(noted: Any, arguments: object, error: str) -> None:
    assert tools_of(noted).call("memory_search", arguments) == {"results": [], "error": error}


@pytest.mark.parametrize(
    "arguments",
    [
        {"query": "ZEBRA-7731", "maxResults": 1},
        {"query": "ZEBRA-7731", "max_results": "1"},
        {"query": "ZEBRA-7731", "maxResults": 1.0, "minScore": None},
        '{"query": "ZEBRA-7731", "maxResults": 1, "minScore": "0.2"}',
    ],
)
def test_the_ways_in_which_models_write_arguments(noted: Any, arguments: object) -> None:
    found = tools_of(noted).call("memory_search", arguments)

    assert [hit["path"] for hit in found["results"]] == ["memory/2026-02-10.md"]


def test_an_unknown_tool_is_an_error_in_the_result(noted: Any) -> None:
    assert tools_of(noted).call("memory_delete", {}) == {
        "error": "there is no tool 'memory_delete'; there are memory_search, memory_get"
    }


@pytest.mark.parametrize("name", [[], {}, None, 7, ["memory_search"]])
def test_a_name_that_is_no_text_is_an_unknown_tool(noted: Any, name: Any) -> None:
    assert tools_of(noted).call(name, {"query": "x"}) == {
        "error": f"there is no tool {name!r}; there are memory_search, memory_get"
    }


def test_lists_in_lists_without_end_are_no_number(noted: Any) -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]

    found = tools_of(noted).call("memory_search", {"query": "x", "maxResults": deep})

    assert found == {"results": [], "error": "maxResults is of type list: it must be a number"}


def test_a_closed_memory_says_so(noted: Any) -> None:
    memory = noted.memory()
    memory.close()

    assert MemoryTools(memory).memory_search("printer")["error"] == "this MemorySearch is closed"
    with pytest.raises(ClosedError, match="this MemorySearch is closed"):
        memory.search("printer")


@given(
    st.text(max_size=20) | st.sampled_from(["memory_search", "memory_get"]),
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(max_size=20),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["query", "path", "from", "lines", "maxResults", "minScore", "x"]), inner, max_size=4
            )
        ),
        max_leaves=6,
    ),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=200)
def test_nothing_that_a_model_sends_raises(noted: Any, name: str, arguments: object) -> None:
    if not hasattr(noted, "tools"):
        noted.tools = tools_of(noted)

    assert isinstance(noted.tools.call(name, arguments), dict)


def test_without_an_index_the_result_says_what_to_do(lab: Any) -> None:
    lab.note("MEMORY.md", "text")

    found = tools_of(lab).memory_search("text")

    assert found["results"] == [] and found["disabled"] is True and found["unavailable"] is True
    assert "nothing is indexed yet" in found["error"] and "recallite index" in found["action"] and found["warning"]
    assert tools_of(lab).memory_get("MEMORY.md")["text"] == "text"


@pytest.mark.parametrize("damage", ["foreign", "damaged", "closed"])
def test_an_index_that_cannot_be_used_raises_nothing(noted: Any, damage: str) -> None:
    tools = tools_of(noted)
    if damage == "foreign":
        noted.settings.index_path.unlink()
        sqlite3.connect(noted.settings.index_path).execute("CREATE TABLE x(y)").connection.close()
    elif damage == "damaged":
        noted.settings.index_path.write_bytes(noted.settings.index_path.read_bytes()[:20_000])
    else:
        tools._memory.close()

    found = tools.memory_search("printer")

    assert found["results"] == [] and found["unavailable"] is True and found["error"]


@pytest.mark.parametrize(
    ("config", "memory_search"), [({"plugins": {"slots": {"memory": "none"}}}, {}), ({}, {"enabled": False})]
)
def test_switched_off_there_are_no_tools(noted: Any, config: dict[str, Any], memory_search: dict[str, Any]) -> None:
    noted.config, noted.memory_search = config, memory_search

    tools = tools_of(noted)

    assert not tools.enabled
    assert tools.schemas("openai") == [] == tools.schemas("gemini")
    assert tools.instructions() == ""
    assert "switched off" in tools.memory_search("printer")["error"]
    assert tools.memory_get("MEMORY.md")["text"] == "" and "switched off" in tools.memory_get("MEMORY.md")["error"]


def test_two_agents_with_the_same_text_see_only_their_own(tmp_path: Any) -> None:
    from recallite import load_settings
    from recallite.work import SCAN
    from recallite.work.sqlite import SqliteQueue, queue_path
    from recallite_worker.executor import EmbeddedExecutor

    entries = []
    for name in ("one", "two"):
        folder = tmp_path / name / "memory"
        folder.mkdir(parents=True)
        (folder / f"{name}.md").write_text("the same text about a zebra\n")
        entries.append({"id": name, "workspace": str(tmp_path / name)})
    file = tmp_path / "openclaw.json"
    file.write_text(json.dumps({"agents": {"list": entries}}))
    all_settings = load_settings(file, env={"OPENCLAW_STATE_DIR": str(tmp_path / "state")})
    agents = [all_settings.agent(name) for name in ("one", "two")]
    queue = SqliteQueue(queue_path(agents[0].state_dir))
    for agent in agents:
        queue.mark(agent.agent, [SCAN])
    EmbeddedExecutor(queue, embedders=lambda settings: (None, "none")).run(agents)
    queue.close()

    for agent, other in zip(agents, reversed(agents), strict=True):
        with MemorySearch(settings=agent) as memory:
            tools = MemoryTools(memory)
            found = tools.memory_search("the same text about a zebra", max_results=50)
            assert [hit["path"] for hit in found["results"]] == [f"memory/{agent.agent}.md"]
            assert tools.memory_get(f"memory/{other.agent}.md")["text"] == ""
            assert "outside" in tools.memory_get(str(other.workspace / f"memory/{other.agent}.md"))["error"]
            assert re.search("'..'", tools.memory_get(f"../{other.agent}/memory/{other.agent}.md")["error"])


def test_a_fallback_is_named_with_whom_it_stands_in_for(noted: Any) -> None:
    from recallite.types import Fallback, SearchReply

    reply = SearchReply((), "hybrid", provider="builtin", model="m", fallback=Fallback("openai", "quota"))

    assert tools_of(noted)._found(reply)["fallback"] == {"from": "openai", "reason": "quota"}
