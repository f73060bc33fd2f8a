"""`recallite mcp` says what it needs and takes ports as they are."""

from __future__ import annotations

import argparse
import importlib.util
from typing import Any

import pytest

from recallite.cli import mcp
from recallite.errors import RecalliteError


def parsed(*arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    mcp.add_arguments(parser)
    return parser.parse_args([*arguments])


def test_without_the_package_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.util.find_spec
    monkeypatch.setattr(mcp, "find_spec", lambda name, *rest: None if name == "mcp" else real(name, *rest))

    with pytest.raises(RecalliteError, match=r"pip install 'recallite\[mcp\]'"):
        mcp.run(parsed())


@pytest.mark.parametrize("text", ["-1", "65536", "http", "1.5", ""])
def test_what_is_no_port_is_refused(text: str, capsys: Any) -> None:
    with pytest.raises(SystemExit):
        parsed(f"--port={text}")

    assert "is not a port" in capsys.readouterr().err


def test_ports() -> None:
    assert [parsed("--port", text).port for text in ("0", "8765", "65535")] == [0, 8765, 65535]
    assert parsed().port is None and not parsed().http
