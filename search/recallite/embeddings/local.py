"""A GGUF model in this process, run by llama.cpp through xllamacpp."""

from __future__ import annotations

import logging
import secrets
import threading
from collections.abc import Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol, cast

import numpy as np

from recallite.embeddings.gguf import read_gguf
from recallite.embeddings.limits import OVERHEAD_TOKENS, estimate_tokens, sendable, split_text
from recallite.embeddings.model_files import ModelFile, download, model_file
from recallite.embeddings.options import ProviderOptions
from recallite.embeddings.per_process import PerProcess
from recallite.embeddings.protocol import Kind, Limits, RawVector, Space
from recallite.errors import InputRejectedError, ProviderError, ProviderPausedError, ProviderUnavailableError
from recallite.filenames import as_text

logger = logging.getLogger(__name__)

PROVIDER = "local"
DEFAULT_MODEL = "hf:ggml-org/embeddinggemma-300m-qat-q8_0-GGUF/embeddinggemma-300m-qat-Q8_0.gguf"
MOST_CONTEXT_TOKENS = 8_192
"""Memory grows with the context; chunks are far shorter than this."""
_REMEDY = "pip install 'recallite[local]'"
_PREFIXES: dict[str, dict[Kind, str]] = {
    "embeddinggemma": {"query": "task: search result | query: ", "document": "title: none | text: "},
    "nomic-embed": {"query": "search_query: ", "document": "search_document: "},
    "e5": {"query": "query: ", "document": "passage: "},
}
"""By what stands in the file's name: what these models want before a text, by their model cards."""


def why_unavailable() -> str | None:
    """None if llama.cpp is installed, else what to install."""
    if find_spec("xllamacpp") is None:
        return f"the xllamacpp package is not installed: {_REMEDY}"
    if find_spec("httpx") is None:
        return f"the httpx package is not installed: {_REMEDY}"
    return None


def create(options: ProviderOptions) -> LocalEmbedder:
    """Loads and downloads nothing yet. Raises ProviderUnavailableError for a file that is not there or no model."""
    if options.dimensions is not None:
        raise ProviderUnavailableError("the provider local has no choice of dimensions: remove outputDimensionality")
    cache_dir = options.model_cache_dir or Path.home() / ".openclaw" / "models"
    return LocalEmbedder(model_file(options.model_path or DEFAULT_MODEL, cache_dir), options)


class LocalEmbedder:
    """Safe to use from several threads and after a fork. The engine is shared by all in a process."""

    def __init__(self, file: ModelFile, options: ProviderOptions) -> None:
        self._file = file
        self._threads = max(1, options.threads)
        name = file.path.name.lower()
        self._prefix = next((key for key in _PREFIXES if key in name), "")
        address = options.model_path or DEFAULT_MODEL
        if file.url is None:
            model = read_gguf(file.path)  # a wrong path is told before anything else happens
            identity = f"{model.fingerprint} {self._prefix}".strip()
            self._space = Space(PROVIDER, file.path.name, model.dims, variant=identity)
        else:
            self._space = Space(PROVIDER, address, None, variant=self._prefix)

    @property
    def provider(self) -> str:
        return PROVIDER

    @property
    def space(self) -> Space:
        return self._space

    @property
    def limits(self) -> Limits:
        """Estimates are two to three times the true count: a text is cut only where the model itself says so."""
        context = _context(self._file.path) if self._file.is_there else 512
        return Limits(max_items=8, max_request_tokens=3 * context * 4, max_input_tokens=3 * context)

    def embed(self, texts: Sequence[str], *, kind: Kind) -> list[RawVector]:
        """One vector per text. A text that is longer than the model's context is embedded in parts and averaged.

        Raises ProviderPausedError while the model is being downloaded, ProviderUnavailableError when it cannot be.
        """
        if not texts:
            return []
        if not self._file.is_there:
            self._wait_for_download(kind)
        prefix = _PREFIXES[self._prefix][kind] if self._prefix else ""
        engine = _engine(self._file.path, self._threads).get()
        return _vectors(engine, [prefix + sendable(text).replace("\0", " ") for text in texts])

    def fetch_model(self, on_progress: DownloadProgress | None = None) -> Path:
        """Download the model if it is not there, and wait until it is. Errors as `download`."""
        return download(self._file, on_progress=on_progress or (lambda done, total: None))

    def close(self) -> None:
        """Nothing: the weights are mapped from their file and shared with other embedders."""

    def _wait_for_download(self, kind: Kind) -> None:
        if kind == "query":
            raise ProviderUnavailableError("the model is not downloaded yet: run `recallite index`")
        _downloads.begin(self._file).check()


