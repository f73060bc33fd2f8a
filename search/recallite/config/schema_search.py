"""The keys of `memorySearch`: what is indexed, how it is embedded, stored and searched."""

from __future__ import annotations

from typing import Annotated, Literal, get_args

import msgspec

from recallite.config.access import ApiKey, Headers, Url
from recallite.config.groups import Group
from recallite.config.values import (
    ChunkTokens,
    Count,
    FilePathText,
    Flag,
    Fraction,
    ModelPath,
    Paths,
    PathText,
    Positive,
    Price,
    Seconds,
    Text,
    Texts,
    choice,
    list_of,
)

Provider = Literal["openai", "builtin", "gemini", "voyage", "mistral", "ollama", "local"]
Fallback = Literal["none", "openai", "builtin", "gemini", "voyage", "mistral", "ollama", "local"]
Source = Literal["memory", "sessions"]
Modality = Literal["image", "audio", "all"]
Fusion = Literal["weighted", "rrf"]
Sources = Annotated[tuple[Source, ...], list_of(choice(*get_args(Source)), may_be_empty=False)]
Modalities = Annotated[tuple[Modality, ...], list_of(choice(*get_args(Modality)), may_be_empty=False)]

FIRST_AUTOMATIC_PROVIDER: Provider = "openai"
"""The provider that `remote` is meant for where none is named: a key there decides the automatic choice."""


class MultimodalConfig(Group, frozen=True, kw_only=True):
    """Images and audio under the extra paths."""

    enabled: Annotated[Flag, "Index images and audio found under extraPaths."] = False
    modalities: Annotated[Modalities, "Which kinds of file are taken in."] = ("all",)
    max_file_bytes: Annotated[Positive, "Larger files are left out."] = 10_000_000


class ExperimentalConfig(Group, frozen=True, kw_only=True):
    """Features that must be asked for by name."""

    session_memory: Annotated[Flag, "Allow session transcripts as a source."] = False


class BatchConfig(Group, frozen=True, kw_only=True):
    """Large backfills through a provider's batch service."""

    enabled: Annotated[Flag, "Use batch jobs where the provider has them."] = False
    wait: Annotated[Flag, "`recallite index` waits for jobs; otherwise results are taken in later."] = True
    concurrency: Annotated[Positive, "Jobs under way at once for one provider key."] = 2
    poll_interval_ms: Annotated[Count, "Shortest pause between two looks at a job."] = 2_000
    timeout_minutes: Annotated[Positive, "How long `recallite index` waits for jobs."] = 60


class RemoteConfig(Group, frozen=True, kw_only=True):
    """The embedding service of the configured provider; never used for the fallback provider."""

    base_url: Annotated[Url | None, "Address of a compatible server."] = None
    api_key: Annotated[ApiKey | None, "Key for the provider; better given as ${VARIABLE}."] = None
    headers: Annotated[Headers, "Headers added to each request; an agent's replace the defaults'."] = msgspec.field(
        default_factory=dict
    )
    same_model: Annotated[Flag, "The server at a new address has the same model, so its vectors are kept."] = False
    price_per_million_tokens: Annotated[Price | None, "What the provider asks, for estimates; in any currency."] = None
    daily_token_limit: Annotated[Positive | None, "Tokens that may be spent in a day."] = None
    timeout_seconds: Annotated[Seconds, "Time-out of one request."] = 60.0
    max_items_per_request: Annotated[Positive | None, "Texts that the server takes at once."] = None
    batch: BatchConfig = BatchConfig()


class LocalConfig(Group, frozen=True, kw_only=True):
    """A model file run in this process."""

    model_path: Annotated[ModelPath | None, "GGUF file, or its hf: or http address."] = None
    model_cache_dir: Annotated[PathText | None, "Where downloaded models are kept."] = None


class VectorStoreConfig(Group, frozen=True, kw_only=True):
    """Vector search inside SQLite."""

    enabled: Annotated[Flag, "Use the sqlite-vec extension; otherwise vectors are scanned."] = True
    extension_path: Annotated[PathText | None, "Another build of the extension."] = None


class StoreConfig(Group, frozen=True, kw_only=True):
    """Where an index is kept."""

    driver: Annotated[Literal["sqlite"], "Kind of index; there is one."] = "sqlite"
    path: Annotated[FilePathText | None, "Index file; {agentId} stands for the agent."] = None
    vector: VectorStoreConfig = VectorStoreConfig()


class ChunkingConfig(Group, frozen=True, kw_only=True):
    """How files are cut."""

    tokens: Annotated[ChunkTokens, "Most tokens of a chunk, overlap included."] = 400
    overlap: Annotated[Count, "Tokens shared with the chunk before; less than `tokens`."] = 80


