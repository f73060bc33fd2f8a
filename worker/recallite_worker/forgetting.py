"""What was deleted leaves the file: its text at once, its words when the keyword index is merged.

`PRAGMA secure_delete` overwrites rows. FTS5 only notes a deletion, and drops the words of it when it happens to
merge the part of the index that they stand in; here it is made to.
"""

from __future__ import annotations

from collections.abc import Callable

from recallite.index.rows import fetch
from recallite.index.schema import fts_table
from recallite.index.vector import has_table
from recallite_worker.store import IndexStore, set_meta

_MARK = "forget:"
_PAGES = 200
"""Merged at a time: about a hundredth of a second."""


def must_forget(store: IndexStore, generation: int) -> None:
    """Note, in the transaction that deletes, that the words of what is deleted have to go too."""
    set_meta(store.connection, f"{_MARK}{generation}", 1)


def forget(store: IndexStore, stop: Callable[[], bool]) -> None:
    """Merge the keyword indexes that are marked, in short transactions; goes on another time when stopped."""
    for key, step in fetch(store.connection, f"SELECT key, value FROM meta WHERE key GLOB '{_MARK}*'"):
        table = fts_table(int(str(key).removeprefix(_MARK)))
        pages = -_PAGES if step == 1 else _PAGES  # the sign begins a merge of all parts
        while has_table(store.connection, table):
            if stop():
                return
            with store.transaction() as connection:
                before = connection.total_changes()
                connection.execute(f"INSERT INTO {table}({table}, rank) VALUES ('merge', ?)", (pages,))
                pages = _PAGES
                set_meta(connection, str(key), 2)
                merged = connection.total_changes() - before
            if merged <= _CHANGES_OF_NOTHING:
                break
        with store.transaction() as connection:
            set_meta(connection, str(key), None)


_CHANGES_OF_NOTHING = 2
"""Rows that a merge of nothing changes, with the mark."""
