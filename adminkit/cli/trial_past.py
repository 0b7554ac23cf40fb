"""What the site's own past says of a trial: how much waits vary from day to day, and how long runs are."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from adminkit import config
from adminkit.errors import AdminkitError, UsageError
from adminkit.units import parse_duration, show_short

#: Days of the past by which the smallest change is judged.
_PAST: Final = 182
DAY: Final = 86_400


@dataclass(frozen=True, slots=True)
class Past:
    """Days' mean waits, the 95th percentile of run times, and how much of a day does not count."""

    means: list[float | None]
    p95: int | None
    carry_over: int


def past(db: Path | None, cluster: str, until: int, now: int, typed: str | None) -> Past:
    """What the trace says, up to the midnight before `until`. Without a trace, unless one was named, nothing."""
    from adminkit.deploy.trial import MOST_CARRY_OVER
    from adminkit.stats.switchback import Day
    from adminkit.stats.waits import by_day, longest_p95, waits
    from adminkit.trace.connect import reader
    from adminkit.trace.location import find_trace

    begins = [until - nth * DAY for nth in range(_PAST + 1, 1, -1)]
    days = [Day(begin, begin + DAY, on=True) for begin in begins]
    carry_over = None if typed is None else _typed(typed)
    try:
        with reader(find_trace(db, config.load().db)) as trace:
            p95 = longest_p95(trace, cluster, begins[0], now)
            carry_over = _bounded(p95) if carry_over is None else carry_over
            means = [day.mean for day in by_day(waits(trace, cluster, begins[0], until, now), days, carry_over)]
            return Past(means, p95, carry_over)
    except AdminkitError:
        if db is not None:
            raise
        return Past([], None, MOST_CARRY_OVER if carry_over is None else carry_over)


def _bounded(p95: int | None) -> int:
    """The default of --carry-over: whole quarters of an hour, as waits are added up."""
    from adminkit.deploy.trial import LEAST_CARRY_OVER, MOST_CARRY_OVER
    from adminkit.stats.waits import QUARTER

    if p95 is None:
        return MOST_CARRY_OVER
    return min(max(-(-p95 // QUARTER) * QUARTER, LEAST_CARRY_OVER), MOST_CARRY_OVER)


def _typed(typed: str) -> int:
    from adminkit.deploy.trial import MOST_CARRY_OVER
    from adminkit.stats.waits import QUARTER

    seconds = -(-parse_duration(typed) // QUARTER) * QUARTER
    if seconds > MOST_CARRY_OVER:
        raise UsageError(f"--carry-over {typed} leaves too little of a day", f"at most {show_short(MOST_CARRY_OVER)}")
    return seconds