class DownloadProgress(Protocol):
    """Told of a download's progress: bytes done, and in all where that is known."""

    def __call__(self, done: int, total: int | None, /) -> None: ...


class _Downloading:
    """A download in a thread of its own: who needs the model comes back later, and does other work meanwhile."""

    PATIENCE_SECONDS = 2.0

    def __init__(self, file: ModelFile) -> None:
        self._file = file
        self._done, self._total = 0, None
        self.error: ProviderError | None = None
        self.thread = threading.Thread(target=self._run, name="recallite-model-download", daemon=True)
        self.thread.start()

    def check(self) -> None:
        """Returns when the model is there. Raises ProviderPausedError while it is not."""
        self.thread.join(self.PATIENCE_SECONDS)
        if self.error is not None:
            raise self.error
        if self.thread.is_alive():
            share = f"{100 * self._done // self._total} %" if self._total else f"{self._done} bytes"
            raise ProviderPausedError(f"the model is being downloaded: {share} of {self._file.path.name}")

    def _run(self) -> None:
        logger.warning("the model %s is downloaded to %s", self._file.path.name, self._file.path.parent)
        try:
            download(self._file, on_progress=self._note)
        except ProviderError as error:
            self.error = error

    def _note(self, done: int, total: int | None) -> None:
        self._done, self._total = done, total  # type: ignore[assignment]  # None until the server has said it


class _Downloads:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._all: dict[Path, _Downloading] = {}

    def begin(self, file: ModelFile) -> _Downloading:
        """The download of a file under way, or a new one."""
        with self._lock:
            running = self._all.get(file.path)
            if running is None or not running.thread.is_alive():
                self._all[file.path] = running = _Downloading(file)
            return running


_downloads = _Downloads()


class Engine(Protocol):
    """The part of xllamacpp's Server that is used."""

    def handle_embeddings(self, request: dict[str, object]) -> dict[str, object]: ...


_engines: dict[tuple[Path, int], PerProcess[Engine]] = {}
_contexts: dict[Path, int] = {}
_lock = threading.Lock()


def _context(path: Path) -> int:
    with _lock:
        if path not in _contexts:
            _contexts[path] = min(read_gguf(path).context_tokens, MOST_CONTEXT_TOKENS)
        return _contexts[path]


def _engine(path: Path, threads: int) -> PerProcess[Engine]:
    """llama.cpp hangs in a child that was forked after it was used: each process loads its own."""
    with _lock:
        return _engines.setdefault((path, threads), PerProcess(partial(_load, path, threads)))


def _load(path: Path, threads: int) -> Engine:
    read_gguf(path)  # llama.cpp does not say what is wrong with a file
    try:
        import xllamacpp  # type: ignore[import-untyped]  # it ships no types

        wanted = xllamacpp.CommonParams()
        wanted.model.path = as_text(path)
        wanted.embedding = True
        wanted.n_parallel = 1
        wanted.n_ctx = wanted.n_batch = wanted.n_ubatch = _context(path)
        wanted.cpuparams.n_threads = wanted.cpuparams_batch.n_threads = threads
        wanted.warmup = False
        wanted.verbosity = -1
        # It listens on a port of the loopback, which nobody is to use.
        wanted.api_keys = [secrets.token_hex(32)]
        return cast(Engine, xllamacpp.Server(wanted))
    except (ImportError, OSError, RuntimeError) as error:
        raise ProviderUnavailableError(
            f"llama.cpp cannot load {path} ({type(error).__name__}): is it an embedding model? "
            "If so, a newer xllamacpp may know it"
        ) from error


def _vectors(engine: Engine, texts: list[str]) -> list[RawVector]:
    reply = engine.handle_embeddings({"input": texts, "model": PROVIDER})
    rows = reply.get("data")
    if isinstance(rows, list) and len(rows) == len(texts):
        return [cast(RawVector, row.get("embedding")) if isinstance(row, dict) else None for row in rows]
    if len(texts) > 1:
        return [_vectors(engine, [text])[0] for text in texts]
    return [_in_parts(engine, texts[0])]


def _in_parts(engine: Engine, text: str) -> RawVector:
    """A text that the model does not take as a whole: both halves, averaged by their length."""
    size = estimate_tokens(text) - OVERHEAD_TOKENS
    parts = split_text(text, max(1, size // 2 + OVERHEAD_TOKENS)) if size > 2 else [text]
    if len(parts) < 2:
        raise InputRejectedError("the model refuses the text")
    weighted = [(len(part), np.asarray(_vectors(engine, [part])[0], np.float32)) for part in parts if part.strip()]
    return cast(RawVector, np.sum([length * vector for length, vector in weighted], axis=0))
