"""Taking over from another program whose index stands where ours belongs: its vectors were paid for."""

from __future__ import annotations

import hashlib
import json
import logging
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import apsw
import numpy as np

from recallite.embeddings.checks import check_vectors
from recallite.embeddings.protocol import Space
from recallite.errors import ForeignIndexError, IndexMissingError, IndexUnusableError
from recallite.filenames import as_text
from recallite.index.rows import fetch
from recallite.index.schema import check_header
from recallite_worker.cache import EmbeddingCache, Vector
from recallite_worker.store import move_database

logger = logging.getLogger(__name__)

_ROWS = 500


@dataclass(frozen=True, slots=True)
class Adoption:
    """What was done with a foreign file."""

    moved_to: Path
    vectors: int
    """Vectors taken into the cache."""
    unusable: int
    """Vectors that failed the checks, or that the file does not tell the model of."""


def adopt(index_path: Path, cache_path: Path, *, max_entries: int) -> Adoption:
    """Move a foreign file away from `index_path` and put its vectors into the cache. Its content stays as it is.

    Raises IndexUnusableError when there is no foreign file there.
    """
    try:
        check_header(index_path)
    except IndexMissingError as error:
        raise IndexUnusableError(f"there is nothing at {index_path} to adopt") from error
    except ForeignIndexError:
        pass
    else:
        raise IndexUnusableError(f"{index_path} is an index of recallite already: nothing to adopt")
    aside = index_path.with_name(f"{index_path.name}.foreign-{time.strftime('%Y%m%dT%H%M%S')}")
    move_database(index_path, aside)
    cache = EmbeddingCache(cache_path, max_entries=max_entries)
    try:
        taken = unusable = 0
        try:
            for space, vectors, bad in _vectors(aside):
                cache.add(space, vectors)
                taken += len(vectors)
                unusable += bad
        except apsw.Error as error:
            logger.warning("%s: no vectors taken over: %s", aside, error)
        cache.prune()
    finally:
        cache.close()
    return Adoption(aside, taken, unusable)


def _vectors(path: Path) -> Iterator[tuple[Space, dict[bytes, Vector], int]]:
    """The vectors of an OpenClaw index in lots: of its chunks by their text, of its cache by their hash."""
    connection = apsw.Connection(as_text(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        tables = {row[0] for row in fetch(connection, "SELECT name FROM sqlite_master WHERE type = 'table'")}
        if "embedding_cache" in tables:
            sql = "SELECT provider, model, hash, NULL, embedding FROM embedding_cache"
            yield from _lots(connection, sql)
        provider = _provider(connection) if "meta" in tables else None
        if "chunks" in tables and provider is not None:
            sql = "SELECT ?, model, hash, text, embedding FROM chunks"
            yield from _lots(connection, sql, (provider,))
    finally:
        connection.close()


def _provider(connection: apsw.Connection) -> str | None:
    rows = fetch(connection, "SELECT value FROM meta WHERE key = 'memory_index_meta_v1'")
    try:
        provider = json.loads(rows[0][0])["provider"] if rows else None
    except (ValueError, KeyError, TypeError):
        return None
    return provider if isinstance(provider, str) and provider != "none" else None


def _lots(
    connection: apsw.Connection, sql: str, parameters: tuple[str, ...] = ()
) -> Iterator[tuple[Space, dict[bytes, Vector], int]]:
    offset = 0
    while rows := fetch(connection, f"{sql} LIMIT {_ROWS} OFFSET {offset}", parameters):
        offset += len(rows)
        lots: dict[Space, dict[bytes, Vector]] = {}
        bad = 0
        for provider, model, hash_, text, blob in rows:
            vector = _vector(blob)
            keys = _keys(hash_, text)
            if vector is None or not keys or not isinstance(model, str) or not isinstance(provider, str):
                bad += 1
                continue
            space = Space(provider, model, len(vector))
            lots.setdefault(space, {}).update(dict.fromkeys(keys, vector))
        for number, (space, vectors) in enumerate(lots.items()):
            yield space, vectors, bad if number == 0 else 0
        if bad and not lots:
            yield Space("none", "none", 1), {}, bad


def _keys(hash_: object, text: object) -> set[bytes]:
    """SHA-256 of the text, and of the text as our chunks hold it: without white space at its ends."""
    if isinstance(text, str):
        return {hashlib.sha256(form.encode("utf-8", "replace")).digest() for form in (text, text.strip())}
    try:
        key = bytes.fromhex(str(hash_))
    except ValueError:
        return set()
    return {key} if len(key) == 32 else set()


def _vector(blob: object) -> Vector | None:
    try:
        numbers = json.loads(blob) if isinstance(blob, str) else None
    except ValueError:
        return None
    if not isinstance(numbers, list) or not numbers:
        return None
    (checked,) = check_vectors([numbers], expected=1, dims=None)
    return checked if isinstance(checked, np.ndarray) else None
