"""What works and what does not, tried out: versions, files, index, and one text through each provider in use."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import apsw

from recallite.client import MemorySearch
from recallite.config import AgentSettings
from recallite.embeddings.choice import ProviderChoice, choose_fallback, choose_provider
from recallite.embeddings.protocol import EmbeddingFailure
from recallite.embeddings.registry import address_of, create_embedder
from recallite.embeddings.retry import embed_all
from recallite.errors import RecalliteError
from recallite.index.extension import extension_of
from recallite.index.rows import fetch
from recallite.types import Health, IndexStatus
from recallite.wording import counted

Outcome = Literal["ok", "warning", "failed"]
PROBE = "recallite doctor"
"""The text that is embedded; a few tokens."""
_MOST_NAMED = 20
_OUTCOMES: dict[Health, Outcome] = {
    "ok": "ok",
    "stale": "warning",
    "degraded": "warning",
    "empty": "warning",
    "failed": "failed",
}


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was tried: what came out, and the remedy where it is not ok."""

    name: str
    outcome: Outcome
    text: str


def diagnose(settings: AgentSettings) -> Iterator[Check]:
    """The checks of one agent, each when it is done. Writes nothing; asks each provider in use for one vector."""
    yield _versions()
    yield _extension(settings)
    if not settings.search.enabled:
        yield Check("memory", "warning", f"switched off for agent {settings.agent} (memorySearch.enabled)")
        return
    yield _state_dir(settings)
    with MemorySearch(settings=settings) as memory:
        status = memory.status()
    yield from _index(status)
    yield _provider("provider", choose_provider(settings), status)
    fallback = choose_fallback(settings)
    if fallback is not None:
        yield _provider("fallback", fallback, status)


def _versions() -> Check:
    from recallite import __version__

    connection = apsw.Connection(":memory:")
    options = {row[0] for row in fetch(connection, "PRAGMA compile_options")}
    connection.close()
    text = f"recallite {__version__}, Python {platform.python_version()}, SQLite {apsw.sqlite_lib_version()}"
    if "ENABLE_FTS5" not in options:
        return Check("versions", "failed", f"{text} without FTS5: pip install --force-reinstall apsw")
    return Check("versions", "ok", text)


def _extension(settings: AgentSettings) -> Check:
    connection = apsw.Connection(":memory:")
    try:
        reason = extension_of(settings).load(connection)
        if reason is not None:
            remedy = "vectors go to a plain table, which searches read half as fast"
            return Check("sqlite-vec", "warning", f"{reason}; {remedy}")
        return Check("sqlite-vec", "ok", str(fetch(connection, "SELECT vec_version()")[0][0]))
    finally:
        connection.close()


def _state_dir(settings: AgentSettings) -> Check:
    folder = settings.index_path.parent
    existing = next(place for place in (folder, *folder.parents) if place.exists())
    if os.access(existing, os.W_OK | os.X_OK):
        return Check("state", "ok", f"{folder} can be written")
    if os.access(existing, os.R_OK | os.X_OK):
        return Check("state", "warning", f"{existing} cannot be written by this user: it can search here, not index")
    return Check("state", "failed", f"{existing} cannot be entered by this user: give it the rights to the folder")


def _index(status: IndexStatus) -> Iterator[Check]:
    files = f"{counted(status.files_indexed, 'file')} indexed, {status.files_on_disk} on disk"
    counts = f"{files}, {counted(status.vectors.indexed, 'vector')}"
    outcome = _OUTCOMES[status.health]
    yield Check("index", "ok" if status.problems and outcome != "failed" else outcome, f"{counts}, {status.index_path}")
    for problem in status.problems:
        yield Check("index", outcome, problem)
    for failure in status.failures[:_MOST_NAMED]:
        yield Check("file", "warning", f"{failure.path}: {failure.reason}")
    for skipped in status.skipped[:_MOST_NAMED]:
        yield Check("file", "ok", f"{skipped.path} is left out: {skipped.reason}")
    if max(len(status.failures), len(status.skipped)) > _MOST_NAMED:
        yield Check("file", "ok", "there are more such files: `recallite status --verbose` lists all")


def _provider(name: str, choice: ProviderChoice, status: IndexStatus) -> Check:
    """One question through the client that indexing and searching use, without a second try."""
    if choice.options is None:
        outcome: Outcome = "warning" if choice.requested == "auto" else "failed"
        return Check(name, outcome, f"{choice.requested}: {choice.reason}; search is by keyword")
    title = choice.options.provider
    try:
        address = address_of(choice.options)
        title += f" at {address}" if address is not None else ""
        embedder = create_embedder(choice.options)
        title = f"{title}, model {embedder.space.model}"
        began = time.monotonic()
        try:
            (vector,) = embed_all(embedder, [PROBE], kind="query", attempts=1)
        finally:
            embedder.close()
    except RecalliteError as error:
        return Check(name, "failed", f"{title}: {error}")
    if isinstance(vector, EmbeddingFailure):
        return Check(name, "failed", f"{title}: {vector.reason}")
    took = f"{len(vector)} dimensions in {time.monotonic() - began:.2f} s"
    same = (status.provider, status.model) == (embedder.provider, embedder.space.model)
    of_index = status.vectors.dims if same else None
    if of_index not in (None, len(vector)):
        remedy = "does another model answer there now? name it in `model` and run `recallite index`"
        return Check(name, "failed", f"{title}: {took}, but the index has {of_index}: {remedy}")
    return Check(name, "ok", f"{title}: {took}")
