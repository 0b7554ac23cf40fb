"""Jobs that backfill planned by need, as a Report: soft limits against needs, and what they did to other jobs."""

from __future__ import annotations

from typing import Final

from adminkit.messages import message
from adminkit.render.format import percent
from adminkit.render.report import Bar, Bars, Cell, Curves, Field, Line, Panel, Pictures, Report
from adminkit.reports import nouns
from adminkit.reports.header import header
from adminkit.reports.spec import Query, ReportSpec
from adminkit.sqlite import sqlite3
from adminkit.stats.accuracy import Curve, curve
from adminkit.stats.distribution import distribution
from adminkit.stats.planned import PARTS, SOON, Group, Planned, planned
from adminkit.units import show_short

ALL: Final = "(all)"
#: The columns after the one of the part.
FIELDS: Final = (
    Field("jobs", "count", "jobs that had a soft limit, ran and ended"),
    Field("outlived", "count", "of these, jobs that ran longer than their soft limit"),
    Field("outlived_share", "share", "outlived, as a share of jobs"),
    Field("over_median", "duration", "median of the time by which those jobs exceeded their soft limit"),
    Field("over_p95", "duration", "95th percentile of the time by which those jobs exceeded their soft limit"),
    Field("plan_accuracy", "ratio", "the mean of need / soft limit, or of soft limit / need if the job needed more"),
    Field("limit_accuracy", "ratio", "the mean of need / limit over the same jobs"),
    Field("backfilled", "count", "jobs that backfill started; empty if the trace does not say how jobs started"),
    Field("ahead", "count", "of these, jobs that could start only because of their soft limit (an upper bound)"),
    Field("delayed", "count", "other jobs that waited for a job that had outlived its soft limit (an upper bound)"),
    Field("delay_hours", "hours", "how long the delayed jobs waited for such jobs in total (an upper bound)"),
    Field("cluster", quiet=True),
)
#: Panels of needs: upper ends of need / soft limit, and their names.
_RATIOS: Final = (
    (0.25, message("a quarter or less")),
    (0.5, message("to a half")),
    (1.0, message("to the whole")),
    (2.0, message("to twice")),
)
_MORE: Final = message("more")


def planned_report(measured: Planned, query: Query) -> Report:
    """`measured` under the header that every output begins with."""
    title, jobs = "Soft limits: what backfill planned, and what jobs needed", measured.overall.jobs
    meta = header(title, measured, query, jobs, _notes(measured), unheeded=("elapsed",))
    rows = [_row(group, group.value) for group in measured.groups]
    return Report(meta, (Field(query.by), *FIELDS), rows, [_row(measured.overall, ALL)], _pictures(measured))


def _row(group: Group, name: str | None) -> list[Cell]:
    jobs, judged = group.jobs, len(group.needs)
    median, p95 = _quantiles(group.over)
    return [
        name, jobs, len(group.over), len(group.over) / jobs if jobs else None, median, p95,
        group.fits / judged if judged else None, sum(group.uses) / len(group.uses) if group.uses else None,
        group.backfilled if group.told else None, group.ahead if group.told else None,
        len(group.delays) if jobs else None, sum(group.delays.values()) / 3600 if jobs else None, group.cluster,
    ]  # fmt: skip


def _quantiles(values: list[int]) -> tuple[int | None, int | None]:
    """Median and 95th percentile, whole seconds."""
    import numpy as np

    if not values:
        return None, None
    median, p95 = np.quantile(values, (0.5, 0.95))
    return round(float(median)), round(float(p95))


def _notes(measured: Planned) -> list[str]:
    overall = measured.overall
    if not overall.jobs:
        return [message("no job with a soft limit has ended; adminkit soft-limits status says whether any job has one")]
    notes: list[str] = [
        message(
            "needs: the run times of {jobs} that completed or reached their limit (COMPLETED, TIMEOUT)",
            jobs=nouns.jobs(len(overall.needs)),
        ),
        message(
            "'ahead' and 'delayed' are upper bounds: Slurm does not keep its plans, so both are inferred"
            " from when and where jobs started"
        ),
        message(
            "delayed jobs started on the nodes of a job that had outlived its soft limit, within {time} of its end",
            time=show_short(SOON),
        ),
    ]
    if untold := overall.jobs - overall.told:
        notes.append(
            message("backfilled and ahead leave out {jobs} whose kind of start is not known", jobs=nouns.jobs(untold))
        )
    if measured.unplaced:
        unplaced = nouns.jobs(measured.unplaced)
        notes.append(message("ahead and delayed leave out {jobs} whose nodes are not known", jobs=unplaced))
    return notes


def _pictures(measured: Planned) -> Pictures | None:
    import numpy as np

    overall = measured.overall
    if not overall.needs:
        return None
    jobs = len(overall.needs)
    needs, softs = (curve(distribution(np.asarray(of))) for of in (overall.needs, overall.softs))
    panels: list[Panel] = [
        Curves(
            message("Needs and soft limits"),
            message(
                "half need at most {need}, half are planned with at most {soft}",
                need=show_short(_half(needs)),
                soft=show_short(_half(softs)),
            ),
            (
                Line(message("needed"), needs.seconds, needs.share),
                Line(message("soft limit"), softs.seconds, softs.share),
            ),
        ),
        Bars(message("Need as a share of the soft limit"), nouns.jobs(jobs), _ratios(overall)),
    ]
    share = percent(len(overall.over) / overall.jobs)
    caption = message(
        "Cumulative histogram: for each time, the share of jobs that needed that time or less, and the share that"
        " were planned with that time or less."
    )
    return Pictures(message("{share} of the jobs outlived their soft limit", share=share), caption, panels)


def _half(found: Curve) -> int:
    """The seconds that half of the jobs do not exceed."""
    return next(seconds for seconds, share in zip(found.seconds, found.share, strict=True) if share >= 0.5)


def _ratios(group: Group) -> list[Bar]:
    counts: dict[str, int] = dict.fromkeys([*(name for _, name in _RATIOS), _MORE], 0)
    for need, soft in zip(group.needs, group.softs, strict=True):
        counts[next((name for most, name in _RATIOS if need <= most * soft), _MORE)] += 1
    return [Bar(name, jobs, jobs / len(group.needs)) for name, jobs in counts.items()]


def _measure(trace: sqlite3.Connection, query: Query) -> Planned:
    return planned(trace, query.filter, query.by)


SPEC: Final = ReportSpec(
    "soft-limits",
    "How soft limits compare with what jobs needed. Shows how many jobs outlived their soft limits, how many could"
    " start only because of a soft limit, and how many other jobs were delayed.",
    "report soft-limits --since 30d",
    _measure,
    planned_report,
    FIELDS,
    ("job_class", "queue", "user", "account", "cluster", "since", "until"),
    parts=tuple(PARTS),
    pictures=True,
    every_end=True,
    operators=("only operators may see how soft limits affected other users", "adminkit my shows your own jobs"),
)
