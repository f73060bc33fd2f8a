"""What is amiss, as status tells it: a line for each thing, from the numbers."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from recallite.config import AgentSettings
from recallite.transcripts.names import FOLDER as SESSIONS_DIR
from recallite.types import Health, IndexStatus
from recallite.wording import counted
from recallite.work.connect import broker_url
from recallite.workspace import Scan
from recallite.workspace.files import NOTES_DIR, index_path


@dataclass(frozen=True, slots=True)
class Problem:
    """One line for people, with the remedy, and how an index is that has it: the worst one is its health."""

    health: Health
    text: str


def of_disk(settings: AgentSettings, scan: Scan) -> Iterator[Problem]:
    """What could not be looked at: no file of it is missed anywhere else."""
    notes = settings.workspace / NOTES_DIR
    if trouble := _trouble_with_folder(settings.workspace):
        yield Problem("degraded", f"the workspace {settings.workspace} {trouble}: {_STAYS}")
    elif _trouble_with_folder(notes) == _NO_FOLDER:
        yield Problem("degraded", f"{notes} {_NO_FOLDER}: no note can be in it")
    yield from _of_links(settings, scan)
    for extra in settings.extra_paths:
        name = index_path(settings.workspace, extra)
        if name not in scan.linked and _is_missing(extra):
            stays = f": {_STAYS}" if name in scan.missing else ""
            yield Problem("degraded", f"the extra path {extra} does not exist{stays}")
    for path in scan.unreadable[:_MOST_NAMED]:
        yield Problem("degraded", f"{path} cannot be read: {_STAYS}")
    if left := len(scan.unreadable[_MOST_NAMED:]):
        yield Problem(
            "degraded", f"{counted(left, 'more file or folder', 'more files and folders')} cannot be read: {_STAYS}"
        )


def _of_links(settings: AgentSettings, scan: Scan) -> Iterator[Problem]:
    """Folders that are to be looked into, and in whose place there is a symlink."""
    own = {
        NOTES_DIR: (
            f"{settings.workspace / NOTES_DIR}",
            "remove the link and name its target in memorySearch.extraPaths",
        ),
        SESSIONS_DIR: (f"{settings.sessions_dir}", "put the folder itself there"),
    }
    extra = "name its target in memorySearch.extraPaths instead"
    for path in scan.linked:
        shown, remedy = own.get(path, (f"the extra path {path}", extra))
        yield Problem("degraded", f"{shown} is a symlink, which is not followed: {_STAYS}; {remedy}")


_STAYS = "what is indexed of it stays as it is"
_NO_FOLDER = "is not a directory"
_MOST_NAMED = 10


def _trouble_with_folder(path: Path) -> str | None:
    """What stands in the way of looking into a folder."""
    try:
        return None if stat.S_ISDIR(path.stat().st_mode) else _NO_FOLDER
    except (FileNotFoundError, NotADirectoryError):
        return "does not exist"
    except OSError as error:
        return f"cannot be read ({error.strerror or type(error).__name__})"


def _is_missing(path: Path) -> bool:
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def of_files(status: IndexStatus) -> Iterator[Problem]:
    if status.unindexed:
        yield Problem(
            "stale", f"{counted(len(status.unindexed), 'file waits', 'files wait')} to be indexed: {_remedy(status)}"
        )
    if status.vanished:
        yield Problem(
            "stale",
            f"{counted(len(status.vanished), 'file is', 'files are')} gone but still indexed: {_remedy(status)}",
        )
    if status.failures:
        yield Problem("degraded", f"{counted(len(status.failures), 'input')} could not be indexed")


def _remedy(status: IndexStatus) -> str:
    """With a broker the workers do it when they are asked."""
    command = "recallite index" if broker_url() is None else f"recallite backfill --agent {status.agent}"
    return f"run `{command}`"


def of_sessions(settings: AgentSettings, status: IndexStatus) -> Iterator[Problem]:
    """What is worth knowing of transcripts: most of it is as it should be."""
    if "sessions" in settings.search.sources and _is_missing(settings.sessions_dir):
        yield Problem("ok", f"there are no transcripts yet: {settings.sessions_dir} does not exist")
    if status.bad_line_count:
        yield Problem("degraded", f"{counted(status.bad_line_count, 'line')} of transcripts could not be read")
    if status.below_threshold:
        have = counted(len(status.below_threshold), "transcript has", "transcripts have")
        yield Problem("ok", f"{have} new text below the thresholds of sync.sessions")
    if status.without_text:
        hold = counted(status.without_text, "indexed transcript holds", "indexed transcripts hold")
        yield Problem("ok", f"{hold} nothing that was said")
    if status.rewritten:
        were = counted(
            len(status.rewritten),
            "transcript was cut or written anew since it was first indexed: what is no longer in it",
            "transcripts were cut or written anew since they were first indexed: what is no longer in them",
        )
        yield Problem("ok", f"{were} is not found")


def of_chunks(status: IndexStatus) -> Iterator[Problem]:
    vectors = status.vectors
    if status.batch.waiting and vectors.pending:
        jobs = counted(status.batch.open_jobs, "batch job brings", "batch jobs bring")
        texts = counted(status.batch.waiting, "text")
        yield Problem("degraded", f"{jobs} vectors for {texts}; until then search there is by keyword")
    elif vectors.pending:
        yield Problem(
            "degraded", f"{counted(vectors.pending, 'chunk has', 'chunks have')} no vector yet: {_remedy(status)}"
        )
    if status.batch.off_reason is not None:
        yield Problem("ok", f"no batch jobs for some hours: {status.batch.off_reason}")
    if status.batch.open_jobs and not vectors.pending:
        rest = "of another model or provider"
        jobs = counted(status.batch.open_jobs, f"batch job {rest} is", f"batch jobs {rest} are")
        yield Problem("ok", f"{jobs} open")
    absent = status.chunks - vectors.indexed - vectors.pending - vectors.failed
    if vectors.state != "none" and absent > 0 and status.rebuild is None:
        yield Problem(
            "degraded",
            f"{counted(absent, 'chunk lost its vector', 'chunks lost their vectors')}: run `recallite index --force`",
        )
    if status.fts not in ("ready", "nothing indexed"):
        yield Problem("degraded", f"keyword index: {status.fts}: run `recallite index --force`")


def unserved(status: IndexStatus) -> Iterator[Problem]:
    """Work that waits while nobody is there to do it."""
    waiting = {"live": status.queue_live, "backfill": status.queue_backfill}
    if not any(waiting.values()) or status.writer is not None:
        return
    if broker_url() is None:
        if status.watcher is None or status.watcher.startswith(("stopped", "not running")):
            text = "changes wait and nothing serves them: run `recallite up` or `recallite index`"
            yield Problem("degraded", text)
        return
    lanes = {lane for worker in status.workers for lane in worker.partition("(")[2].rstrip(")").split(",")}
    for lane, count_ in waiting.items():
        if count_ and lane not in lanes:
            remedy = f"no living worker serves it: run `recallite worker --lane {lane}`"
            yield Problem(
                "degraded", f"{counted(count_, 'change waits', 'changes wait')} in the {lane} lane and {remedy}"
            )
