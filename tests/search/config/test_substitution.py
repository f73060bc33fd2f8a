"""`${VARIABLES}` in the file."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from recallite.config import AgentSettings, Settings

Load = Callable[..., Settings]
LoadAgent = Callable[..., AgentSettings]
Problems = Callable[..., list[str]]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("${MODEL}", "big"),
        ("my-${MODEL}-${SIZE_2}", "my-big-9"),
        ("$${MODEL}", "${MODEL}"),
        ("$$${MODEL}", "$${MODEL}"),
        ("${lower}", "${lower}"),
        ("$MODEL", "$MODEL"),
        ("${UNCLOSED", "${UNCLOSED"),
    ],
)
def test_variables_are_replaced(load_agent: LoadAgent, written: str, meant: str) -> None:
    settings = load_agent({"model": written}, {"MODEL": "big", "SIZE_2": "9"})

    assert settings.search.model == meant


def test_what_is_put_in_is_not_read_again(load_agent: LoadAgent) -> None:
    assert load_agent({"model": "${A}"}, {"A": "${B}", "B": "x"}).search.model == "${B}"


def test_variables_are_replaced_in_lists_and_maps(load_agent: LoadAgent) -> None:
    settings = load_agent(
        {"extraPaths": ["${DIR}/x"], "remote": {"headers": {"X-Org": "${ORG}"}}}, {"DIR": "/srv", "ORG": "me"}
    )

    assert [str(path) for path in settings.extra_paths] == ["/srv/x"]
    assert settings.search.remote.headers["X-Org"].reveal() == "me"


def test_a_missing_variable_is_named_with_its_key(search_problems: Problems) -> None:
    found = search_problems({"remote": {"apiKey": "${MY_KEY}"}, "extraPaths": ["a", "${DIR}"]})

    assert found == [
        "remote.apiKey: the environment variable MY_KEY is not set",
        "extraPaths[1]: the environment variable DIR is not set",
    ]


def test_other_programs_variables_are_not_looked_at(load: Load) -> None:
    config = {
        "channels": {"token": "${ABSENT}"},
        "agents": {"defaults": {"model": "${ABSENT}"}, "list": [{"id": "a", "name": "${ABSENT}"}]},
        "models": {"providers": {"anthropic": {"apiKey": "${ABSENT}"}, "openai": {"models": ["${ABSENT}"]}}},
    }

    assert load(config).agent_ids == ("a",)


def test_an_error_shows_the_text_of_the_file_not_the_variable(search_problems: Problems) -> None:
    (line,) = search_problems({"provider": "${KEY}"}, {"KEY": "sk-123"})

    assert line.startswith('provider: "${KEY}" is not allowed')
    assert "sk-123" not in line


def test_half_a_unicode_pair_is_refused(problems: Problems) -> None:
    text = '{"agents": {"defaults": {"memorySearch": {"model": "\\ud83c"}}}}'

    assert "broken Unicode escape" in problems(text)[0]
