"""What sync has done and what was set aside, as Reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from adminkit.render.format import plural
from adminkit.render.report import Field, Meta, Report
from adminkit.stats.status import Pass
from adminkit.units import show_time

STATUS_FIELDS: Final = (
    Field("cluster", help="the cluster"),
    Field("pass", help="job: runs, by their end; step: the steps of runs"),
    Field("since", "time", "where the trace begins"),
    Field("until", "time", "how far the trace reaches, according to the past runs of sync"),
    Field("windows", "count", "windows on record"),
    Field("provisional", "count", "windows that the next run asks for again"),
    Field("gaps", "count", "periods between since and until for which sacct never answered"),
    Field("gap_hours", "hours", "their total length"),
    Field("rows", "count", "rows read, including rows read twice"),
    Field("open_runs", "count", "runs without an end: pending, running, suspended, lost"),
    Field("overdue", "count", "runs still RUNNING a day after their limit: most likely runaway jobs"),
    Field("revoked", "count", "federation siblings, which are counted but not stored"),
    Field("asked_at", "time", "when sacct last answered; a sync that is dated in the future does not count"),
)

REJECTED_FIELDS: Final = (
    Field("source", help="the file, or sacct and its cluster"),
    Field("line", "count", "the first line of the row"),
    Field("reason", help="why it could not be read"),
    Field("text", help="the beginning of the row"),
    Field("seen_at", "time", "when it was last read"),
)

#: How much of a rejected row a listing shows.
SHOWN: Final = 200


def status_report(
    passes: Sequence[Pass],
    rejected: Sequence[tuple[str, int, int]],
    facts: Mapping[tuple[str, str], tuple[str, int]],
    database: str,
) -> Report:
    """One row per cluster and pass; rejected rows and what the table `note` says as notes."""
    rows = [
        (
            one.cluster, one.which, one.since, one.until, one.windows, one.provisional, one.gaps,
            one.gap_seconds / 3600, one.rows, one.open_runs, one.overdue, one.revoked, one.asked_at,
        )
        for one in passes
    ]  # fmt: skip
    notes = [
        f"{plural(count, 'row')} of {source} rejected; `adminkit trace rejected` shows why"
        for source, count, _ in rejected
    ]
    for (cluster, key), (value, _) in facts.items():
        if key == "rebuilt":
            notes.append(f"{cluster}: {value} runs share a DBIndex with another: its accounting database was rebuilt")
    notes += to_come(passes)
    if not passes:
        notes.append("no cluster has been synced into this trace yet")
    clusters = sorted({one.cluster for one in passes})
    meta = Meta("What sync has asked for", database, (None, None), clusters, {}, None, {}, notes)
    return Report(meta, STATUS_FIELDS, rows)


def to_come(passes: Sequence[Pass]) -> list[str]:
    """What is said of time to come in the trace, a sentence each."""
    said = [
        f"{one.cluster}: windows of pass {one.which} reach {show_time(one.to_come)}, which is in the future: a clock"
        " was"
        " fast when they were asked for; the next sync asks for them again"
        for one in passes
        if one.to_come is not None
    ]
    ends = {one.cluster: one.ends_to_come for one in passes if one.ends_to_come}
    return said + [
        f"{cluster}: {plural(number, 'run')} ended in the future: the clock of slurmctld's host was fast, or this one"
        " is slow"
        for cluster, number in ends.items()
    ]


def rejected_report(rows: Sequence[tuple[str, int, str, bytes, int]], database: str) -> Report:
    """The rejected rows, with place and reason."""
    shown = [
        (source, line, reason, raw[:SHOWN].decode("utf-8", "replace"), seen_at)
        for source, line, reason, raw, seen_at in rows
    ]
    return Report(Meta("Rejected rows", database, (None, None), (), {}, None, {}), REJECTED_FIELDS, shown)
