"""Which files are an agent's memory, and what their bytes say."""

from recallite.workspace.files import FoundFile, Scan, SkippedFile, scan_memory
from recallite.workspace.paths import note_exists, read_excerpt, resolve_memory_path
from recallite.workspace.text import BinaryContentError, LineMap, decode

__all__ = [
    "BinaryContentError",
    "FoundFile",
    "LineMap",
    "Scan",
    "SkippedFile",
    "decode",
    "note_exists",
    "read_excerpt",
    "resolve_memory_path",
    "scan_memory",
]
