"""The panel Trend: its axes, and how it is drawn by matplotlib and in characters. A time zone of None is the host's."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from datetime import date, timedelta, tzinfo
from typing import TYPE_CHECKING, Any, Final

from adminkit.quote import clean
from adminkit.render.format import percent
from adminkit.render.report import Trend
from adminkit.units import local_time, midnight

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_HOUR: Final = 3600
_DAY: Final = 24 * _HOUR
#: Steps of the calendar: about how many seconds, how many of which unit.
_STEPS: Final = (
    *((n * _HOUR, n, "hour") for n in (1, 3, 6, 12)),
    *((n * _DAY, n, "day") for n in (1, 2, 7, 14)),
    *((n * 30 * _DAY, n, "month") for n in (1, 2, 3, 6, 12, 24, 60, 120, 240)),
)


def ticks(first: int, last: int, most: int, tz: tzinfo | None = None) -> list[tuple[int, str]]:
    """Moments of the calendar in [first, last], about `most` of them at most, and what stands at each."""
    _, step, unit = next((one for one in _STEPS if (last - first) / one[0] <= most), _STEPS[-1])
    begin, end = (local_time(at, tz).date() for at in (first, last))
    moments: Iterator[tuple[int, str]]
    if unit == "month":
        moments = (
            (midnight(day, tz), f"{day:%Y-%m}" if step < 12 else f"{day:%Y}") for day in _months(begin, end, step)
        )
    else:
        days = (begin + timedelta(days=n) for n in range((end - begin).days + 1))
        if unit == "day":
            moments = ((midnight(day, tz), f"{day:%m-%d}") for day in days if day.toordinal() % step == 0)
        else:
            moments = ((at, local_time(at, tz).strftime("%H:%M")) for day in days for at in _hours(day, step, tz))
    return [(at, text) for at, text in moments if first <= at <= last]


def _months(begin: date, end: date, step: int) -> Iterator[date]:
    for number in range(begin.year * 12 + begin.month - 1, end.year * 12 + end.month):
        if number % step == 0:
            yield date(number // 12, number % 12 + 1, 1)


def _hours(day: date, step: int, tz: tzinfo | None) -> Iterator[int]:
    """The hours of a day, as the clock shows them, also where it changes on that day."""
    for at in range(midnight(day, tz), midnight(day + timedelta(days=1), tz), _HOUR):
        if local_time(at, tz).hour % step == 0:
            yield at


def top(panel: Trend) -> float:
    """The upper end of the axis of values: 1 for shares, else a round number."""
    most = max((value for _, values in panel.lines for value in values if value is not None), default=0.0)
    if panel.unit == "share" and most <= 1:
        return 1.0
    if most <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(most))
    return next(power * n for n in (1, 1.5, 2, 3, 4, 5, 6, 8, 10, 15) if power * n >= most)


def grid(most: float) -> list[float]:
    """The values from 0 to `most`, a number of `top`, at which lines help to read: round ones, three to five parts."""
    first = f"{most:e}".partition("e")[0].rstrip("0").rstrip(".")
    parts = {"1.5": 3, "3": 3, "6": 3, "5": 5}.get(first, 4)
    return [most * n / parts for n in range(parts + 1)]


def value_label(value: float, panel: Trend) -> str:
    """A number of the axis, five characters at most."""
    if panel.unit == "share":
        return percent(value, 0)
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= 10 * size or (value >= size and size > 1e3):
            return f"{value / size:.3g}{letter}"
    return f"{value:.4g}"


def draw(ax: Axes, panel: Trend, colours: Sequence[str], muted: str, faint: str) -> None:
    """Lines of stairs over the calendar, broken where a value is unknown, and marks on it."""
    first, last = panel.edges[0], panel.edges[-1]
    for (name, values), colour, width in zip(panel.lines, colours, (2.4, 1.1, 0.8), strict=False):
        known = [math.nan if value is None else value for value in values]
        ax.stairs(known, panel.edges, baseline=None, color=colour, linewidth=width, label=clean(name))
    for at, name in sorted((at, name) for name, at in panel.marks):
        ax.axvline(at, color=muted, linewidth=1.1, linestyle=(0, (1, 1.5)), zorder=1)
        style: Any = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points"}
        side = ("right", -3) if at > first + 0.9 * (last - first) else ("left", 3)  # within the picture
        ax.annotate(clean(name), (at, 1), xytext=(side[1], -9), size=7.5, color=muted, ha=side[0], **style)
    ax.set_xlim(first, last)
    found = ticks(first, last, 7)
    ax.set_xticks([at for at, _ in found], [text for _, text in found])
    most = top(panel)
    ax.set_ylim(0, most * 1.02)
    levels = grid(most)
    ax.set_yticks(levels, [value_label(level, panel) for level in levels])
    ax.grid(axis="y", color=faint, linewidth=0.8)


def sampled(panel: Trend, values: Sequence[float | None], width: int) -> list[float | None]:
    """The mean over the time of each of `width` columns; None where nothing of it is known."""
    first, last = panel.edges[0], panel.edges[-1]
    found: list[float | None] = []
    place = 0
    for x in range(width):
        low, high = (first + (last - first) * at / width for at in (x, x + 1))
        while place and panel.edges[place] > low:
            place -= 1
        total = weight = 0.0
        while place < len(values) and panel.edges[place] < high:
            share = min(panel.edges[place + 1], high) - max(panel.edges[place], low)
            value = values[place]
            if value is not None and share > 0:
                total, weight = total + value * share, weight + share
            place += 1
        place = max(place - 1, 0)
        found.append(total / weight if weight else None)
    return found


def paper(panel: Trend, width: int, height: int, signs: Sequence[str], both: str, mark: str) -> list[list[str]]:
    """The drawing in characters: a sign for each line, joined where it goes up or down."""
    rows = [[" "] * width for _ in range(height)]
    for _, at in panel.marks:
        for row in rows:
            row[column(panel, at, width)] = mark
    most = top(panel)
    for (_, values), sign in zip(panel.lines, signs, strict=False):
        before: int | None = None
        for x, value in enumerate(sampled(panel, values, width)):
            if value is None:
                before = None
                continue
            y = round((1 - min(value / most, 1.0)) * (height - 1))
            low, high = (y, y) if before is None else (min(y, before + (before < y)), max(y, before - (before > y)))
            for one in range(low, high + 1):
                rows[one][x] = both if rows[one][x] in signs and rows[one][x] != sign else sign
            before = y
    return rows


def column(panel: Trend, at: float, width: int) -> int:
    """Where that moment is drawn."""
    first, last = panel.edges[0], panel.edges[-1]
    return min(max(int((at - first) / max(last - first, 1) * width), 0), width - 1)
