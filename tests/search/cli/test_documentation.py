"""The documented settings are those of the schema, with their defaults."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from recallite.config.groups import Group, keys_of
from recallite.config.schema import FileConfig
from recallite.config.unbuilt import UNBUILT, is_unbuilt

DOCS = Path(__file__).parents[3] / "docs"
if not (DOCS / "configuration.md").exists():
    pytest.skip("the tests run without the repository around them", allow_module_level=True)
TEXT = (DOCS / "configuration.md").read_text("utf-8")
ROWS = dict(re.findall(r"^\| `([^`]+)` \| (\S.*?) \| .+ \|$", TEXT, re.MULTILINE))
SEARCH = "agents.defaults.memorySearch."
SAME_AS_DEFAULTS = "agents.list[].memorySearch"
MARKS = {"one": ".", "many": "[].", "named": "{}."}


def built_keys(group: type[Group], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Each key that can be set, with its default as the document writes it."""
    for field, (name, key) in zip(msgspec.structs.fields(group), keys_of(group).items(), strict=True):
        path = prefix + name
        if is_unbuilt(path.removeprefix("agents.defaults.")) or path == SAME_AS_DEFAULTS:
            continue
        if key.holds == "value":
            yield path.removeprefix(SEARCH), written(field)
        else:
            yield from built_keys(key.group, path + MARKS[key.holds])


def written(field: msgspec.structs.FieldInfo) -> str:
    if field.required:
        return "required"
    value = field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()
    return "–" if value is None else f"`{json.dumps(value)}`"


@pytest.mark.parametrize(("key", "default"), list(built_keys(FileConfig)))
def test_every_key_is_documented_with_its_default(key: str, default: str) -> None:
    assert ROWS.get(key) == default


def test_no_other_key_is_documented() -> None:
    assert set(ROWS) == {key for key, _ in built_keys(FileConfig)}


@pytest.mark.parametrize("row", UNBUILT)
def test_what_is_not_built_is_said_to_be(row: str) -> None:
    name, _, value = row.removesuffix(".*").partition("=")

    assert name in TEXT or name.removeprefix("memorySearch.") in ROWS, value


@pytest.mark.parametrize("file", [*DOCS.glob("*.md"), *DOCS.parent.glob("*.md")], ids=lambda file: str(file.name))
def test_links_to_files_lead_somewhere(file: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", file.read_text("utf-8")):
        assert (file.parent / target).exists(), target
