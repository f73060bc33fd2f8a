"""The environment of a demo's programs: what the user has set for their own agents must not change what is shown."""

from __future__ import annotations

import os

from recallite.config.keys import KEY_VARIABLES

_OWN = ("RECALLITE_", "OPENCLAW_")


def plain_environment() -> dict[str, str]:
    """This process's environment without settings of recallite and OpenClaw, and without keys of providers."""
    keys = set(KEY_VARIABLES.values())
    return {name: value for name, value in os.environ.items() if not name.startswith(_OWN) and name not in keys}
