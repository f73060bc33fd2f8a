"""How the command is found, and what reaches argparse."""

from __future__ import annotations

import pytest

from recallite.cli.main import command_in, joined_queries


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        ([], None),
        (["index", "--agent", "search"], "index"),
        (["--config", "search", "index"], "index"),
        (["--conf", "search", "index"], "index"),
        (["--config=search", "status"], "status"),
        (["--help", "search"], None),
        (["--version"], None),
        (["--", "search"], "search"),
        (["--config"], None),
    ],
)
def test_the_command_is_the_first_argument_that_is_no_option(arguments: list[str], command: str | None) -> None:
    assert command_in(arguments) == command


@pytest.mark.parametrize(
    ("arguments", "joined"),
    [
        (["search", "--query", "-x"], ["search", "--query=-x"]),
        (["search", "--query", "-x", "--json"], ["search", "--query=-x", "--json"]),
        (["search", "--query=-x"], ["search", "--query=-x"]),
        (["search", "--query"], ["search", "--query"]),
        (["search", "--", "--query", "x"], ["search", "--", "--query", "x"]),
        (["other", "--query", "x"], ["other", "--query", "x"]),
    ],
)
def test_a_query_is_one_argument(arguments: list[str], joined: list[str]) -> None:
    assert joined_queries(arguments) == joined
