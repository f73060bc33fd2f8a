"""The names of transcripts: which files of a sessions folder are searched, and what they are called in the index."""

from __future__ import annotations

import re

FOLDER = "sessions"
"""What index paths of transcripts begin with, wherever the folder really is."""

ALL_TRANSCRIPTS = f"{FOLDER}/*"
"""Marked in place of a path: index whatever transcripts hold that is not indexed yet, however little it is."""

_TIME = r"\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}(?:\.\d{1,9})?Z"
_NAME = re.compile(rf"(?P<session>[^./\\\0][^/\\\0]*?)\.jsonl(?P<archive>\.reset\.{_TIME})?")
_NOT_IN_SESSION = frozenset({"jsonl", "reset", "deleted", "bak", "lock", "tmp"})
"""Parts of a name that make a copy of it, a lock or a leftover: `a.jsonl.bak.jsonl` is no session."""


def is_transcript(name: str) -> bool:
    """Whether a file of this name is searched: `<session>.jsonl`, or `<session>.jsonl.reset.<time>`.

    Everything else is not: `.deleted.<time>`, `.bak`, `.lock`, and any further suffix, also after `.reset.<time>`.
    """
    match = _NAME.fullmatch(name)
    return match is not None and _NOT_IN_SESSION.isdisjoint(match["session"].lower().split("."))


def is_archive(name: str) -> bool:
    """Whether a transcript of this name was put away by a reset, and grows no more."""
    match = _NAME.fullmatch(name)
    return match is not None and match["archive"] is not None


def transcript_path(name: str) -> str:
    """The name in the index of the transcript `name`."""
    return f"{FOLDER}/{name}"


def transcript_name(path: str) -> str | None:
    """The file name of a transcript by its index path; None when the path is none of a transcript."""
    folder, _, name = path.partition("/")
    return name if folder == FOLDER and is_transcript(name) else None
