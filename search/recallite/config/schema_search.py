"""The keys of `memorySearch`: what is indexed, how it is embedded, stored and searched."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from recallite.config.values import (
    ApiKey,
    ChunkTokens,
    Count,
    FilePathText,
    Flag,
    Fraction,
    Group,
    Headers,
    ModelPath,
    Paths,
    PathText,
    Positive,
    Seconds,
    Text,
    Texts,
    Url,
    not_empty,
)

Provider = Literal["openai", "builtin", "gemini", "voyage", "mistral", "ollama", "local"]
Fallback = Literal["none", "openai", "builtin", "gemini", "voyage", "mistral", "ollama", "local"]
Source = Literal["memory", "sessions"]
Modality = Literal["image", "audio", "all"]
Fusion = Literal["weighted", "rrf"]

FIRST_AUTOMATIC_PROVIDER: Provider = "openai"
"""The provider that `remote` is meant for where none is named: a key there decides the automatic choice."""


class MultimodalConfig(Group):
    """Images and audio under the extra paths."""

    enabled: Flag = Field(default=False, description="Index images and audio found under extraPaths.")
    modalities: Annotated[tuple[Modality, ...], AfterValidator(not_empty)] = Field(
        default=("all",), description="Which kinds of file are taken in."
    )
    max_file_bytes: Positive = Field(default=10_000_000, description="Larger files are left out.")


class ExperimentalConfig(Group):
    """Features that must be asked for by name."""

    session_memory: Flag = Field(default=False, description="Allow session transcripts as a source.")


class BatchConfig(Group):
    """Large backfills through a provider's batch service."""

    enabled: Flag = Field(default=False, description="Use batch jobs where the provider has them.")
    wait: Flag = Field(default=True, description="Wait for jobs; otherwise their results are taken in later.")
    concurrency: Positive = Field(default=2, description="Jobs under way at once for one provider key.")
    poll_interval_ms: Count = Field(default=2_000, description="Shortest pause between two looks at a job.")
    timeout_minutes: Positive = Field(default=60, description="How long a job may take.")


class RemoteConfig(Group):
    """The embedding service of the configured provider; never used for the fallback provider."""

    base_url: Url | None = Field(default=None, description="Address of a compatible server.")
    api_key: ApiKey | None = Field(default=None, description="Key for the provider; better given as ${VARIABLE}.")
    headers: Headers = Field(
        default_factory=dict, description="Headers added to each request; an agent's replace the defaults'."
    )
    same_model: Flag = Field(
        default=False, description="The server at a new address has the same model, so its vectors are kept."
    )
    daily_token_limit: Positive | None = Field(default=None, description="Tokens that may be spent in a day.")
    timeout_seconds: Seconds = Field(default=60.0, description="Time-out of one request.")
    max_items_per_request: Positive | None = Field(default=None, description="Texts that the server takes at once.")
    batch: BatchConfig = BatchConfig.unset()


class LocalConfig(Group):
    """A model file run in this process."""

    model_path: ModelPath | None = Field(default=None, description="GGUF file, or its hf: or http address.")
    model_cache_dir: PathText | None = Field(default=None, description="Where downloaded models are kept.")


class VectorStoreConfig(Group):
    """Vector search inside SQLite."""

    enabled: Flag = Field(default=True, description="Use the sqlite-vec extension; otherwise vectors are scanned.")
    extension_path: PathText | None = Field(default=None, description="Another build of the extension.")


class StoreConfig(Group):
    """Where an index is kept."""

    driver: Literal["sqlite"] = Field(default="sqlite", description="Kind of index; there is one.")
    path: FilePathText | None = Field(default=None, description="Index file; {agentId} stands for the agent.")
    vector: VectorStoreConfig = VectorStoreConfig.unset()


class ChunkingConfig(Group):
    """How files are cut."""

    tokens: ChunkTokens = Field(default=400, description="Most tokens of a chunk, overlap included.")
    overlap: Count = Field(default=80, description="Tokens shared with the chunk before; less than `tokens`.")


