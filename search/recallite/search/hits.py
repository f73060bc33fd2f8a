"""Chosen candidates → hits: the text around the match, and whether the file is still as it was indexed."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import apsw

from recallite.filenames import as_spelled
from recallite.index.keyword import KeywordQuery
from recallite.index.rows import fetch
from recallite.search.fusion import Scored
from recallite.search.snippet import snippet
from recallite.types import Hit, Source
from recallite.workspace.figures import figures


@dataclass(frozen=True, slots=True)
class Folders:
    """Where the files of an index are."""

    workspace: Path
    sessions: Path

    def is_stale(self, source: Source, path: str, size: int, mtime_ns: int, ctime_ns: int, hash_: bytes | None) -> bool:
        """Whether a file is no longer what was indexed of it."""
        if source == "sessions":
            return _rewritten(self.sessions / as_spelled(path.partition("/")[2]), size, mtime_ns)
        return _changed(self.workspace / as_spelled(path), size, mtime_ns, ctime_ns, hash_)


def hits_of(
    connection: apsw.Connection, chosen: Sequence[Scored], query: KeywordQuery, *, folders: Folders, explain: bool
) -> list[Hit]:
    """A hit for each of `chosen`, in that order. Call it inside a read transaction."""
    hits = []
    for scored in chosen:
        rows = fetch(
            connection,
            "SELECT f.path, f.source, f.size, f.mtime_ns, f.ctime_ns, f.hash, c.start_line, c.end_line, c.text "
            "FROM chunks c JOIN files f ON f.id = c.file_id WHERE c.id = ?",
            (scored.chunk_id,),
        )
        if not rows:
            continue  # a vector whose chunk went while the extension was missing
        path, source, *state, start, end, text = rows[0]
        hits.append(
            Hit(
                path=path,
                start_line=start,
                end_line=end,
                score=scored.score,
                snippet=snippet(text, query),
                source=source,
                chunk_id=scored.chunk_id,
                stale=folders.is_stale(source, path, *state),
                parts=scored.parts if explain else None,
            )
        )
    return hits


def _rewritten(location: Path, size: int, mtime_ns: int) -> bool:
    """Whether a transcript is more than what it was with something added."""
    try:
        info = os.stat(location, follow_symlinks=False)  # noqa: PTH116 - Path.stat has it too, but slower
    except OSError:
        return True
    now = figures(info)
    return now.size < size or (now.size == size and now.mtime_ns != mtime_ns)


def _changed(location: Path, size: int, mtime_ns: int, ctime_ns: int, hash_: bytes | None) -> bool:
    """Whether the file is no longer as it was indexed, or cannot be read (it has no hash then).

    Its content is read only when nothing but ctime differs.
    """
    if hash_ is None:
        return True
    try:
        info = os.stat(location, follow_symlinks=False)  # noqa: PTH116 - Path.stat has it too, but slower
        now = figures(info)
        if (now.size, now.mtime_ns) != (size, mtime_ns):
            return True
        if ctime_ns in (0, now.ctime_ns) or size > _LARGEST_READ:
            return False
        return hashlib.sha256(location.read_bytes()).digest() != hash_
    except OSError:
        return True


_LARGEST_READ = 1_000_000
"""Bytes; a larger file that differs in nothing but its change time is taken for unchanged until the next scan."""
