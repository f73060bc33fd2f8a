"""What a backfill would take, before anything is sent."""

from __future__ import annotations

from dataclasses import dataclass

from recallite.config import AgentSettings
from recallite.embeddings.choice import choose_provider
from recallite.embeddings.protocol import Space
from recallite.embeddings.registry import create_embedder
from recallite.workspace import scan_memory
from recallite_worker.cache import EmbeddingCache
from recallite_worker.chunking import UNITS_PER_TOKEN, chunk_markdown, estimated_units
from recallite_worker.reading import read_note


@dataclass(frozen=True, slots=True)
class Estimate:
    """Counts over all notes of an agent. `tokens` is a fair guess, not a bound: four ASCII characters each."""

    files: int
    chunks: int
    texts: int
    """Different texts that have no vector yet."""
    tokens: int
    cached: int


def estimate(settings: AgentSettings) -> Estimate:
    """Read and chunk all notes, and ask the cache. Writes nothing into the index."""
    scan = scan_memory(settings.workspace, settings.extra_paths, settings.search.exclude)
    chunking = settings.search.chunking
    costs: dict[bytes, int] = {}
    chunks = 0
    for found in scan.files.values():
        read = read_note(found)
        if read is None or read.text is None:
            continue
        for chunk in chunk_markdown(read.text, tokens=chunking.tokens, overlap=chunking.overlap):
            chunks += 1
            costs.setdefault(chunk.hash, estimated_units(chunk.text))
    held = _held(settings, list(costs))
    missing = [cost for hash_, cost in costs.items() if hash_ not in held]
    return Estimate(len(scan.files), chunks, len(missing), sum(missing) // UNITS_PER_TOKEN, len(held))


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
