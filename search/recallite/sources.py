"""All that an agent's settings name as sources: its notes, its transcripts, or both. Nothing else is indexed."""

from __future__ import annotations

from recallite.config import AgentSettings
from recallite.transcripts.files import find_transcript, scan_transcripts
from recallite.workspace.files import FoundFile, Scan, find_memory_file, scan_memory


def scan_sources(settings: AgentSettings) -> Scan:
    """List the files of all sources by their index paths. Never raises for a single entry."""
    scan = Scan()
    if "memory" in settings.search.sources:
        scan = scan_memory(settings.workspace, settings.extra_paths, settings.search.exclude)
    if "sessions" in settings.search.sources:
        sessions = scan_transcripts(settings.sessions_dir)
        scan.files.update(sessions.files)
        scan.skipped.extend(sessions.skipped)
        scan.unreadable.extend(sessions.unreadable)
        scan.linked.extend(sessions.linked)
    return scan


def find_note(path: str, settings: AgentSettings) -> FoundFile | None:
    """The note with this index path; None if there is none, or notes are no source. Raises OSError."""
    if "memory" not in settings.search.sources:
        return None
    return find_memory_file(path, settings.workspace, settings.extra_paths, settings.search.exclude)


def find_session(path: str, settings: AgentSettings) -> FoundFile | None:
    """The transcript with this index path; None if there is none, or transcripts are no source. Raises OSError."""
    return find_transcript(path, settings.sessions_dir) if "sessions" in settings.search.sources else None
