"""Provider id → module. A module, and what it needs, is imported when its provider is used."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Protocol, cast

from recallite.embeddings.batches import BatchApi
from recallite.embeddings.endpoint import endpoint_for
from recallite.embeddings.options import ProviderOptions
from recallite.embeddings.protocol import Embedder
from recallite.errors import ProviderUnavailableError

PROVIDERS = {
    "builtin": "recallite.embeddings.builtin",
    "openai": "recallite.embeddings.openai",
    "gemini": "recallite.embeddings.gemini",
    "voyage": "recallite.embeddings.voyage",
    "mistral": "recallite.embeddings.mistral",
    "ollama": "recallite.embeddings.ollama",
    "local": "recallite.embeddings.local",
    "test": "recallite.testing.embedder",
}
"""Each module defines the two functions of `ProviderModule`."""


class ProviderModule(Protocol):
    """What a provider's module offers the registry."""

    def why_unavailable(self) -> str | None:
        """None if the provider can run here, else the reason and the remedy. Imports nothing heavy."""
        ...

    def create(self, options: ProviderOptions) -> Embedder: ...


def create_embedder(options: ProviderOptions) -> Embedder:
    """The embedder that `options` describe. Opens no connection and loads no model.

    Raises ProviderUnavailableError when the provider is unknown, not installed, or lacks a setting.
    """
    if options.provider not in PROVIDERS:
        raise ProviderUnavailableError(_unknown(options.provider))
    module = _module(options.provider)
    if reason := module.why_unavailable():
        raise ProviderUnavailableError(reason)
    return module.create(options)


def address_of(options: ProviderOptions) -> str | None:
    """Where requests go, without a password; None for a model that runs in this process.

    Raises ProviderUnavailableError for an address that is none.
    """
    base_url = options.base_url or getattr(_module(options.provider), "DEFAULT_BASE_URL", None)
    return endpoint_for(base_url=base_url, api_key=None, headers={}).url if base_url is not None else None


def create_batches(options: ProviderOptions) -> BatchApi | None:
    """The batch service of a provider; None when it has none. Errors as `create_embedder`."""
    module = _module(options.provider)
    make: Callable[[ProviderOptions], BatchApi] | None = getattr(module, "create_batches", None)
    return make(options) if make is not None else None


def available(provider: str) -> str | None:
    """None if `provider` can run on this machine, else the reason with the remedy.

    Says nothing about keys or the network: those are known only with the settings, or by trying.
    """
    if provider not in PROVIDERS:
        return _unknown(provider)
    return _module(provider).why_unavailable()


def _module(provider: str) -> ProviderModule:
    return cast(ProviderModule, import_module(PROVIDERS[provider]))


def _unknown(provider: str) -> str:
    known = ", ".join(sorted(PROVIDERS))
    return f"unknown embedding provider {provider!r}; known: {known}"
