"""Rules between keys, and the limits that are applied instead of being refused."""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from msgspec.structs import replace

from recallite.config.groups import leaves
from recallite.config.schema_search import ChunkingConfig, HybridConfig, MemorySearchConfig
from recallite.workspace.ignore import IgnoreRules

MAX_CANDIDATE_MULTIPLIER = 20
_DEFAULT_WEIGHTS = (0.7, 0.3)
_GEMINI_VISION_MODEL = "gemini-embedding-2-preview"
_GEMINI_DIMENSIONS = (768, 1536, 3072)
_SIZED_PROVIDERS = (None, "openai", "gemini")


class OwnsFiles(Protocol):
    """What the check for shared files needs to know of an agent."""

    @property
    def agent(self) -> str: ...
    @property
    def index_path(self) -> Path: ...
    @property
    def cache_path(self) -> Path: ...
    @property
    def origins(self) -> Mapping[str, str]: ...


def limited_chunking(chunking: ChunkingConfig) -> ChunkingConfig:
    """`chunking` with an overlap that is smaller than a chunk."""
    return replace(chunking, overlap=min(chunking.overlap, chunking.tokens - 1))


def limited_hybrid(hybrid: HybridConfig) -> HybridConfig:
    """`hybrid` with at most 20 candidates per result, and the usual weights if both are 0."""
    weights = (hybrid.vector_weight, hybrid.text_weight)
    vector, text = weights if any(weights) else _DEFAULT_WEIGHTS
    multiplier = min(hybrid.candidate_multiplier, MAX_CANDIDATE_MULTIPLIER)
    return replace(hybrid, vector_weight=vector, text_weight=text, candidate_multiplier=multiplier)


def with_limits(origins: Mapping[str, str], asked: MemorySearchConfig, used: MemorySearchConfig) -> dict[str, str]:
    """The origins, which tell of each value of `used` that is not the one that was asked for."""
    found = dict(origins)
    for name in ("chunking", "query"):
        before, after = (dict(leaves(getattr(search, name), f"{name}.")) for search in (asked, used))
        found.update({key: f"{found[key]}, instead of {before[key]}" for key in before if before[key] != after[key]})
    return found


def contradictions(search: MemorySearchConfig, origins: Mapping[str, str]) -> list[str]:
    """A line for each key of a resolved `memorySearch` that cannot be together with another."""
    found: list[tuple[str, str]] = []
    if "sessions" in search.sources and not search.experimental.session_memory:
        found.append(("sources", '"sessions" needs experimental.sessionMemory set to true'))
    if search.multimodal.enabled:
        if search.provider != "gemini" or search.model != _GEMINI_VISION_MODEL:
            needed = f'provider "gemini" and model "{_GEMINI_VISION_MODEL}"'
            found.append(("multimodal.enabled", f"images and audio need {needed}"))
        if search.fallback != "none":
            found.append(("fallback", 'must be "none" with multimodal.enabled'))
    dimensions = search.output_dimensionality
    if dimensions is not None:
        if search.provider not in _SIZED_PROVIDERS:
            found.append(("outputDimensionality", f"{search.provider} has vectors of one length; remove the key"))
        elif search.model == _GEMINI_VISION_MODEL and dimensions not in _GEMINI_DIMENSIONS:
            allowed = ", ".join(map(str, _GEMINI_DIMENSIONS))
            found.append(("outputDimensionality", f"{dimensions} is not allowed: {search.model} has {allowed}"))
    never_aging = IgnoreRules(search.query.hybrid.temporal_decay.evergreen)
    found += [("query.hybrid.temporalDecay.evergreen", f"{line.fault}; correct it") for line in never_aging.refused]
    return [f"{_section(origins[key])}.memorySearch.{key}: {text}" for key, text in found]


def shared_files(agents: Sequence[OwnsFiles]) -> list[str]:
    """A line for each agent whose index or cache would be the same file as another's."""
    owners: dict[str, OwnsFiles] = {}
    lines = []
    for settings in agents:
        for path in (settings.index_path, settings.cache_path):
            owner = owners.setdefault(_same_file_key(path), settings)
            if owner is not settings:
                origins = [each.origins["memorySearch.store.path"] for each in (settings, owner)]
                place = next((origin for origin in origins if origin != "default"), "agents.defaults")
                lines.append(
                    f'{place}.memorySearch.store.path: agents "{owner.agent}" and "{settings.agent}" would '
                    f"share {path}; put {{agentId}} into the path"
                )
                break
    return lines


def _same_file_key(path: Path) -> str:
    real = os.path.realpath(path)  # unlike Path.resolve it has an answer for a loop of links
    # These file systems usually ignore case and Unicode normalisation.
    folds = sys.platform in ("win32", "darwin")
    return unicodedata.normalize("NFC", real).casefold() if folds else real


def _section(origin: str) -> str:
    return "agents.defaults" if origin == "default" else origin