class SessionSyncConfig(Group, frozen=True, kw_only=True):
    """When a growing transcript is indexed."""

    delta_bytes: Annotated[Count, "New bytes that start an update."] = 100_000
    delta_messages: Annotated[Count, "New messages that start an update."] = 50
    post_compaction_force: Annotated[Flag, "Read a transcript anew after its compaction."] = True
    idle_minutes: Annotated[Count, "A session quiet for so long is indexed as it is."] = 10


class SyncConfig(Group, frozen=True, kw_only=True):
    """When the index follows the files."""

    on_session_start: Annotated[Flag, "Look for changes when a session begins."] = True
    on_search: Annotated[Flag, "Look for changes, in the background, on a search."] = True
    watch: Annotated[Flag, "Watch the files."] = True
    watch_debounce_ms: Annotated[Count, "Quiet time after the last change of a file."] = 1_500
    interval_minutes: Annotated[Count, "Look for changes this often; 0 is never."] = 0
    sessions: SessionSyncConfig = SessionSyncConfig()


class MmrConfig(Group, frozen=True, kw_only=True):
    """Diversity of results: near repetitions give way (maximal marginal relevance)."""

    enabled: Annotated[Flag, "Prefer results that differ from those before them."] = False
    lambda_: Annotated[Fraction, "1 is relevance only, 0 diversity only."] = msgspec.field(default=0.7, name="lambda")


class TemporalDecayConfig(Group, frozen=True, kw_only=True):
    """Older dated notes score less."""

    enabled: Annotated[Flag, "Lower the score of dated notes with age."] = False
    half_life_days: Annotated[Positive, "Days after which a score is halved."] = 30
    evergreen: Annotated[Texts, "Patterns, as in a .gitignore, of paths that never age, such as runbooks."] = ()


class HybridConfig(Group, frozen=True, kw_only=True):
    """Vector and keyword search together."""

    enabled: Annotated[Flag, "Join both; otherwise vectors alone where there are any."] = True
    vector_weight: Annotated[Fraction, "Share of the vector score, relative to textWeight."] = 0.7
    text_weight: Annotated[Fraction, "Share of the keyword score, relative to vectorWeight."] = 0.3
    candidate_multiplier: Annotated[Positive, "Candidates per result asked for; 20 at most."] = 4
    fusion: Annotated[Fusion, "Join by weighted scores, or by reciprocal ranks."] = "weighted"
    mmr: MmrConfig = MmrConfig()
    temporal_decay: TemporalDecayConfig = TemporalDecayConfig()


class QueryConfig(Group, frozen=True, kw_only=True):
    """What a search returns."""

    max_results: Annotated[Positive, "Results of a search that does not say how many."] = 6
    min_score: Annotated[Fraction, "Lowest score of a result."] = 0.35
    hybrid: HybridConfig = HybridConfig()


class CacheConfig(Group, frozen=True, kw_only=True):
    """Vectors kept by text, so that none is paid for twice."""

    enabled: Annotated[Flag, "Keep vectors beyond the life of a chunk."] = True
    max_entries: Annotated[Positive, "Vectors kept; those unused longest go first."] = 50_000


class MemorySearchConfig(Group, frozen=True, kw_only=True):
    """All settings of an agent's memory search."""

    enabled: Annotated[Flag, "Whether the agent has a searchable memory."] = True
    sources: Annotated[Sources, "What is searched; an agent's list replaces the defaults'."] = ("memory",)
    extra_paths: Annotated[Paths, "More files and folders, added to the defaults'; relative to the workspace."] = ()
    exclude: Annotated[Texts, "Globs of files below extraPaths to leave out, added up likewise."] = ()
    multimodal: MultimodalConfig = MultimodalConfig()
    experimental: ExperimentalConfig = ExperimentalConfig()
    provider: Annotated[Provider | None, "Who embeds; without it the first usable one does."] = None
    remote: RemoteConfig = RemoteConfig()
    fallback: Annotated[Fallback, "Who embeds while the provider fails."] = "none"
    model: Annotated[Text | None, "Embedding model; without it the provider's usual one."] = None
    output_dimensionality: Annotated[Positive | None, "Length of the vectors to ask for."] = None
    local: LocalConfig = LocalConfig()
    store: StoreConfig = StoreConfig()
    chunking: ChunkingConfig = ChunkingConfig()
    sync: SyncConfig = SyncConfig()
    query: QueryConfig = QueryConfig()
    cache: CacheConfig = CacheConfig()
