"""Civil time: parts of a window in a zone whose clock changes."""

from __future__ import annotations

from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest

from adminkit.stats.calendar import edges, label, zones

BERLIN = ZoneInfo("Europe/Berlin")
#: 2026-03-28T00:00:00+01:00; the clock is put forward on the 29th and back on 2026-10-25.
SPRING = 1_774_652_400
AUTUMN = 1_792_792_800  # 2026-10-24T00:00:00+02:00


@pytest.mark.parametrize(
    ("begin", "part", "hours", "why"),
    [
        (SPRING, "day", [24, 23, 24, 1], "a day without the hour from 2 to 3"),
        (AUTUMN, "day", [24, 25, 23], "a day with that hour twice"),
        (SPRING, "hour", [1] * 72, "an hour is an hour"),
        (SPRING + 1800, "day", [23.5, 23, 24, 1.5], "the first part may begin within"),
        (SPRING, "week", [47, 25], "weeks begin on Mondays"),
        (SPRING, "month", [72], "one part where no other begins"),
    ],
)
def test_parts_follow_the_clock(begin: int, part: str, hours: list[float], why: str) -> None:
    found = edges(begin, begin + 72 * 3600, part, BERLIN)
    assert [(b - a) / 3600 for a, b in pairwise(found)] == hours, why


def test_labels_and_zones_say_which_hour_of_two() -> None:
    two = AUTUMN + 26 * 3600
    assert [label(two + n * 3600, "hour", BERLIN) for n in (0, 1)] == ["2026-10-25T02+02:00", "2026-10-25T02+01:00"]
    assert label(SPRING, "week", BERLIN) == "2026-W13"
    assert zones([two, two + 3600], BERLIN) == "CEST (UTC+02:00), CET (UTC+01:00)"
    assert edges(5, 5, "day", BERLIN) == []
