"""Settings: openclaw.json found, checked and resolved for each agent; keys and file names of agents."""

from recallite.config.keys import (
    KEY_VARIABLES,
    ResolvedKey,
    provider_base_url,
    provider_headers,
    provider_key,
    remote_provider,
)
from recallite.config.names import file_name
from recallite.config.resolve import AgentSettings, Settings, load_settings
from recallite.config.schema import ProviderConfig
from recallite.config.schema_memory import CompactionConfig, MemoryConfig
from recallite.config.schema_search import (
    CacheConfig,
    ChunkingConfig,
    HybridConfig,
    MemorySearchConfig,
    QueryConfig,
    RemoteConfig,
    StoreConfig,
    SyncConfig,
)

__all__ = [
    "KEY_VARIABLES",
    "AgentSettings",
    "CacheConfig",
    "ChunkingConfig",
    "CompactionConfig",
    "HybridConfig",
    "MemoryConfig",
    "MemorySearchConfig",
    "ProviderConfig",
    "QueryConfig",
    "RemoteConfig",
    "ResolvedKey",
    "Settings",
    "StoreConfig",
    "SyncConfig",
    "file_name",
    "load_settings",
    "provider_base_url",
    "provider_headers",
    "provider_key",
    "remote_provider",
]
