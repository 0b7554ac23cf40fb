"""What changed: the last month against the one before, a year ago and the usual, and when rules and limits came."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from typing import Any, Final

from adminkit.feedback.format import amount, duration
from adminkit.quote import clean
from adminkit.render.format import percent
from adminkit.render.report import Cell, Field, Meta, Panel, Pictures, Report, Trend
from adminkit.stats.moments import Change
from adminkit.stats.months import BEFORE, LEAST_MONTHS, Months
from adminkit.units import show_duration, show_time

#: What months are compared by -> the unit of its values, as a measured cell has it.
MEASURES: Final[Mapping[str, str]] = {
    "jobs_a_day": "count",
    "accuracy": "ratio",
    "used_fraction": "ratio",
    "unused_gpu_hours_a_day": "count",
    "unused_cpu_hours_a_day": "count",
    "wait_median": "seconds",
    "wait_p95": "seconds",
    "failed_share": "share",
}
#: Pictures: the unit of the axis, and the measures that are its lines.
PANELS: Final[Mapping[str, tuple[Any, Sequence[str]]]] = {
    "accuracy": ("ratio", ("accuracy", "used_fraction")),
    "unused": ("hours", ("unused_gpu_hours_a_day", "unused_cpu_hours_a_day")),
    "wait": ("hours", ("wait_median", "wait_p95")),
    "jobs": ("count", ("jobs_a_day",)),
    "failed": ("share", ("failed_share",)),
}
FIELDS: Final = (
    Field("measure"),
    Field("unit", quiet=True, help="of the values"),
    Field("now", "measured", "the last month"),
    Field("before", "measured", "the month before"),
    Field("year_ago", "measured", "the same month a year ago"),
    Field("mean", "measured", "the mean of the earlier months, each counted once"),
    Field("lowest", "measured", "the lowest value of the earlier months"),
    Field("highest", "measured", "the highest value of the earlier months"),
    Field("cluster", quiet=True),
)
#: Clusters that get pictures, and marks that are listed.
MOST_CLUSTERS: Final = 4
MOST_MARKS: Final = 20
#: As shares of a picture's width: marks closer than this share a label; what a letter of one takes.
NEAR: Final = 0.05
LETTER: Final = 0.013


@dataclass(frozen=True, slots=True)
class Compared:
    """One measure of one cluster: the last month and those before it, None where unknown."""

    cluster: str
    measure: str
    values: Sequence[float | None]

    @property
    def now(self) -> float | None:
        return self.values[-1]

    @property
    def before(self) -> list[float]:
        """The months before that are known."""
        return [value for value in self.values[:-1] if value is not None]

    @property
    def beyond(self) -> str:
        """more or less where the last month is outside of what the months before had; else nothing."""
        if self.now is None or len(self.before) < LEAST_MONTHS:
            return ""
        return "more" if self.now > max(self.before) else "less" if self.now < min(self.before) else ""


def compared(months: Months) -> list[Compared]:
    """Each measure that any month of its cluster has and that is not 0 throughout."""
    found = []
    for cluster, some in months.clusters.items():
        values = [month.values() for month in some]
        for measure in MEASURES:
            one = Compared(cluster, measure, [value[measure] for value in values])
            if any(one.values):
                found.append(one)
    return found


def changed_report(
    months: Months, marks: Sequence[Change], database: str, words: Mapping[str, str], titles: str
) -> Report:
    """A row for each measure, and a picture for each group of them."""
    rows: list[list[Cell]] = []
    for one in compared(months):
        before = one.before
        year_ago = one.values[0] if len(one.values) == BEFORE + 1 else None
        rows.append([
            words[f"measure.{one.measure}"], MEASURES[one.measure], one.now, one.values[-2] if len(one.values) > 1 else
            None, year_ago, sum(before) / len(before) if before else None, min(before, default=None),
            max(before, default=None), one.cluster,
        ])  # fmt: skip
    window = (months.edges[0], months.edges[-1]) if months.edges else (None, None)
    meta = Meta(words["changed"], database, window, list(months.clusters), {}, None, {}, [titles] if titles else [])
    panels = list(_panels(months, marks, words))
    return Report(meta, FIELDS, rows, pictures=Pictures(words["changed"], "", panels) if panels else None)


def _panels(months: Months, marks: Sequence[Change], words: Mapping[str, str]) -> Iterator[Panel]:
    several = len(months.clusters) > 1
    for cluster, some in list(months.clusters.items())[:MOST_CLUSTERS]:
        values = [month.values() for month in some]
        numbered = numbered_marks(marks, months.edges, cluster)
        for name, (unit, measures) in PANELS.items():
            scale = 3600 if name == "wait" else 1
            lines = [
                (words[f"line.{one}"], [None if value[one] is None else (value[one] or 0) / scale for value in values])
                for one in measures
            ]
            shown = [(line, known) for line, known in lines if any(known)]
            if shown:
                title = f"{cluster}: {words[f'panel.{name}']}" if several else words[f"panel.{name}"]
                yield Trend(title, "", months.edges, shown, unit, numbered)


def numbered_marks(marks: Sequence[Change], edges: Sequence[int], cluster: str | None) -> list[tuple[str, int]]:
    """The marks within the edges as (number in the list, epoch); those of other clusters are left out.

    Of marks so close that their numbers would run into each other, the first has the numbers of all: 2, 5-7.
    """
    found: list[tuple[str, int]] = []
    named, numbers = 0, list[int]()  # the place of the last mark with a label, and the numbers of that
    for number, one in enumerate(marks, start=1):
        if edges and edges[0] <= one.at <= edges[-1] and (cluster is None or one.cluster in (None, cluster)):
            if found and one.at - found[named][1] < (edges[-1] - edges[0]) * _width(found[named][0]):
                numbers.append(number)
                found[named] = (_ranges(numbers), found[named][1])
                found.append(("", one.at))
            else:
                named, numbers = len(found), [number]
                found.append((str(number), one.at))
    return found


def _width(label: str) -> float:
    """What a label takes of a picture's width."""
    return max(NEAR, (len(label) + 1) * LETTER)


