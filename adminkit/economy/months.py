"""Months of civil time in one time zone, by name: 2026-01."""

from __future__ import annotations

import re
from bisect import bisect_right
from datetime import UTC, date, tzinfo
from typing import Final
from zoneinfo import ZoneInfo

from adminkit.errors import UsageError
from adminkit.quote import quote
from adminkit.stats.calendar import label
from adminkit.units import midnight

_NAME: Final = re.compile(r"(\d{4})-(0[1-9]|1[0-2])", re.ASCII)


def parse_month(text: str) -> str:
    """The name of a month that was typed. UsageError for anything else."""
    if not _NAME.fullmatch(text.strip()) or text.strip() < "1970-01":
        raise UsageError(f"not a month: {quote(text)}", "write year and month: 2026-01")
    return text.strip()


def following(month: str) -> str:
    """The month after."""
    year, number = map(int, month.split("-"))
    return f"{year + number // 12:04}-{number % 12 + 1:02}"


def preceding(month: str) -> str:
    """The month before."""
    year, number = map(int, month.split("-"))
    return f"{year - (number == 1):04}-{(number - 2) % 12 + 1:02}"


def zone(name: str) -> tzinfo:
    """The time zone of that name. ValueError where this host has none."""
    if name == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (OSError, LookupError, ValueError):
        raise ValueError(f"this host knows no time zone {quote(name)}") from None


class Calendar:
    """Where months begin in a time zone; each is looked up once."""

    def __init__(self, tz: tzinfo) -> None:
        self._tz = tz
        self._begins = list[int]()
        self._names = list[str]()

    def begin(self, month: str) -> int:
        """The first moment of a month, epoch seconds."""
        year, number = map(int, month.split("-"))
        return midnight(date(year, number, 1), self._tz)

    def of(self, at: int) -> str:
        """The month that the moment lies in."""
        place = bisect_right(self._begins, at) - 1
        if place < 0 or place == len(self._begins) - 1:
            self._reach(at)
            place = bisect_right(self._begins, at) - 1
        return self._names[place]

    def months(self, since: int, until: int) -> list[tuple[str, int]]:
        """The months of [since, until], each with the moment at which it ends."""
        found, month, last = list[tuple[str, int]](), self.of(since), self.of(max(since, until))
        while month <= last:
            after = following(month)
            found.append((month, self.begin(after)))
            month = after
        return found

    def _reach(self, at: int) -> None:
        """Know the month of that moment and the one after it, and all between those that are known."""
        name = label(at, "month", self._tz)
        first = min(name, self._names[0]) if self._names else name
        last = max(following(name), self._names[-1]) if self._names else following(name)
        self._names = [first]
        while self._names[-1] < last:
            self._names.append(following(self._names[-1]))
        self._begins = [self.begin(one) for one in self._names]
