"""Disk against index: which files differ, and which transcripts have grown enough."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from recallite.config import AgentSettings
from recallite.transcripts import Thresholds, judge
from recallite.workspace import FoundFile, Scan
from recallite_worker.keeping import is_whole
from recallite_worker.writer import FileRow, TextWriter


def changed_paths(
    scan: Scan, writers: Sequence[TextWriter], settings: AgentSettings, *, all_sessions: bool = False
) -> set[str]:
    """Paths whose size or time differs from an index, that are new, or that are gone from the disk.

    A transcript that goes on below its thresholds is not among them, unless `all_sessions`.
    """
    thresholds = Thresholds.of(settings)
    tables = [writer.files() for writer in writers]
    dirty = {path for rows in tables for path in _gone(scan, rows)}
    dirty.update(path for rows in tables[1:] for path in _to_take_over(scan, tables[0], rows))
    for path, found in scan.files.items():
        rows = [table.get(path) for table in tables]
        if found.source == "sessions":
            is_dirty = _session_is_due(found, rows, thresholds, all_sessions=all_sessions)
        else:
            is_dirty = any(row is None or not row.is_unchanged(found) for row in rows)
        if is_dirty:
            dirty.add(path)
    return dirty


def _gone(scan: Scan, rows: dict[str, FileRow]) -> Iterator[str]:
    for path in rows.keys() - scan.files.keys():
        if not scan.keeps(path):
            yield path


def _to_take_over(scan: Scan, active: dict[str, FileRow], building: dict[str, FileRow]) -> Iterator[str]:
    """What cannot be looked at now, and is not in the generation that is being built."""
    for path in active.keys() - scan.files.keys():
        if scan.keeps(path) and is_whole(active[path]) and not is_whole(building.get(path)):
            yield path


def _session_is_due(
    found: FoundFile, rows: Sequence[FileRow | None], thresholds: Thresholds, *, all_sessions: bool
) -> bool:
    known: list[FileRow | None] = [row for row in rows if row is not None]
    if known and len(known) < len(rows):
        return True  # a rebuild takes over what the old index has, however fresh
    if any(row.hash is None for row in known if row is not None):
        return True  # it could not be read, or not to its end
    verdicts = {judge(found, row, thresholds) for row in known or [None]}
    return "due" in verdicts or (all_sessions and verdicts != {"same"})
