"""Where an agent's workspace, index, cache and extra paths are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from recallite.config import AgentSettings, Settings, load_settings

Load = Callable[..., Settings]
LoadAgent = Callable[..., AgentSettings]
Problems = Callable[..., list[str]]


def two_agents(defaults: object, own: object) -> dict[str, object]:
    """A file with agent "a" as the defaults are, and "b" with its own `memorySearch`."""
    return {
        "agents": {
            "defaults": {"memorySearch": defaults},
            "list": [{"id": "a"}, {"id": "b", "memorySearch": own}],
        }
    }


def test_workspaces_are_the_agents_own_else_the_defaults(load: Load, home: Path) -> None:
    settings = load(
        {
            "agents": {
                "defaults": {"workspace": "~/shared"},
                "list": [{"id": "a", "workspace": "/own"}, {"id": "b"}],
            }
        }
    )

    assert settings.agent("a").workspace == Path("/own")
    assert settings.agent("b").workspace == home / "shared"


def test_without_a_workspace_each_agent_has_one_of_its_own(load: Load, home: Path) -> None:
    settings = load({"agents": {"list": [{"id": "a"}, {"id": "B"}]}})

    assert settings.agent("a").workspace == home / ".openclaw" / "workspace"
    assert settings.agent("B").workspace == home / ".openclaw" / "workspace-=42"


def test_files_are_in_the_state_directory(home: Path, tmp_path: Path) -> None:
    settings = load_settings(env={"OPENCLAW_STATE_DIR": str(tmp_path)}, home=home).agent(None)

    assert settings.index_path == tmp_path / "memory" / "main.sqlite"
    assert settings.cache_path == tmp_path / "memory" / "main.cache.sqlite"
    assert settings.sessions_dir == tmp_path / "agents" / "main" / "sessions"


@pytest.mark.parametrize(
    ("path", "index", "cache"),
    [
        ("/i/{agentId}/{agentId}.sqlite", "/i/main/main.sqlite", "/i/main/main.cache.sqlite"),
        ("/i/index.db", "/i/index.db", "/i/index.db.cache.sqlite"),
        ("~/{agentId}", "{home}/main", "{home}/main.cache.sqlite"),
        ("i/../x.sqlite", "{home}/.openclaw/x.sqlite", "{home}/.openclaw/x.cache.sqlite"),
    ],
)
def test_the_index_can_be_elsewhere(load_agent: LoadAgent, home: Path, path: str, index: str, cache: str) -> None:
    settings = load_agent({"store": {"path": path}})

    assert str(settings.index_path) == settings.search.store.path == index.replace("{home}", str(home))
    assert str(settings.cache_path) == cache.replace("{home}", str(home))


def test_agents_must_not_share_an_index(problems: Problems) -> None:
    assert problems(two_agents({"store": {"path": "/i/x.sqlite"}}, {})) == [
        'agents.defaults.memorySearch.store.path: agents "a" and "b" would share /i/x.sqlite; '
        "put {agentId} into the path"
    ]


def test_one_agents_index_must_not_be_anothers_cache(problems: Problems) -> None:
    config = two_agents({"store": {"path": "/i/{agentId}.sqlite"}}, {"store": {"path": "/i/a.cache.sqlite"}})

    assert problems(config)[0].startswith("agents.list[1].memorySearch.store.path")


def test_an_index_reached_through_a_link_is_noticed_as_shared(problems: Problems, home: Path) -> None:
    (home / "link").symlink_to(home)
    config = two_agents({"store": {"path": "~/x.sqlite"}}, {"store": {"path": "~/link/x.sqlite"}})

    assert "would share" in problems(config)[0]


def test_extra_paths_start_at_the_workspace(load: Load, home: Path) -> None:
    extra = ["notes", "../team", "/srv/a.md", "~/b", "/srv/../srv/a.md"]
    defaults = {"workspace": "/w/main", "memorySearch": {"extraPaths": extra}}

    paths = load({"agents": {"defaults": defaults}}).agent(None).extra_paths

    assert paths == (Path("/w/main/notes"), Path("/w/team"), Path("/srv/a.md"), home / "b")


def test_the_extension_path_is_made_absolute(load_agent: LoadAgent, home: Path) -> None:
    settings = load_agent({"store": {"vector": {"extensionPath": "~/vec0"}}})

    assert settings.search.store.vector.extension_path == str(home / "vec0")


@pytest.mark.parametrize("path", ["/", "~", "~/index/", "..", "a/."])
def test_the_path_of_the_index_must_name_a_file(search_problems: Problems, path: str) -> None:
    assert search_problems({"store": {"path": path}})[0].endswith("must name a file, not a folder")


def test_a_loop_of_links_is_no_reason_to_fail(load: Load, home: Path) -> None:
    (home / "loop").symlink_to(home / "loop")

    assert load(two_agents({"store": {"path": "~/loop/{agentId}.sqlite"}}, {})).agent_ids == ("a", "b")
