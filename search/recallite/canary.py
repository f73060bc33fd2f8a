"""A search for what is known to be there: full tables and correct counts do not prove that anything is found."""

from __future__ import annotations

from collections.abc import Iterator

from recallite.index.connection import IndexReader, Snapshot
from recallite.index.filters import Filter
from recallite.index.keyword import KeywordIndex
from recallite.index.rows import fetch
from recallite.index.tokens import fold, tokens
from recallite.index.vector import VectorIndex
from recallite.search.query import parse_query

_CHUNKS = 3
_NEIGHBOURS = 20
_SAME = 0.999
"""Cosine from which two vectors are those of the same text."""


def self_search(reader: IndexReader) -> list[str]:
    """What is wrong with the answers to questions whose answers are known; nothing when all are found.

    Some chunks, spread over the index, are looked for by a word of theirs and by their own vector. Raises what a
    search would raise.
    """
    with reader.reading():
        snapshot = reader.snapshot()
        chunks = _chunks(reader, snapshot)
        return [*_by_keyword(reader, snapshot, chunks), *_by_vector(reader, snapshot, chunks)]


def _chunks(reader: IndexReader, snapshot: Snapshot) -> list[tuple[int, str, str]]:
    """Id, path and text of the first, a middle and the last chunk."""
    rows = fetch(
        reader.connection,
        "SELECT min(c.id), max(c.id) FROM chunks c JOIN files f ON f.id = c.file_id WHERE f.generation = ?",
        (snapshot.generation,),
    )
    first, last = rows[0]
    if first is None:
        return []
    found: dict[int, tuple[int, str, str]] = {}
    for number in range(_CHUNKS):
        at = first + (last - first) * number // (_CHUNKS - 1)
        near = fetch(
            reader.connection,
            "SELECT c.id, f.path, c.text FROM chunks c JOIN files f ON f.id = c.file_id "
            "WHERE c.id >= ? AND f.generation = ? AND f.state = 'indexed' ORDER BY c.id LIMIT 1",
            (at, snapshot.generation),
        )
        found.update((id_, (id_, path, text)) for id_, path, text in near)
    return list(found.values())


def _by_keyword(reader: IndexReader, snapshot: Snapshot, chunks: list[tuple[int, str, str]]) -> Iterator[str]:
    index = KeywordIndex(reader.connection)
    for id_, path, text in chunks:
        words = tokens(fold(text))
        if not words:
            continue
        query = parse_query(max(words, key=len))
        where = Filter(folder=path)
        limit = len(fetch(reader.connection, *where.chunk_ids(snapshot.generation)))
        hits = index.search(query, generation=snapshot.generation, limit=limit, where=where)
        if id_ not in {hit.chunk_id for hit in hits}:
            yield f"a chunk of {path} is not found by its own words: run `recallite index --force`"
            return


def _by_vector(reader: IndexReader, snapshot: Snapshot, chunks: list[tuple[int, str, str]]) -> Iterator[str]:
    space = snapshot.space
    if space is None or space.dims is None:
        return
    index = VectorIndex(reader.connection)
    for id_, path, _ in chunks:
        for vector in index.vectors([id_], space).values():
            near = index.search(vector, space=space, limit=_NEIGHBOURS, where=Filter())
            # Many chunks can have the same text: one of them is as good.
            if id_ not in near and max(near.values(), default=0.0) < _SAME:
                yield f"a chunk of {path} is not found by its own vector: run `recallite index --force`"
                return
