"""CPU time of a command, children included: what a busy machine cannot distort much."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Mapping, Sequence


def cpu_of(arguments: Sequence[str], *, env: Mapping[str, str], runs: int = 5) -> float:
    """Median CPU seconds (user and system) of running Python with these arguments.

    After a first run that is not counted, and with compiled modules kept, as in an installed package.
    """
    spent = []
    own = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run([sys.executable, *arguments], env={**own, **env}, check=True, stdout=subprocess.DEVNULL)
    for _ in range(runs):
        before = _children()
        subprocess.run([sys.executable, *arguments], env={**own, **env}, check=True, stdout=subprocess.DEVNULL)
        spent.append(_children() - before)
    return sorted(spent)[len(spent) // 2]


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
