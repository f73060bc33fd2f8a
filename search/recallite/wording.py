"""Numbers in messages."""

from __future__ import annotations


def counted(number: int, one: str, many: str | None = None) -> str:
    """`1 file`, `2 files`; with words behind the noun `many` is said, too: `1 file waits`, `2 files wait`."""
    return f"{number} {one if number == 1 else many or f'{one}s'}"
