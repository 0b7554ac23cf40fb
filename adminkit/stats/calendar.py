"""Hours, days, weeks and months of civil time, as edges in epoch seconds. A time zone of None is the host's own.

A day on which the clock changes has 23 or 25 hours, and an hour that comes twice is two hours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final

from adminkit.units import local_time, midnight

#: More parts than this are a mistake: a window of 28 years by hour, or something that is not a time.
MOST_PARTS: Final = 250_000


def edges(begin: int, end: int, part: str, tz: tzinfo | None = None) -> list[int]:
    """The times at which the parts of [begin, end) begin, and `end`: the first is `begin`, which may lie within a part.

    `part` is hour, day, week (from Monday) or month. Empty where the window is empty; ValueError where it has more
    parts than MOST_PARTS.
    """
    if end <= begin:
        return []
    found = [begin]
    while (after := _next(found[-1], part, tz)) < end:
        found.append(after)
        if len(found) > MOST_PARTS:
            raise ValueError(f"more than {MOST_PARTS} parts")
    return [*found, end]


def label(at: int, part: str, tz: tzinfo | None = None) -> str:
    """The name of the part that the moment lies in: 2026-01-31T12+09:00, 2026-01-31, 2026-W05 (ISO 8601), 2026-01."""
    return _LABELS[part](local_time(at, tz))


def zones(times: Sequence[int], tz: tzinfo | None = None) -> str:
    """The offsets from UTC at these times, each once: JST (UTC+09:00)."""
    found: dict[str, None] = {}
    for at in times:
        local = local_time(at, tz)
        name, offset = local.tzname() or "", f"UTC{_offset(local)}"
        found["UTC" if name == "UTC" else f"{name} ({offset})" if name[:1].isalpha() else offset] = None
    return ", ".join(found)


def month_around(at: int) -> tuple[int, int]:
    """The first second of a moment's UTC month, and that of the next one."""
    first = datetime.fromtimestamp(at, UTC).replace(day=1, hour=0, minute=0, second=0)
    return int(first.timestamp()), int((first + timedelta(days=31)).replace(day=1).timestamp())


def _offset(local: datetime) -> str:
    """+09:00"""
    return local.strftime("%z")[:3] + ":" + local.strftime("%z")[3:5]


_LABELS: Final[Mapping[str, Callable[[datetime], str]]] = {
    "hour": lambda local: local.strftime("%Y-%m-%dT%H") + _offset(local),
    "day": lambda local: local.strftime("%Y-%m-%d"),
    "week": lambda local: local.strftime("%G-W%V"),
    "month": lambda local: local.strftime("%Y-%m"),
}


def _next(at: int, part: str, tz: tzinfo | None) -> int:
    """When the part that follows that of `at` begins."""
    local = local_time(at, tz)
    if part == "hour":  # where the clock is moved by half an hour, an hour may be short
        return at + 3600 - local.minute * 60 - local.second
    today = local.date()
    if part == "day":
        return midnight(today + timedelta(days=1), tz)
    if part == "week":
        return midnight(today + timedelta(days=7 - today.weekday()), tz)
    return midnight((today.replace(day=1) + timedelta(days=31)).replace(day=1), tz)
