"""An embedder that needs no model: texts that share words get similar vectors.

For tests and benchmarks only. It knows nothing of meaning: never offer it as semantic search.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import cast
from urllib.parse import unquote, urlsplit

import numpy as np
from numpy.typing import NDArray

from recallite.embeddings.limits import sendable
from recallite.embeddings.options import ProviderOptions
from recallite.embeddings.protocol import Kind, Limits, RawVector, Space

PROVIDER = "test"
DEFAULT_DIMS = 64

# A run of CJK characters is taken apart into its overlapping pairs, everything else into words.
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3"
_TOKENS = re.compile(rf"[{_CJK}]+|[^\W{_CJK}]+")
_CJK_FIRST = re.compile(f"[{_CJK}]")
_WORDS_KEPT = 100_000
"""Words whose vectors are remembered: 26 MB at 64 dimensions."""


def why_unavailable() -> str | None:
    """Always None: it needs nothing."""
    return None


def create(options: ProviderOptions) -> DeterministicEmbedder:
    """`dimensions` and `model` are taken over; a `base_url` of the form file:///path is its log."""
    dims = options.dimensions or DEFAULT_DIMS
    url = urlsplit(options.base_url or "")
    log_path = Path(unquote(url.path)) if url.scheme == "file" else None
    return DeterministicEmbedder(
        dims=dims, model=options.model or f"test-{dims}", log_path=log_path, max_items=options.max_items
    )


class DeterministicEmbedder:
    """A bag of words, each word a fixed random direction. The same in every process, on every machine.

    `embedded` holds each text in the order in which it was embedded, as long as `keep` is true. With a
    `log_path` the SHA-256 of each text is appended to that file, a line each, from several processes too.
    """

    def __init__(
        self,
        *,
        dims: int = DEFAULT_DIMS,
        model: str = "test-64",
        log_path: Path | str | None = None,
        max_items: int | None = None,
        keep: bool = True,
    ) -> None:
        self.embedded: list[str] = []
        self._space = Space(PROVIDER, model, dims)
        self._limits = Limits(max_items=max_items) if max_items else Limits()
        self._log_path = Path(log_path) if log_path is not None else None
        self._keep = keep
        self._lock = Lock()
        self._directions = _Directions(dims)

    @property
    def provider(self) -> str:
        return PROVIDER

    @property
    def space(self) -> Space:
        return self._space

    @property
    def limits(self) -> Limits:
        return self._limits

    def embed(self, texts: Sequence[str], *, kind: Kind) -> list[RawVector]:
        """One unit vector per text. Questions and documents are embedded alike."""
        if not texts:
            return []
        with self._lock:
            if self._keep:
                self.embedded.extend(texts)
            vectors = self._vectors(texts)
        if self._log_path is not None:
            _append(self._log_path, texts)
        return list(vectors)

    def close(self) -> None:
        """Nothing to release."""

    def _vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows: list[int] = []
        starts: list[int] = []
        for text in texts:
            starts.append(len(rows))
            rows.extend([self._directions.row_of[word] for word in words_of(text)])
        sums = np.add.reduceat(self._directions.table()[rows], starts, axis=0)
        self._directions.forget_if_many()
        unit: NDArray[np.float32] = sums / np.sqrt(np.einsum("ij,ij->i", sums, sums))[:, None]
        return unit


class _Rows(dict[str, int]):
    """Word → row; a new word gets the next row. `__missing__` keeps the common case in C."""

    def __missing__(self, word: str) -> int:
        row = self[word] = len(self)
        return row


class _Directions:
    """The directions of the words seen so far, in one table that doubles as it grows."""

    def __init__(self, dims: int) -> None:
        self.row_of = _Rows()
        self._table: NDArray[np.float32] = np.empty((1_024, dims), dtype=np.float32)
        self._filled = 0

    def table(self) -> NDArray[np.float32]:
        """Row by row the directions of `row_of`, and possibly unused rows after them."""
        wanted = len(self.row_of)
        if wanted > len(self._table):
            bigger = np.empty((2 * wanted, self._table.shape[1]), dtype=np.float32)
            bigger[: self._filled] = self._table[: self._filled]
            self._table = bigger
        for word in islice(self.row_of, self._filled, wanted) if wanted > self._filled else ():
            self._table[self._filled] = direction_of(word, self._table.shape[1])
            self._filled += 1
        return self._table

    def forget_if_many(self) -> None:
        if len(self.row_of) > _WORDS_KEPT:
            self.row_of = _Rows()
            self._filled = 0


def words_of(text: str) -> list[str]:
    """Lower-case words, and pairs of CJK characters; never empty, so that no vector is zero."""
    found = cast(list[str], _TOKENS.findall(text.lower()))
    if _CJK_FIRST.search(text) is None:
        return found or [f"\0{text}"]
    words: list[str] = []
    for word in found:
        if len(word) == 1 or word.isascii() or not _CJK_FIRST.match(word):
            words.append(word)
        else:
            words.extend([word[at : at + 2] for at in range(len(word) - 1)])
    return words or [f"\0{text}"]


def direction_of(word: str, dims: int) -> NDArray[np.float32]:
    """A fixed random direction: the bytes of a SHAKE-128 digest, centred on zero."""
    digest = hashlib.shake_128(word.encode("utf-8", "surrogatepass")).digest(dims)
    return np.frombuffer(digest, dtype=np.uint8).astype(np.float32) - np.float32(127.5)


def text_hash(text: str) -> str:
    """The line that the log has for `text`."""
    return hashlib.sha256(sendable(text).encode("utf-8")).hexdigest()


def _append(path: Path, texts: Sequence[str]) -> None:
    """In one write to the end, so that processes do not tear each other's lines."""
    lines = "".join(f"{text_hash(text)}\n" for text in texts).encode("ascii")
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(file, lines)
    finally:
        os.close(file)
