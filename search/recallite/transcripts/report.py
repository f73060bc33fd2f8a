"""What status tells of an agent's transcripts: disk, index and thresholds compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from recallite.config import AgentSettings
from recallite.index.counts import IndexedFile
from recallite.transcripts.names import is_archive
from recallite.transcripts.pending import Thresholds, judge
from recallite.transcripts.progress import TranscriptProgress
from recallite.types import SkippedLine
from recallite.workspace.files import FoundFile


@dataclass(frozen=True, slots=True)
class SessionReport:
    """Fields as in `IndexStatus`."""

    due: tuple[str, ...] = ()
    """Transcripts that should be indexed now."""
    below_threshold: tuple[str, ...] = ()
    bad_line_count: int = 0
    bad_lines: tuple[SkippedLine, ...] = ()
    unfinished: tuple[SkippedLine, ...] = ()
    rewritten: tuple[str, ...] = ()
    without_text: int = 0
    """Indexed transcripts in which nobody says anything."""


def report_sessions(
    settings: AgentSettings, found: Mapping[str, FoundFile], indexed: Mapping[str, IndexedFile]
) -> SessionReport:
    """Compare the transcripts of an agent with what is indexed of them."""
    thresholds = Thresholds.of(settings)
    verdicts = {path: judge(file, indexed.get(path), thresholds) for path, file in found.items()}
    known = {path: file.transcript for path, file in sorted(indexed.items()) if file.transcript is not None}
    bad = [line for path, progress in known.items() for line in _bad_lines(path, progress)]
    return SessionReport(
        due=_with(verdicts, "due"),
        below_threshold=_with(verdicts, "waiting"),
        bad_line_count=sum(progress.bad_count for progress in known.values()) + _cut_off(known),
        bad_lines=tuple(bad),
        unfinished=tuple(
            SkippedLine(path, progress.unfinished, "has no end yet: waited for")
            for path, progress in known.items()
            if progress.unfinished is not None and not _is_over(path)
        ),
        rewritten=tuple(path for path, progress in known.items() if progress.rewritten is not None),
        without_text=sum(1 for file in indexed.values() if file.state == "indexed" and file.chunks == 0),
    )


def _with(verdicts: Mapping[str, str], verdict: str) -> tuple[str, ...]:
    return tuple(sorted(path for path, found in verdicts.items() if found == verdict))


def _bad_lines(path: str, progress: TranscriptProgress) -> list[SkippedLine]:
    lines = [SkippedLine(path, bad.line, bad.reason) for bad in progress.bad]
    if progress.unfinished is not None and _is_over(path):
        lines.append(SkippedLine(path, progress.unfinished, "cut off: the last line has no end"))
    return lines


def _cut_off(known: Mapping[str, TranscriptProgress]) -> int:
    return sum(1 for path, progress in known.items() if progress.unfinished is not None and _is_over(path))


def _is_over(path: str) -> bool:
    """Whether nothing will ever be added."""
    return is_archive(path.partition("/")[2])
