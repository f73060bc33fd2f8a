"""Which provider an agent uses, and why that one or none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from recallite.config import AgentSettings, provider_base_url, provider_headers, provider_key
from recallite.config.keys import KEY_VARIABLES, remote_provider
from recallite.embeddings.options import ProviderOptions
from recallite.embeddings.registry import available
from recallite.errors import ProviderUnavailableError
from recallite.filenames import as_spelled

AUTOMATIC_ORDER = ("openai", "gemini", "voyage", "mistral")
"""Providers that are chosen when a key for them is found, in this order."""
LAST_RESORT = "builtin"
NEEDS_KEY = frozenset(KEY_VARIABLES) - {"ollama"}
"""Without a key these are not even tried, unless another address is set, which may want none."""


@dataclass(frozen=True, slots=True)
class ProviderChoice:
    """The provider of an agent. Without one (`options` None) search is by keyword, and `reason` says why."""

    requested: str
    """A provider id, or `auto`."""
    options: ProviderOptions | None
    reason: str | None = None

    @property
    def provider(self) -> str | None:
        return self.options.provider if self.options is not None else None


def choose_provider(settings: AgentSettings, *, env: Mapping[str, str] | None = None) -> ProviderChoice:
    """The configured provider, or the first that can be used here. Opens no connection, loads no model.

    A provider that is asked for by name never falls to another one.
    """
    requested = settings.search.provider
    if requested is not None:
        try:
            return ProviderChoice(requested, _options(settings, requested, env))
        except ProviderUnavailableError as error:
            return ProviderChoice(requested, None, str(error))
    if _has_local_model(settings):
        try:
            return ProviderChoice("auto", _options(settings, "local", env))
        except ProviderUnavailableError as error:
            return ProviderChoice("auto", None, f"local.modelPath is set: {error}")
    reasons = []
    for provider in (*AUTOMATIC_ORDER, LAST_RESORT):
        try:
            return ProviderChoice("auto", _options(settings, provider, env))
        except ProviderUnavailableError as error:
            reasons.append(str(error))
    return ProviderChoice("auto", None, "no embedding provider can be used here: " + "; ".join(reasons))


def _has_local_model(settings: AgentSettings) -> bool:
    """Whether `local.modelPath` names a file that is there; addresses are for who asks for the provider by name."""
    path = settings.search.local.model_path
    if path is None or path.startswith(("hf:", "http://", "https://")):
        return False
    return Path(as_spelled(path)).expanduser().is_file()


def choose_fallback(settings: AgentSettings, *, env: Mapping[str, str] | None = None) -> ProviderChoice | None:
    """The provider that embeds while the chosen one fails, with its own model, key and address; None if none is set."""
    name = settings.search.fallback
    if name == "none" or name == choose_provider(settings, env=env).provider:
        return None
    try:
        return ProviderChoice(name, _options(settings, name, env))
    except ProviderUnavailableError as error:
        return ProviderChoice(name, None, str(error))


def _options(settings: AgentSettings, provider: str, env: Mapping[str, str] | None) -> ProviderOptions:
    reason = available(provider)
    if reason is not None:
        raise ProviderUnavailableError(reason)
    key = provider_key(settings, provider, env=env)
    base_url = provider_base_url(settings, provider)
    if key is None and provider in NEEDS_KEY and base_url is None:
        raise ProviderUnavailableError(
            f'No API key found for provider "{provider}": set {KEY_VARIABLES[provider]} or '
            f"models.providers.{provider}.apiKey"
        )
    search = settings.search
    cache_dir = search.local.model_cache_dir
    asked_for = search.provider == provider
    return ProviderOptions(
        provider=provider,
        model=search.model if asked_for or (search.provider is None and provider == AUTOMATIC_ORDER[0]) else None,
        api_key=key.reveal() if key is not None else None,
        base_url=base_url,
        headers=provider_headers(settings, provider),
        dimensions=search.output_dimensionality if asked_for or provider == AUTOMATIC_ORDER[0] else None,
        timeout_seconds=search.remote.timeout_seconds,
        model_path=search.local.model_path,
        model_cache_dir=Path(as_spelled(cache_dir)).expanduser() if cache_dir else settings.state_dir / "models",
        max_items=search.remote.max_items_per_request if provider == remote_provider(settings) else None,
    )
