"""Where requests go: the address, and what of it may be shown."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote, urlsplit, urlunsplit

from recallite.errors import ProviderUnavailableError


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An address without password and query, and what goes with every request."""

    url: str = field(repr=False)
    host: str
    """Host and port, fit to be shown."""
    query: Mapping[str, str] = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    secrets: frozenset[str] = field(repr=False)
    """Strings that must not appear in any message."""

    def is_secret(self, text: str) -> bool:
        """Whether `text` shows a key, a password a header's value."""
        return any(secret in text for secret in self.secrets)


def endpoint_for(*, base_url: str, api_key: str | None, headers: Mapping[str, str]) -> Endpoint:
    """Checks the settings and puts the headers together.

    Authorization is, in this order: the one in `headers`, the name and password in `base_url`,
    `Bearer <api_key>`, none. Raises ProviderUnavailableError, which names the setting but not its value.
    """
    url, host, query, user_info = _split_url(base_url)
    _check_sendable("the key", api_key or "")
    for name, value in headers.items():
        _check_sendable(f"the header {name!r}", value)
    merged = _merge(_authorization(api_key, user_info), headers)
    secrets = {api_key or "", *user_info, *query.values(), *merged.values()}
    secrets |= {value.rpartition(" ")[2] for value in merged.values()}
    return Endpoint(url, host, query, merged, frozenset(secret for secret in secrets if len(secret) >= 4))


def _split_url(base_url: str) -> tuple[str, str, dict[str, str], tuple[str, ...]]:
    try:
        if not base_url.isprintable() or " " in base_url:
            raise ValueError(base_url)
        parts = urlsplit(base_url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise ProviderUnavailableError("the base URL is not an address: check host and port") from None
    if parts.scheme not in ("http", "https") or not host:
        raise ProviderUnavailableError("the base URL must begin with http:// or https:// and name a host")
    shown = f"[{host}]" if ":" in host else host
    if port is not None:
        shown += f":{port}"
    user_info = (unquote(parts.username or ""), unquote(parts.password or "")) if parts.username else ()
    url = urlunsplit((parts.scheme, shown, parts.path, "", ""))
    return url, shown, dict(parse_qsl(parts.query, keep_blank_values=True)), user_info


def _authorization(api_key: str | None, user_info: tuple[str, ...]) -> dict[str, str]:
    if user_info:
        return {"Authorization": "Basic " + base64.b64encode(":".join(user_info).encode()).decode("ascii")}
    return {"Authorization": f"Bearer {api_key}"} if api_key else {}


def _merge(own: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """`given` over `own`, whatever the case of the names."""
    names = {name.lower() for name in given}
    return {name: value for name, value in own.items() if name.lower() not in names} | dict(given)


def _check_sendable(what: str, value: str) -> None:
    if not value.isascii() or any(character in value for character in "\r\n\0"):
        raise ProviderUnavailableError(f"{what} holds characters that no HTTP header can carry")
