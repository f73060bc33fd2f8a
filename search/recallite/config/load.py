"""Reads openclaw.json and checks what of it is ours, all faults at once."""

from __future__ import annotations

from collections.abc import Mapping, Set

import msgspec

from recallite.config.build import Builder
from recallite.config.intake import Intake
from recallite.config.locate import Places
from recallite.config.parse import Table, read_tree
from recallite.config.problems import line, path_of
from recallite.config.schema import FileConfig
from recallite.config.unbuilt import built_providers, refusals
from recallite.errors import ConfigError


class LoadedFile(msgspec.Struct, frozen=True, kw_only=True):
    """The content of the configuration file, as far as it is ours."""

    content: FileConfig = FileConfig()
    given: Set[str] = frozenset()
    """The path of each key that the file gives, such as `agents.list[2].memorySearch.model`."""
    problems: tuple[str, ...] = ()
    """A line for each fault. What is faulty is left out of `content`, so that further faults can be found in
    the rest; with any fault at all it must not be used."""


def load_file(places: Places, env: Mapping[str, str]) -> LoadedFile:
    """Read and check the configuration file.

    Raises ConfigError if there is nothing to check: the file cannot be read, or is not JSON5.
    """
    raw = read_tree(places.config_path, named_by=places.config_named_by)
    if not raw:
        return LoadedFile()
    try:
        return _checked(raw, env)
    except RecursionError:
        raise ConfigError(places.config_path, ["the file is nested too deeply"]) from None


def _checked(raw: Table, env: Mapping[str, str]) -> LoadedFile:
    intake = Intake(env, providers=built_providers())
    builder = Builder()
    content = builder.group(intake.group(raw, FileConfig), FileConfig)
    wrong = [line(location, fault, raw) for location, fault in builder.faults if path_of(location) not in intake.faulty]
    problems = (*intake.problems, *wrong, *_unbuilt(content, builder.given))
    return LoadedFile(content=content, given=frozenset(builder.given), problems=problems)


def _unbuilt(content: FileConfig, given: Set[str]) -> list[str]:
    agents = content.agents
    lines = refusals(agents.defaults.memory_search, "memorySearch", place="agents.defaults", given=given)
    lines += refusals(agents.defaults.compaction, "compaction", place="agents.defaults", given=given)
    for index, entry in enumerate(agents.entries):
        lines += refusals(entry.memory_search, "memorySearch", place=f"agents.list[{index}]", given=given)
    return lines + refusals(content.memory, "memory", place="", given=given)
