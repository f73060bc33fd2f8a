"""What cannot be read now: what is indexed of it stays, in a generation that is being built as well."""

from __future__ import annotations

from collections.abc import Sequence

from recallite_worker.writer import FileRow, FileState, TextWriter


def keep(writers: Sequence[TextWriter], path: str) -> None:
    """Let each generation hold what one of them has of a file, which is read anew when it can be."""
    rows = [writer.file(path) for writer in writers]
    whole = next(((w, row) for w, row in zip(writers, rows, strict=True) if row is not None and is_whole(row)), None)
    for writer, row in zip(writers, rows, strict=True):
        if whole is not None and not is_whole(row):
            writer.adopt(whole[1], whole[0].chunks(whole[1].id))


def keep_unread(writers: Sequence[TextWriter], state: FileState, reason: str) -> None:
    """The same for a file that is there; it is named with the reason, and tried again by each scan."""
    keep(writers, state.path)
    for writer in writers:
        writer.keep(state, reason)


def is_whole(row: FileRow | None) -> bool:
    """Whether a file's row has all that was to be indexed of it."""
    return row is not None and row.state != "writing"
