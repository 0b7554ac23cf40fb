"""The numbers of a picture as rows of text: what a reader who does not see it, or wants to copy it, gets."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from adminkit.messages import counted, message, translated
from adminkit.render.format import NONE, UNITS_OF, in_cell, number, percent, show
from adminkit.render.report import Bars, Boxes, Curves, Heat, Line, Panel, Scatter, Series, Trend
from adminkit.units import show_short, show_time

#: The shares at which a curve is read.
SHARES: Final = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 1.0)
READ: Final = message("share of the jobs that have at most")
#: Columns of the numbers of boxes and bars.
_BOX: Final = {
    "p10": message("p10"),
    "p25": message("p25"),
    "median": message("median"),
    "p75": message("p75"),
    "p90": message("p90"),
    "mean": message("mean"),
}
_BAR: Final = (message("number"), message("share"))
#: Rows of values over time, at most; of more, every k-th is left.
MOST: Final = 400


@dataclass(frozen=True, slots=True)
class Numbers:
    """A table: what stands above it, its columns, and its rows by name. A cell may have two lines."""

    caption: str
    columns: Sequence[str]
    rows: Sequence[tuple[str, Sequence[str]]]


def numbers(panel: Panel, language: str = "en") -> Numbers:
    """The numbers that are drawn; of curves, the quantiles. The panel is in that language already."""
    if isinstance(panel, Bars):
        rows = [(bar.name, [number(bar.jobs), percent(bar.share, 2)]) for bar in panel.bars]
        return Numbers(panel.subtitle, tuple(translated(name, language) for name in _BAR), rows)
    if isinstance(panel, Boxes):
        rows = [(box.name, [f"{getattr(box, name):.3f}" for name in _BOX]) for box in panel.boxes]
        return Numbers(panel.axis, tuple(translated(name, language) for name in _BOX.values()), rows)
    if isinstance(panel, Curves):
        return _curves(panel, language)
    if isinstance(panel, Heat):
        return _heat(panel, language)
    if isinstance(panel, Scatter):
        return _scatter(panel)
    return _over_time(panel, language)


def _curves(panel: Curves, language: str) -> Numbers:
    names = [line.name for line in panel.lines]
    rows = [(percent(share, 0), [_reached(line, share) for line in panel.lines]) for share in SHARES]
    marks = ", ".join(f"{name} {show_short(at)}" for name, at in panel.marks)
    return Numbers(f"{translated(READ, language)}{f'; {marks}' if marks else ''}", names, rows)


def _reached(line: Line, share: float) -> str:
    """The time at which the curve reaches the share."""
    place = bisect_left(line.share, share - 1e-9)
    return show_short(line.seconds[place]) if place < len(line.seconds) else NONE


def _heat(panel: Heat, language: str) -> Numbers:
    rows = [
        (
            name,
            [
                "" if value is None else f"{in_cell(value, panel)}\n{_jobs(jobs, language)}"
                for value, jobs in zip(values, counts, strict=True)
            ],
        )
        for name, values, counts in zip(panel.rows, panel.values, panel.counts, strict=True)
    ]
    return Numbers(f"{panel.row_axis}; {panel.column_axis}", panel.columns, rows)


def _jobs(jobs: int, language: str) -> str:
    return translated(counted("{number:,} job", "{number:,} jobs", jobs), language)


def _scatter(panel: Scatter) -> Numbers:
    rows = [
        (f"{name}, {dot.name}", [show(dot.x, panel.styles[0], None), show(dot.y, panel.styles[1], None)])
        for name, dots in panel.lines
        for dot in dots
    ]
    return Numbers("", (panel.x_axis, panel.y_axis), rows[:MOST])


def _over_time(panel: Series | Trend, language: str) -> Numbers:
    names = [name for name, _ in panel.lines]
    many = max((len(values) for _, values in panel.lines), default=0)
    step = -(-many // MOST) if many else 1
    unit = "share" if isinstance(panel, Series) else panel.unit
    rows = [
        (_when(panel, place, many), [_value(values, place, unit) for _, values in panel.lines])
        for place in range(0, many, step)
    ]
    marks = list(_marks(panel))
    return Numbers(
        "; ".join([translated(UNITS_OF[unit], language) if unit != "share" else "", *marks]).strip("; "), names, rows
    )


def _when(panel: Series | Trend, place: int, many: int) -> str:
    if isinstance(panel, Series):
        return f"day {panel.days * place / many:.1f}"
    return show_time(panel.edges[place])[:16].replace("T", " ").removesuffix(" 00:00")


def _value(values: Sequence[float | None], place: int, unit: str) -> str:
    value = values[place] if place < len(values) else None
    if value is None:
        return NONE
    return percent(value) if unit == "share" else f"{value:,.3f}" if unit == "ratio" else f"{value:,.1f}"


def _marks(panel: Series | Trend) -> Iterator[str]:
    if isinstance(panel, Trend):
        yield from (f"{name}: {show_time(at)[:10]}" for name, at in panel.marks if name)
