"""Reads openclaw.json and checks what of it is ours, all faults at once."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import ValidationError

from recallite.config.intake import Intake
from recallite.config.locate import Places
from recallite.config.parse import read_tree
from recallite.config.problems import line, path_of, repaired
from recallite.config.schema import FileConfig
from recallite.config.unbuilt import built_providers, refusals


def load_file(places: Places, env: Mapping[str, str]) -> tuple[FileConfig, list[str]]:
    """The content of the configuration file, and a line for each of its faults.

    What is faulty is left out of the content, so that the caller can find further faults in the rest; with
    any fault at all it must not be used. Raises ConfigError if there is nothing to check: the file cannot
    be read, or is not JSON5.
    """
    raw = read_tree(places.config_path, named_by=places.config_named_by)
    if not raw:
        return FileConfig.unset(), []
    intake = Intake(env, providers=built_providers())
    tree = intake.group(raw, FileConfig)
    config, problems = _validated(tree, raw, intake.faulty)
    return config, [*intake.problems, *problems, *_unbuilt(config)]


def _validated(tree: object, raw: object, reported: set[str]) -> tuple[FileConfig, list[str]]:
    try:
        return FileConfig.model_validate(tree), []
    except ValidationError as error:
        errors = error.errors(include_url=False, include_input=False)
    problems = [line(error, raw) for error in errors if path_of(error["loc"]) not in reported]
    return FileConfig.model_validate(repaired(tree, [error["loc"] for error in errors])), problems


def _unbuilt(config: FileConfig) -> list[str]:
    agents = config.agents
    lines = refusals(agents.defaults.memory_search, "memorySearch", place="agents.defaults")
    lines += refusals(agents.defaults.compaction, "compaction", place="agents.defaults")
    for index, entry in enumerate(agents.entries):
        lines += refusals(entry.memory_search, "memorySearch", place=f"agents.list[{index}]")
    return lines + refusals(config.memory, "memory", place="")
