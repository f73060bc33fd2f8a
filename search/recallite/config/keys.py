"""Access to an embedding provider: its key, its headers, its address."""

from __future__ import annotations

import os
from collections.abc import Mapping

from recallite.config.access import Secret, sendable_key
from recallite.config.resolve import AgentSettings
from recallite.config.schema_search import FIRST_AUTOMATIC_PROVIDER
from recallite.errors import ProviderUnavailableError

KEY_VARIABLES: Mapping[str, str] = {
    "openai": "OPENAI_API_KEY",
    "gemini": "GEMINI_API_KEY",
    "voyage": "VOYAGE_API_KEY",
    "mistral": "MISTRAL_API_KEY",
    "ollama": "OLLAMA_API_KEY",
}
"""The environment variable that holds a provider's key."""


class ResolvedKey:
    """A provider's key, shown to nobody but the caller of `reveal`."""

    __slots__ = ("_secret", "origin")

    def __init__(self, secret: str, origin: str) -> None:
        self._secret = secret
        self.origin = origin

    def reveal(self) -> str:
        """The key itself."""
        return self._secret

    def __repr__(self) -> str:
        return f"ResolvedKey(set, from {self.origin})"


def remote_provider(settings: AgentSettings) -> str:
    """The provider that `memorySearch.remote` is meant for: the configured one, never the fallback."""
    return settings.search.provider or FIRST_AUTOMATIC_PROVIDER


def provider_key(settings: AgentSettings, provider: str, *, env: Mapping[str, str] | None = None) -> ResolvedKey | None:
    """The key for `provider`, or None: from `remote`, then `models.providers`, then the environment.

    `remote.apiKey` is the key of the configured provider and is never given to another, such as the
    fallback. Raises ProviderUnavailableError for a key in the environment that no request could carry.
    """
    env = os.environ if env is None else env
    candidates: list[tuple[Secret | None, str]] = []
    if provider == remote_provider(settings):
        section = settings.origins.get("memorySearch.remote.apiKey", "default")
        candidates.append((settings.search.remote.api_key, f"{section}.memorySearch.remote.apiKey"))
    if provider in settings.providers:
        candidates.append((settings.providers[provider].api_key, f"models.providers.{provider}.apiKey"))
    if variable := KEY_VARIABLES.get(provider):
        candidates.append((Secret(env.get(variable, "")), f"environment {variable}"))
    for secret, origin in candidates:
        if secret is not None and (text := secret.reveal().strip()):
            if not sendable_key(text):
                raise ProviderUnavailableError(
                    f"{provider}: the key from {origin} has blanks or other characters that no key has"
                )
            return ResolvedKey(text, origin)
    return None


def provider_headers(settings: AgentSettings, provider: str) -> dict[str, str]:
    """The headers to add to requests to `provider`, values revealed: `remote.headers` over the provider's.

    Upper and lower case do not matter when one replaces another.
    """
    layers: list[Mapping[str, Secret]] = []
    if provider in settings.providers:
        layers.append(settings.providers[provider].headers)
    if provider == remote_provider(settings):
        layers.append(settings.search.remote.headers)
    merged: dict[str, tuple[str, str]] = {}
    for layer in layers:
        merged |= {name.lower(): (name, value.reveal()) for name, value in layer.items()}
    return dict(merged.values())


def provider_base_url(settings: AgentSettings, provider: str) -> str | None:
    """The configured address of `provider`, without a slash at its end; None for the provider's own."""
    remote = settings.search.remote.base_url if provider == remote_provider(settings) else None
    entry = settings.providers.get(provider)
    return remote or (entry.base_url if entry is not None else None)
