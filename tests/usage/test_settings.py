"""Working hours: acts only then, by the clock of the host's time zone; warnings always."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from adminkit.usage.ladder import Past, look
from tests.usage.jobs import HOUR, NOW, SETTINGS, use
from tests.usage.test_ladder import of

TOKYO = ZoneInfo("Asia/Tokyo")
WEEKDAYS = frozenset(range(5))


@pytest.fixture(autouse=True)
def tokyo(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        yield
    time.tzset()


def at(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=TOKYO).timestamp())


@pytest.mark.parametrize(
    ("moment", "hours", "days", "works", "why"),
    [
        ("2026-11-30T08:00:00", (480, 1080), WEEKDAYS, True, "Monday, when they begin"),
        ("2026-11-30T07:59:59", (480, 1080), WEEKDAYS, False, "a second before"),
        ("2026-11-30T17:59:59", (480, 1080), WEEKDAYS, True, "the last second"),
        ("2026-11-30T18:00:00", (480, 1080), WEEKDAYS, False, "they are over"),
        ("2026-11-29T12:00:00", (480, 1080), WEEKDAYS, False, "Sunday in Tokyo"),
        ("2026-11-30T08:30:00", (480, 1080), WEEKDAYS, True, "when it is still Sunday in UTC"),
        ("2026-11-30T23:59:59", (0, 1440), frozenset(range(7)), True, "always"),
        ("2026-11-30T12:00:00", (0, 1440), frozenset(), False, "on no day"),
    ],
)
def test_hours_and_days_are_those_of_the_host(
    moment: str, hours: tuple[int, int], days: frozenset[int], works: bool, why: str
) -> None:
    assert replace(SETTINGS, hours=hours, days=days).is_working(at(moment)) == works, why


def test_outside_of_them_a_job_is_warned_but_nothing_is_done() -> None:
    held, local = of(use(0), use(1)), time.localtime(NOW)
    minute = local.tm_hour * 60 + local.tm_min
    rule = replace(SETTINGS, hours=(minute + 1, 1440) if minute < 1439 else (0, minute))
    assert look(held, None, rule, NOW).did == "warned"
    past = Past(held.job.start or 0, NOW - HOUR)
    assert (look(held, past, rule, NOW).did, look(held, past, rule, NOW).why) == ("nothing", "hours")
    assert look(held, past, replace(rule, hours=(minute, minute + 1)), NOW).did == "requeue"