class SessionSyncConfig(Group):
    """When a growing transcript is indexed."""

    delta_bytes: Count = Field(default=100_000, description="New bytes that start an update.")
    delta_messages: Count = Field(default=50, description="New messages that start an update.")
    post_compaction_force: Flag = Field(default=True, description="Read a transcript anew after its compaction.")
    idle_minutes: Count = Field(default=10, description="A session quiet for so long is indexed as it is.")


class SyncConfig(Group):
    """When the index follows the files."""

    on_session_start: Flag = Field(default=True, description="Look for changes when a session begins.")
    on_search: Flag = Field(default=True, description="Look for changes, in the background, on a search.")
    watch: Flag = Field(default=True, description="Watch the files.")
    watch_debounce_ms: Count = Field(default=1_500, description="Quiet time after the last change of a file.")
    interval_minutes: Count = Field(default=0, description="Look for changes this often; 0 is never.")
    sessions: SessionSyncConfig = SessionSyncConfig.unset()


class MmrConfig(Group):
    """Diversity of results: near repetitions give way (maximal marginal relevance)."""

    enabled: Flag = Field(default=False, description="Prefer results that differ from those before them.")
    lambda_: Fraction = Field(default=0.7, alias="lambda", description="1 is relevance only, 0 diversity only.")


class TemporalDecayConfig(Group):
    """Older dated notes score less."""

    enabled: Flag = Field(default=False, description="Lower the score of dated notes with age.")
    half_life_days: Positive = Field(default=30, description="Days after which a score is halved.")


class HybridConfig(Group):
    """Vector and keyword search together."""

    enabled: Flag = Field(default=True, description="Join both; otherwise vectors alone where there are any.")
    vector_weight: Fraction = Field(default=0.7, description="Share of the vector score, relative to textWeight.")
    text_weight: Fraction = Field(default=0.3, description="Share of the keyword score, relative to vectorWeight.")
    candidate_multiplier: Positive = Field(default=4, description="Candidates per result asked for; 20 at most.")
    fusion: Fusion = Field(default="weighted", description="Join by weighted scores, or by reciprocal ranks.")
    mmr: MmrConfig = MmrConfig.unset()
    temporal_decay: TemporalDecayConfig = TemporalDecayConfig.unset()


class QueryConfig(Group):
    """What a search returns."""

    max_results: Positive = Field(default=6, description="Results of a search that does not say how many.")
    min_score: Fraction = Field(default=0.35, description="Lowest score of a result.")
    hybrid: HybridConfig = HybridConfig.unset()


class CacheConfig(Group):
    """Vectors kept by text, so that none is paid for twice."""

    enabled: Flag = Field(default=True, description="Keep vectors beyond the life of a chunk.")
    max_entries: Positive = Field(default=50_000, description="Vectors kept; those unused longest go first.")


class MemorySearchConfig(Group):
    """All settings of an agent's memory search."""

    enabled: Flag = Field(default=True, description="Whether the agent has a searchable memory.")
    sources: Annotated[tuple[Source, ...], AfterValidator(not_empty)] = Field(
        default=("memory",), description="What is searched; an agent's list replaces the defaults'."
    )
    extra_paths: Paths = Field(
        default=(), description="More files and folders, added to the defaults'; relative to the workspace."
    )
    exclude: Texts = Field(default=(), description="Globs of files below extraPaths to leave out, added up likewise.")
    multimodal: MultimodalConfig = MultimodalConfig.unset()
    experimental: ExperimentalConfig = ExperimentalConfig.unset()
    provider: Provider | None = Field(default=None, description="Who embeds; without it the first usable one does.")
    remote: RemoteConfig = RemoteConfig.unset()
    fallback: Fallback = Field(default="none", description="Who embeds while the provider fails.")
    model: Text | None = Field(default=None, description="Embedding model; without it the provider's usual one.")
    output_dimensionality: Positive | None = Field(default=None, description="Length of the vectors to ask for.")
    local: LocalConfig = LocalConfig.unset()
    store: StoreConfig = StoreConfig.unset()
    chunking: ChunkingConfig = ChunkingConfig.unset()
    sync: SyncConfig = SyncConfig.unset()
    query: QueryConfig = QueryConfig.unset()
    cache: CacheConfig = CacheConfig.unset()
