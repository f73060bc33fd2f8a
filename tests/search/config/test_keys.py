"""Keys, headers and addresses of providers."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from recallite.config import (
    KEY_VARIABLES,
    AgentSettings,
    Settings,
    provider_base_url,
    provider_headers,
    provider_key,
    remote_provider,
)
from recallite.errors import ProviderUnavailableError

Load = Callable[..., Settings]
LoadAgent = Callable[..., AgentSettings]
ENV = {"OPENAI_API_KEY": "from-env"}


def agent(load: Load, memory_search: object, openai: object = None) -> AgentSettings:
    config: dict[str, object] = {"agents": {"defaults": {"memorySearch": memory_search}}}
    if openai is not None:
        config["models"] = {"providers": {"openai": openai}}
    return load(config).agent(None)


def found(settings: AgentSettings, provider: str = "openai", env: dict[str, str] | None = None) -> tuple[str, str]:
    key = provider_key(settings, provider, env=ENV if env is None else env)
    assert key is not None
    return key.reveal(), key.origin


def test_the_remote_key_comes_first(load: Load) -> None:
    settings = agent(load, {"remote": {"apiKey": " one "}}, {"apiKey": "two"})

    assert found(settings) == ("one", "agents.defaults.memorySearch.remote.apiKey")


def test_the_providers_key_comes_second(load: Load) -> None:
    assert found(agent(load, {}, {"apiKey": "two"})) == ("two", "models.providers.openai.apiKey")


def test_the_environment_comes_last(load: Load) -> None:
    assert found(agent(load, {})) == ("from-env", "environment OPENAI_API_KEY")


def test_empty_keys_are_no_keys(load: Load) -> None:
    settings = agent(load, {"remote": {"apiKey": " "}}, {"apiKey": ""})

    assert found(settings) == ("from-env", "environment OPENAI_API_KEY")
    assert provider_key(settings, "openai", env={"OPENAI_API_KEY": " \n"}) is None


def test_keys_are_trimmed(load: Load) -> None:
    assert found(agent(load, {}), env={"OPENAI_API_KEY": " key\n"})[0] == "key"


@pytest.mark.parametrize("provider", KEY_VARIABLES)
def test_each_provider_has_its_variable(load_agent: LoadAgent, provider: str) -> None:
    env = {variable: f"key of {name}".replace(" ", "-") for name, variable in KEY_VARIABLES.items()}

    assert found(load_agent({}), provider, env)[0] == f"key-of-{provider}"


@pytest.mark.parametrize("provider", ["builtin", "local", "none", "unheard-of"])
def test_what_needs_no_key_gets_none(load_agent: LoadAgent, provider: str) -> None:
    settings = load_agent({"remote": {"apiKey": "one"}})

    assert provider_key(settings, provider, env=ENV) is None


def test_the_remote_key_is_never_given_to_the_fallback(load: Load) -> None:
    remote = {"apiKey": "one", "baseUrl": "http://x", "headers": {"A": "1"}}
    settings = agent(load, {"provider": "builtin", "fallback": "openai", "remote": remote})

    assert found(settings) == ("from-env", "environment OPENAI_API_KEY")
    assert provider_base_url(settings, "openai") is None
    assert provider_headers(settings, "openai") == {}


def test_without_a_provider_remote_is_meant_for_the_first_automatic_one(load_agent: LoadAgent) -> None:
    settings = load_agent({"remote": {"apiKey": "one"}})

    assert remote_provider(settings) == "openai"
    assert found(settings)[0] == "one"
    assert provider_key(settings, "voyage", env={}) is None


@pytest.mark.parametrize("key", ["two words", "line\nbreak", "schlüssel", "quote\u2019d"])
def test_a_key_that_no_request_can_carry_is_refused_without_showing_it(load_agent: LoadAgent, key: str) -> None:
    with pytest.raises(ProviderUnavailableError) as caught:
        provider_key(load_agent({}), "openai", env={"OPENAI_API_KEY": key})

    assert "environment OPENAI_API_KEY" in str(caught.value)
    assert key not in str(caught.value)


def test_a_key_does_not_show_itself(load: Load) -> None:
    key = provider_key(agent(load, {}), "openai", env=ENV)

    assert "from-env" not in f"{key!r} {key} {key!s:>60} {[key]} {vars(type(key))}"


def test_remote_headers_win_whatever_their_case(load: Load) -> None:
    settings = agent(
        load,
        {"remote": {"headers": {"authorization": "mine", "X-New": "1"}}},
        {"headers": {"Authorization": "theirs", "X-Old": "2"}},
    )

    assert provider_headers(settings, "openai") == {"authorization": "mine", "X-Old": "2", "X-New": "1"}


def test_a_header_named_twice_is_refused(search_problems: Callable[..., list[str]]) -> None:
    (line,) = search_problems({"remote": {"headers": {"A": "1", "a": "2"}}})

    assert "one header is named twice" in line


def test_the_remote_address_wins(load: Load) -> None:
    theirs = {"baseUrl": "http://theirs/v1/"}

    assert provider_base_url(agent(load, {}, theirs), "openai") == "http://theirs/v1"
    assert provider_base_url(agent(load, {"remote": {"baseUrl": "http://mine/"}}, theirs), "openai") == "http://mine"
    assert provider_base_url(agent(load, {}), "openai") is None
