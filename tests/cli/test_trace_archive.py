"""adminkit trace archive: how old a month has to be."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from adminkit.cli import trace_archive
from adminkit.errors import UsageError
from adminkit.units import show_time


@pytest.mark.parametrize(
    ("text", "day", "why"),
    [
        ("3y", "2023-05-01", "years: whole months"),
        ("1y", "2025-05-01", "one"),
        ("2024-02-01", "2024-02-01", "a day"),
        ("1095d", "2023-05-24", "days"),
    ],
)
def test_how_old_a_month_has_to_be(text: str, day: str, why: str) -> None:
    now = int(datetime(2026, 5, 23, tzinfo=UTC).timestamp())
    assert show_time(trace_archive._begin(text, now)).startswith(day), why


@pytest.mark.parametrize("text", ["y", "-1y", "3 y", "3years", ""])
def test_what_is_not_an_age_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        trace_archive._begin(text, 1_790_000_000)
