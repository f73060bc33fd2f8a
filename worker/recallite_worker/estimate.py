"""What a backfill would take, before anything is sent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from recallite.config import AgentSettings
from recallite.embeddings.choice import choose_provider
from recallite.embeddings.protocol import Space
from recallite.embeddings.registry import create_embedder
from recallite.errors import MemoryPathError
from recallite.sources import scan_sources
from recallite.transcripts import TranscriptReader
from recallite.workspace import FoundFile
from recallite.workspace.paths import opened_beneath
from recallite_worker.cache import EmbeddingCache
from recallite_worker.chunking import UNITS_PER_TOKEN, ChunkText, chunk_markdown, estimated_units
from recallite_worker.dialogue import Place, cut
from recallite_worker.generations import ChunkSettings
from recallite_worker.reading import read_note


@dataclass(frozen=True, slots=True)
class Estimate:
    """Counts over all files of an agent. `tokens` is a fair guess, not a bound: four ASCII characters each."""

    files: int
    chunks: int
    texts: int
    """Different texts that have no vector yet."""
    tokens: int
    cached: int


def estimate(settings: AgentSettings) -> Estimate:
    """Read and chunk all files, and ask the cache. Writes nothing into the index."""
    scan = scan_sources(settings)
    chunking = ChunkSettings(settings.search.chunking.tokens, settings.search.chunking.overlap)
    costs: dict[bytes, int] = {}
    chunks = 0
    for found in scan.files.values():
        for chunk in _chunks(found, chunking):
            chunks += 1
            costs.setdefault(chunk.hash, estimated_units(chunk.text))
    held = _held(settings, list(costs))
    missing = [cost for hash_, cost in costs.items() if hash_ not in held]
    return Estimate(len(scan.files), chunks, len(missing), sum(missing) // UNITS_PER_TOKEN, len(held))


def _chunks(found: FoundFile, settings: ChunkSettings) -> Iterator[ChunkText]:
    if found.source == "sessions":
        with suppress(OSError, MemoryPathError), opened_beneath(found.root, found.parts) as (file, info):
            for piece in cut(TranscriptReader(file, end=info.st_size), settings, start=Place()):
                yield from piece.chunks
        return
    read = read_note(found)
    if read is not None and read.text is not None:
        yield from chunk_markdown(read.text, tokens=settings.tokens, overlap=settings.overlap)


def _held(settings: AgentSettings, hashes: list[bytes]) -> set[bytes]:
    choice = choose_provider(settings)
    if choice.options is None or not settings.search.cache.enabled or not settings.cache_path.exists():
        return set()
    own = create_embedder(choice.options).space
    cache = EmbeddingCache(settings.cache_path)
    try:
        dims = own.dims if own.dims is not None else cache.known_dims(own)
        return set(cache.find(Space(own.provider, own.model, dims, own.variant), hashes))
    finally:
        cache.close()
