"""The settings of one provider, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

DEFAULT_TIMEOUT_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class ProviderOptions:
    """Everything `registry.create_embedder` needs. `repr` shows no key, header or address.

    An address is left out of `repr` because it may carry a password.
    """

    provider: str
    """An id known to the registry."""
    model: str | None = None
    """None: the provider's default model."""
    api_key: str | None = field(default=None, repr=False)
    base_url: str | None = field(default=None, repr=False)
    """None: the provider's own address."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Sent over the provider's own headers; names are compared without case."""
    dimensions: int | None = None
    """Length of the vectors to ask for, where the model offers a choice."""
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS
    """Every call ends within this time in total, however slowly the reply comes."""
    max_items: int | None = None
    """Texts per request, where the server takes fewer than the provider allows."""
    model_path: str | None = None
    """GGUF file of the provider local, or its `hf:` or http address."""
    model_cache_dir: Path | None = None
    """Where downloaded models are kept; needed for an address."""
    threads: int = 1
    """Threads of a model that runs in this process."""
