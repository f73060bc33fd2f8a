"""The address, the Authorization header, and what of them is shown."""

import base64

import pytest

from recallite.embeddings.endpoint import endpoint_for
from recallite.errors import ProviderUnavailableError


def test_a_password_in_the_address_moves_to_the_header() -> None:
    endpoint = endpoint_for(base_url="https://me:pa%20ss@host:81/v1", api_key="key", headers={})

    assert endpoint.url == "https://host:81/v1"
    assert endpoint.headers == {"Authorization": "Basic " + base64.b64encode(b"me:pa ss").decode()}
    assert "pa ss" not in repr(endpoint) and "key" not in repr(endpoint)


@pytest.mark.parametrize("name", ["Authorization", "authorization", "AUTHORIZATION"])
def test_a_given_authorization_wins_over_the_key(name: str) -> None:
    endpoint = endpoint_for(base_url="http://host", api_key="key", headers={name: "Token other"})

    assert endpoint.headers == {name: "Token other"}


def test_without_a_key_there_is_no_authorization() -> None:
    assert endpoint_for(base_url="http://host", api_key=None, headers={"X": "1"}).headers == {"X": "1"}


def test_an_ipv6_host_keeps_its_brackets() -> None:
    endpoint = endpoint_for(base_url="http://[::1]:8080/v1", api_key=None, headers={})

    assert (endpoint.url, endpoint.host) == ("http://[::1]:8080/v1", "[::1]:8080")


@pytest.mark.parametrize(
    "base_url", ["", "host/v1", "ftp://host", "http://", "http://host:port", "http://a b/", "http://h\n/"]
)
def test_what_is_no_address_is_refused(base_url: str) -> None:
    with pytest.raises(ProviderUnavailableError, match="base URL"):
        endpoint_for(base_url=base_url, api_key=None, headers={})


@pytest.mark.parametrize("value", ["ключ-secret", "line\nsecret", "secret\0"])
def test_a_key_that_no_header_can_carry_is_refused_without_showing_it(value: str) -> None:
    with pytest.raises(ProviderUnavailableError) as refused:
        endpoint_for(base_url="http://host", api_key=value, headers={})

    assert "secret" not in str(refused.value)
