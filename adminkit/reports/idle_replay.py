"""`adminkit idle --replay` as a Report: what each threshold of [idle] would have regained, and its false alarms."""

from __future__ import annotations

from typing import Final

from adminkit.render.format import percent, plural
from adminkit.render.report import Cell, Field, Meta, Report
from adminkit.units import show_duration
from adminkit.usage.replay import Frontier, Point
from adminkit.usage.settings import Settings

FIELDS: Final = (
    Field(
        "act", "duration", "the time without use until an act, as `act` in [idle]; the warning comes after half of it"
    ),
    Field("used_before", "ratio", "how many times as long a job has that used its GPUs before"),
    Field("warned", "count", "jobs that would have been warned"),
    Field("acted", "count", "jobs about which something would have been done"),
    Field("false", "count", "of these, jobs that used a GPU later: false alarms"),
    Field("false_share", "share", "false / acted"),
    Field("regained", "hours", "GPU-hours from the acts that were right to the ends of these jobs"),
    Field("regained_share", "share", "regained / all GPU-hours after the last use of jobs"),
    Field("harmed", "hours", "GPU-hours in which jobs used their GPUs after a false alarm"),
    Field("mark", help="policy: the thresholds in force; best: regains most within --most-false"),
)


def replay_report(
    found: Frontier, settings: Settings, most_false: float, source: str, rejected: int, first: str
) -> Report:
    """A row for each pair of thresholds, the shortest first."""
    best = found.best(most_false)
    answer = (
        [f"with at most {percent(most_false, 1)} false alarms, act = {show_duration(best.act)} and used_before ="
         f" {best.used_before:g} regain most: {best.regained:,.1f} GPU-hours, {best.false} of {best.acted} acts false"]
        if best
        else [f"no pair of thresholds has acts and at most {percent(most_false, 1)} false alarms"]
    )  # fmt: skip
    notes = [
        f"{plural(found.jobs, 'job')} with {found.hours:,.1f} GPU-hours: {found.idle:,.1f} with no GPU of the job in"
        f" use, of which {found.last:,.1f} after the last use",
        f"grace {show_duration(settings.grace)}; of jobs that use some of their GPUs, nothing is counted",
        *([f"{plural(rejected, 'row')} of the file could not be read: {first}"] if rejected else []),
    ]
    meta = Meta.plain(f"What [idle] would have done to the jobs of {source}", [*answer, *notes])
    return Report(meta, FIELDS, [_row(one, found, settings, best) for one in found.points])


def _row(one: Point, found: Frontier, settings: Settings, best: Point | None) -> list[Cell]:
    marks = [
        word
        for word, fits in (
            ("policy", (one.act, one.used_before) == (settings.act, settings.used_before)),
            ("best", one is best),
        )
        if fits
    ]
    return [
        one.act, one.used_before, one.warned, one.acted, one.false, one.false_share, one.regained,
        one.regained / found.last if found.last else None, one.harmed, " ".join(marks) or None,
    ]  # fmt: skip
