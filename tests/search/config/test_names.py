"""Agent ids and file names."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from recallite.config.names import file_name, id_problem
from recallite.errors import UnknownAgentError

ids = st.text(min_size=1, max_size=256).filter(lambda text: id_problem(text) is None)


@pytest.mark.parametrize("agent_id", ["main", "a", "work-2", "under_score", "0", "-x", "a" * 64])
def test_plain_ids_are_their_own_names(agent_id: str) -> None:
    assert file_name(agent_id) == agent_id


@given(one=ids, other=ids)
@example("A", "a")
@example("a/b", "a=2fb")
@example("con", "=63on")
@example("e\u0301", "\u00e9")
@example("\u017f", "s")
@example("a" * 65, "a" * 66)
@example("..", ".")
def test_two_ids_never_share_a_name(one: str, other: str) -> None:
    assert (file_name(one) == file_name(other)) == (one == other)


@given(one=ids, other=ids)
def test_names_differ_where_case_and_normalisation_do_not_matter(one: str, other: str) -> None:
    def folded(agent_id: str) -> str:
        return unicodedata.normalize("NFKC", file_name(agent_id)).casefold()

    assert (folded(one) == folded(other)) == (one == other)


@given(agent_id=ids)
@example("..")
@example("../../etc/passwd")
@example("C:\\x")
@example("\U0001f99c" * 256)
def test_names_are_safe_on_every_file_system(agent_id: str) -> None:
    name = file_name(agent_id)

    assert re.fullmatch(r"[a-z0-9_=-]{1,112}", name)


@pytest.mark.parametrize("agent_id", ["con", "prn", "aux", "nul", "com1", "com0", "lpt9"])
def test_names_of_windows_devices_are_escaped(agent_id: str) -> None:
    assert file_name(agent_id) != agent_id


def test_long_ids_keep_a_readable_beginning() -> None:
    assert file_name("x" * 200).startswith("x" * 40)


@pytest.mark.parametrize("agent_id", ["", "  ", "a\0b", "a\nb", "\x7f", "\x85", "a\u2028b", "\ud83c", "x" * 257])
def test_what_cannot_be_an_id_is_refused(agent_id: str) -> None:
    with pytest.raises(UnknownAgentError):
        file_name(agent_id)