def _ranges(numbers: Sequence[int]) -> str:
    """Ascending numbers, three and more in a row by the first and the last: 1, 2, 5-7."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs)


def said(months: Months, words: Mapping[str, str], language: str) -> list[str]:
    """What is outside of the usual, in sentences; else that nothing is."""
    several = len(months.clusters) > 1
    found = [
        words[one.beyond].format(
            cluster=f"{one.cluster}: " if several else "",
            measure=words[f"measure.{one.measure}"],
            now=_shown(one.now or 0, one.measure, language),
            months=len(one.before),
            low=_shown(min(one.before), one.measure, language),
            high=_shown(max(one.before), one.measure, language),
        )
        for one in compared(months)
        if one.beyond
    ]
    if found or not months.clusters:
        return found
    if len(months.names) <= LEAST_MONTHS:
        return [words["few_months"].format(least=LEAST_MONTHS)]
    return [words["as_usual"].format(months=len(months.names) - 1)]


def which_months(months: Months, words: Mapping[str, str]) -> str:
    """What now and before are."""
    if len(months.names) < 2:
        return ""
    now = month_name(months.names[-1], words)
    end = show_time(months.edges[-1], UTC)
    if not end.endswith("-01T00:00:00"):
        now = words["month_until"].format(month=now, day=end[:10])
    return words["month_is"].format(month=now, before=month_name(months.names[-2], words))


def month_name(name: str, words: Mapping[str, str]) -> str:
    """2026-11, in Japanese 2026年11月."""
    year, _, month = name.partition("-")
    return words["month"].format(year=year, month=int(month))


def _shown(value: float, measure: str, language: str) -> str:
    unit = MEASURES[measure]
    if unit == "seconds":
        return duration(value, language)
    return f"{value:.3f}" if unit == "ratio" else percent(value) if unit == "share" else amount(value)


def change_said(one: Change, words: Mapping[str, str], several: bool = False) -> str:
    """A mark in words; of `several` clusters, a queue has its cluster's name before it."""
    values: dict[str, str] = {
        "day": show_time(one.at)[:10],
        "what": clean(one.what),
        "cluster": clean(one.cluster or ""),
    }
    if one.limits is not None:
        limits = one.limits
        values["queue"] = clean(f"{one.cluster}: {limits.queue}" if several and one.cluster else limits.queue)
        for name in ("maximum", "maximum_before", "default", "default_before"):
            seconds = getattr(limits, name)
            values[name] = words["unlimited"] if seconds is None else show_duration(seconds)
    return words[one.kind].format(**values)
