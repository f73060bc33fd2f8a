"""What `recallite.config` offers, and what importing it costs."""

from __future__ import annotations

import subprocess
import sys

import pytest

import recallite.config


def test_public_names_are_sorted_and_exist() -> None:
    names = recallite.config.__all__

    assert names == sorted(names, key=lambda name: (not name.isupper(), name[:1].islower(), name))
    assert all(hasattr(recallite.config, name) for name in names)


@pytest.mark.parametrize("module", ["json5", "difflib", "hashlib", "pydantic", "numpy", "apsw", "argparse"])
def test_importing_and_loading_defaults_leaves_heavy_modules_unloaded(module: str) -> None:
    program = (
        "import sys, pathlib; import recallite.config as c;"
        "c.load_settings(env={}, home=pathlib.Path('/nonexistent')).agent(None);"
        f"sys.exit({module!r} in sys.modules)"
    )

    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
