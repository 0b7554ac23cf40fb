"""Weeks and days as people count them."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from adminkit.config import WEEKDAYS
from adminkit.feedback.calendar import Week, has_come, is_quiet, last_week

TOKYO, BERLIN = ZoneInfo("Asia/Tokyo"), ZoneInfo("Europe/Berlin")


def at(text: str, tz: ZoneInfo | None = None) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=tz or UTC).timestamp())


@pytest.mark.parametrize(
    ("now", "tz", "name", "since", "hours", "why"),
    [
        ("2026-01-07T12:00", None, "2026-W01", "2025-12-29", 168, "a week that began last year"),
        ("2027-01-04T00:00", None, "2026-W53", "2026-12-28", 168, "the first second of a Monday; a year of 53 weeks"),
        ("2027-01-03T23:59", None, "2026-W52", "2026-12-21", 168, "the last of a Sunday"),
        ("2026-01-07T12:00", TOKYO, "2026-W01", "2025-12-29", 168, "midnight is Tokyo's"),
        ("2026-03-30T00:00", BERLIN, "2026-W13", "2026-03-23", 167, "an hour is missing in spring"),
        ("2026-10-26T00:00", BERLIN, "2026-W43", "2026-10-19", 169, "and comes back in autumn"),
    ],
)
def test_the_last_whole_week(now: str, tz: ZoneInfo | None, name: str, since: str, hours: int, why: str) -> None:
    begin = at(since, tz)
    assert last_week(at(now, tz), tz or UTC) == Week(name, begin, begin + hours * 3600), why


@pytest.mark.parametrize(
    ("now", "tz", "days", "quiet"),
    [
        ("2026-01-10T00:00", None, ("sat", "sun"), True),
        ("2026-01-09T23:59", None, ("sat", "sun"), False),
        ("2026-01-09T16:00", TOKYO, ("sat",), False),
        ("2026-12-29T09:00", None, ("2026-12-29",), True),
        ("2025-12-29T09:00", None, ("2026-12-29",), False),
        ("2026-01-10T00:00", None, (), False),
    ],
)
def test_quiet_days(now: str, tz: ZoneInfo | None, days: tuple[str, ...], quiet: bool) -> None:
    assert is_quiet(at(now, tz), days, tz or UTC) is quiet


def test_a_day_has_come_until_the_week_ends() -> None:
    wednesday = at("2026-01-07T00:00")
    assert [has_come(wednesday, day, UTC) for day in WEEKDAYS] == [True, True, True, False, False, False, False]
