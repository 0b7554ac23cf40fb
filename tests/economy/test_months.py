"""Months by name, and where they begin in a time zone."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from adminkit.economy.months import Calendar, following, preceding

#: a month, the month after it
PAIRS = [("2026-01", "2026-02"), ("2026-11", "2026-12"), ("2026-12", "2027-01"), ("1999-12", "2000-01")]


@pytest.mark.parametrize(("month", "after"), PAIRS)
def test_one_month_follows_another(month: str, after: str) -> None:
    assert (following(month), preceding(after)) == (after, month)


def test_a_calendar_knows_months_in_any_order() -> None:
    calendar = Calendar(ZoneInfo("Asia/Tokyo"))
    for when, month in (
        ("2026-03-31T14:59:59", "2026-03"),  # a second before April begins in Tokyo
        ("2026-03-31T15:00:00", "2026-04"),
        ("2027-01-15T00:00:00", "2027-01"),
        ("2025-12-31T15:00:00", "2026-01"),
        ("2026-04-30T15:00:00", "2026-05"),
    ):
        assert calendar.of(int(datetime.fromisoformat(when).replace(tzinfo=UTC).timestamp())) == month, when
