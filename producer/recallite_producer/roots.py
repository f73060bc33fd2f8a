"""What is watched for an agent, and what a path below it means for the index."""

from __future__ import annotations

import functools
import os
from dataclasses import dataclass
from pathlib import Path, PurePath

from recallite.config import AgentSettings
from recallite.filenames import as_text
from recallite.transcripts.names import is_transcript, transcript_path
from recallite.types import Source
from recallite.work import SCAN
from recallite.workspace.files import NOTES_DIR, ROOT_NAMES, index_path, is_markdown, is_skipped_dir
from recallite.workspace.ignore import IGNORE_FILES, IgnoreRules

Parts = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Root:
    """A folder watched for one agent. `path` is spelled as in the settings: index paths are made of it."""

    agent: str
    workspace: Path
    path: Path
    recursive: bool
    only: frozenset[str] | None = None
    """The only files that count, of a folder that is not watched recursively; None is all Markdown."""
    source: Source = "memory"
    has_ignore_rules: bool = False
    exclude: tuple[str, ...] = ()
    may_be_link: bool = False
    """The workspace may be a symlink, and so may a folder that a single note of extraPaths lies in."""

    def change(self, parts: Parts, *, is_directory: bool) -> Change | None:
        """What an event at `parts` below the folder means; None if it means nothing. Does not touch the disk."""
        name = parts[-1]
        if self.only is not None:
            counts = name in self.only and len(parts) == 1 and not is_directory
        elif self.source == "sessions":
            counts = len(parts) == 1 and not is_directory and is_transcript(name)
        elif any(map(is_skipped_dir, parts if is_directory else parts[:-1])):
            counts = False
        elif self.has_ignore_rules and name in IGNORE_FILES and not is_directory:
            return self._change(parts[:-1], is_directory=True)  # other rules hold below this folder
        else:
            counts = is_directory or is_markdown(name)
        return self._change(parts, is_directory=is_directory) if counts else None

    def _change(self, parts: Parts, *, is_directory: bool) -> Change | None:
        is_session = self.source == "sessions"
        location = self.path.joinpath(*parts)
        path = transcript_path(as_text(parts[-1])) if is_session else index_path(self.workspace, location)
        try:
            path.encode("utf-8")
        except UnicodeEncodeError:
            return None  # never indexed; a scan lists it with the reason
        return Change(self.agent, path, self, parts, is_directory)

    def ignores(self, parts: Parts, *, is_directory: bool) -> bool:
        """Whether `exclude`, a `.gitignore` or a `.ignore` leaves the entry out, or a folder that it lies in."""
        if not self.has_ignore_rules:
            return False
        rules = _exclude_rules(self.exclude)
        for length in range(1, len(parts) + 1):
            above = parts[: length - 1]
            rules = rules.enter(self.path.joinpath(*above), above, IGNORE_FILES)
            if rules.ignores(parts[:length], is_dir=is_directory or length < len(parts)):
                return True
        return False


@functools.lru_cache(maxsize=64)
def _exclude_rules(exclude: tuple[str, ...]) -> IgnoreRules:
    return IgnoreRules(exclude)


@dataclass(frozen=True, slots=True)
class Change:
    """Something that may have changed: a note, a folder, or, with SCAN for a path, anything of the agent."""

    agent: str
    path: str
    root: Root | None = None
    """Where it was seen. None: nothing is looked up on disk before it is passed on."""
    parts: Parts = ()
    is_directory: bool = False

    @classmethod
    def anywhere(cls, agent: str) -> Change:
        return cls(agent, SCAN)

    @property
    def location(self) -> Path | None:
        return self.root.path.joinpath(*self.parts) if self.root is not None else None


def roots_of(settings: AgentSettings) -> list[Root]:
    """The folders to watch for an agent; none if its memory, or the watching, is switched off."""
    search = settings.search
    if not search.enabled or not search.sync.watch:
        return []
    roots = _note_roots(settings) if "memory" in search.sources else []
    if "sessions" in search.sources:
        roots.append(
            Root(settings.agent, settings.workspace, settings.sessions_dir, recursive=False, source="sessions")
        )
    return roots


def _note_roots(settings: AgentSettings) -> list[Root]:
    agent, workspace = settings.agent, settings.workspace
    roots = [
        Root(agent, workspace, workspace, recursive=False, only=frozenset(ROOT_NAMES), may_be_link=True),
        Root(agent, workspace, workspace / NOTES_DIR, recursive=True),
    ]
    for extra in settings.extra_paths:
        if is_markdown(extra.name) and not extra.is_dir():
            only = frozenset({extra.name})
            roots.append(Root(agent, workspace, extra.parent, recursive=False, only=only, may_be_link=True))
        else:
            exclude = settings.search.exclude
            roots.append(Root(agent, workspace, extra, recursive=True, has_ignore_rules=True, exclude=exclude))
    return roots


def parts_below(folder: str, path: str) -> Parts | None:
    """The names from `folder` down to `path`; empty for the folder itself, None for what lies elsewhere."""
    if path == folder:
        return ()
    prefix = folder if folder.endswith(os.sep) else folder + os.sep
    return PurePath(path[len(prefix) :]).parts if path.startswith(prefix) else None
