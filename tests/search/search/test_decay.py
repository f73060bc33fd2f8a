"""Which texts age, from which day, and how fast."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recallite.search.decay import age_days, decay, note_date

TODAY = date(2026, 2, 10)
OLD = int(datetime(2025, 9, 15, 12, tzinfo=UTC).timestamp() * 1e9)
OLD_DAYS = 148


@pytest.mark.parametrize(
    ("days", "factor"),
    [
        (None, 1.0),
        (0, 1.0),
        (1, 0.97716),
        (7, 0.85067),
        (14, 0.72363),
        (30, 0.5),
        (90, 0.125),
        (148, 0.03273),
        (180, 0.015625),
    ],
)
def test_the_printed_table(days: int | None, factor: float) -> None:
    assert decay(days, 30) == pytest.approx(factor, abs=5e-6)


@given(st.integers(0, 100_000), st.integers(0, 100_000), st.integers(1, 10_000))
def test_older_is_never_worth_more(one: int, other: int, half_life: int) -> None:
    low, high = sorted((one, other))

    assert 0.0 <= decay(high, half_life) <= decay(low, half_life) <= 1.0


@pytest.mark.parametrize(
    ("path", "day"),
    [
        ("memory/2026-02-10.md", date(2026, 2, 10)),
        ("memory/2026-02-10-router-swap.md", date(2026, 2, 10)),
        ("memory/2026-02-10-1430.md", date(2026, 2, 10)),
        ("memory/2026-02-10_x.MD", date(2026, 2, 10)),
        ("memory/2026-02-10 meeting.md", date(2026, 2, 10)),
        ("memory/sub/2026-02-10.md", date(2026, 2, 10)),
        ("memory/a/b/c/2026-02-10-x.md", date(2026, 2, 10)),
        ("memory/2024-02-29.md", date(2024, 2, 29)),
        ("memory/2026-02-30.md", None),
        ("memory/2026-13-40.md", None),
        ("memory/0000-01-01.md", None),
        ("memory/2026-02-101.md", None),
        ("memory/2026-2-1.md", None),
        ("memory/2026-02-10/notes.md", None),
        ("memory/x-2026-02-10.md", None),
        ("memory/２０２６-01-01.md", None),
        ("memory/٢٠٢٦-٠٢-١٠.md", None),
        ("MEMORY.md", None),
        ("2026-02-10.md", None),
        ("sessions/2026-02-10.jsonl", None),
        ("notes/memory/2026-01-01.md", date(2026, 1, 1)),
        ("/srv/notes/memory/2026-01-01.md", date(2026, 1, 1)),
        ("mymemory/2026-02-10.md", None),
    ],
)  # fmt: skip
def test_the_day_of_a_name(path: str, day: date | None) -> None:
    assert note_date(path) == day


@pytest.mark.parametrize(
    ("path", "source", "age"),
    [
        ("MEMORY.md", "memory", None),
        ("memory.md", "memory", None),
        ("memory/projects.md", "memory", None),
        ("memory/sub/network.md", "memory", None),
        ("memory/2026-02-30.md", "memory", None),
        ("memory/2026-02-10.md", "memory", 0),
        ("memory/2026-02-03.md", "memory", 7),
        ("memory/2025-09-15-slug.md", "memory", OLD_DAYS),
        ("memory/2027-01-01.md", "memory", 0),
        ("sessions/abc.jsonl", "sessions", OLD_DAYS),
        ("/srv/notes/guide.md", "memory", OLD_DAYS),
        ("notes/guide.md", "memory", OLD_DAYS),
        ("/srv/memory/2026-02-03.md", "memory", 7),
        ("/srv/memory/2026-02-30.md", "memory", OLD_DAYS),
    ],
)
def test_what_ages_and_from_when(path: str, source: str, age: int | None) -> None:
    assert age_days(path, source, OLD, today=TODAY, zone=UTC) == age  # type: ignore[arg-type]  # a literal from a table


@pytest.mark.parametrize("mtime_ns", [10**30, 9 * 10**20])
def test_a_time_past_the_calendar_is_of_today(mtime_ns: int) -> None:
    assert age_days("/x/a.md", "memory", mtime_ns, today=TODAY, zone=UTC) == 0
