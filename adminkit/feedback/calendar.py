"""Days and weeks in the host's own time zone, or in `tz`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta, tzinfo
from typing import Final

from adminkit.config import WEEKDAYS
from adminkit.units import local_time, midnight

WEEK: Final = 7 * 86_400


@dataclass(frozen=True, slots=True)
class Week:
    """[since, until), epoch seconds; `name` is the ISO week, 2026-W47, or the month, 2026-10."""

    name: str
    since: int
    until: int


def last_week(now: int, tz: tzinfo | None = None) -> Week:
    """The last whole ISO week."""
    today = local_time(now, tz).date()
    monday = today - timedelta(days=today.weekday() + 7)
    year, number, _ = monday.isocalendar()
    return Week(f"{year}-W{number:02}", midnight(monday, tz), midnight(monday + timedelta(days=7), tz))


def last_month(now: int, tz: tzinfo | None = None) -> Week:
    """The last whole month, by name: 2026-10."""
    first = local_time(now, tz).date().replace(day=1)
    begin = (first - timedelta(days=1)).replace(day=1)
    return Week(f"{begin:%Y-%m}", midnight(begin, tz), midnight(first, tz))


def is_quiet(now: int, days: Sequence[str], tz: tzinfo | None = None) -> bool:
    """Whether today is one of `days`: weekdays (mon) and dates (2026-12-29)."""
    today = local_time(now, tz).date()
    return WEEKDAYS[today.weekday()] in days or today.isoformat() in days


def has_come(now: int, day: str, tz: tzinfo | None = None) -> bool:
    """Whether today is that weekday or a later one of its week."""
    return local_time(now, tz).date().weekday() >= WEEKDAYS.index(day)
