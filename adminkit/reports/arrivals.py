"""When work is submitted, as a Report."""

from __future__ import annotations

from typing import Final

from adminkit.messages import Message, joined, message
from adminkit.render.format import percent
from adminkit.render.report import Bar, Bars, Cell, Field, Panel, Pictures, Report, Trend
from adminkit.reports import nouns
from adminkit.reports.header import header, within_parts
from adminkit.reports.spec import Query, ReportSpec
from adminkit.sqlite import sqlite3
from adminkit.stats.arrivals import PARTS, Arrivals, Row, arrivals

FIELDS: Final = (
    Field("submissions", "count", "submissions; an array counts once, and so does a het job"),
    Field("jobs", "count", "jobs in these submissions; each task of an array counts"),
    Field("share", "share", "the share of all submissions"),
    Field("per_hour", "ratio", "submissions per hour of this row's time in the window"),
    Field("gap_mean", "duration", "the mean gap; a gap is the time since the previous submission"),
    Field("gap_median", "duration", "the median gap"),
    Field("gap_p95", "duration", "95 % of the gaps are this long or shorter"),
    Field("gap_cv", "ratio", "coefficient of variation of the gaps: 1 for a Poisson process"),
    Field(
        "burstiness",
        "ratio",
        "Goh and Barabási's B: -1 if evenly spaced, 0 for a Poisson process, 1 if all arrive at once",
    ),
    Field("dispersion", "ratio", "the variance / mean of the submissions per hour: 1 for a Poisson process"),
)
ALL: Final = "(all)"
NO_QUEUE: Final = message("(no queue)")
#: Rows that a picture shows.
MOST_BARS: Final = 24


def arrivals_report(measured: Arrivals, query: Query) -> Report:
    """`measured` under the header that every output begins with."""
    overall, notes = measured.overall, _notes(measured)
    zone = {"time zone": measured.zone} if measured.zone else {}
    meta = header(
        "Arrivals", measured, query, overall.jobs, notes, unheeded=("elapsed",), heeded=zone, moment="were submitted"
    )
    rows = [_row(row, row.value, overall.submissions) for row in measured.rows]
    totals = [_row(overall, ALL, overall.submissions)]
    return Report(meta, (Field(query.by), *FIELDS), rows, totals, _pictures(measured, query.by))


def _row(row: Row, name: str | None, whole: int) -> list[Cell]:
    gaps = row.gaps
    return [
        name,
        row.submissions,
        row.jobs,
        row.submissions / whole if whole else None,
        row.submissions * 3600 / row.seconds if row.seconds else None,
        *(None if value is None else round(value) for value in (gaps.mean, gaps.median, gaps.p95)),
        gaps.cv,
        gaps.burstiness,
        row.dispersion,
    ]


def _notes(measured: Arrivals) -> list[str]:
    overall = measured.overall
    if not overall.submissions:
        return [nouns.NONE_COUNTED]
    notes: list[str] = [
        message(
            "{submissions} of {jobs}: an array or a het job is one submission; {several:,} have more than one job",
            submissions=nouns.submissions(overall.submissions),
            jobs=nouns.jobs(overall.jobs),
            several=measured.several,
        )
    ]
    if len(measured.clusters) > 1:
        notes.append(
            message(
                "gaps, burstiness and dispersion are those of several clusters together, and queues of the same name"
                " count as one: --cluster shows a single cluster"
            )
        )
    return notes


def _pictures(measured: Arrivals, part: str) -> Pictures | None:
    whole = measured.overall.submissions
    if not whole:
        return None
    panels: list[Panel] = []
    if part in ("hour", "weekday", "queue"):
        bars = [Bar(row.value or NO_QUEUE, row.submissions, row.submissions / whole) for row in measured.rows]
        panels.append(Bars(_by(part), nouns.submissions(whole), bars[:MOST_BARS]))
    times = measured.times
    length = "week" if len(times) > 2 and times[2] - times[1] > 2 * 86_400 else "day"
    line = (message("submissions"), list(measured.over_time))
    panels.append(Trend(_by(length), measured.zone, times, [line], "count"))
    most = max(measured.rows, key=lambda row: row.submissions)
    what: str = nouns.part(part)
    if part == "hour" and measured.zone:
        what = joined(" ", (what, f"({measured.zone})"))
    said = message(
        "The busiest {part} is {which}: {share} of the submissions",
        part=what,
        which=most.value or NO_QUEUE,
        share=percent(most.submissions / whole),
    )
    caption = message("Submissions are counted: an array or a het job is one, however many jobs it has.")
    return Pictures(said, caption, panels)


def _by(part: str) -> Message:
    return message("Submissions by {part}", part=nouns.part(part))


def _measure(trace: sqlite3.Connection, query: Query) -> Arrivals:
    with within_parts():
        return arrivals(trace, query.filter, query.by, query.now)


SPEC: Final = ReportSpec(
    "arrivals",
    "When jobs are submitted, and how evenly. Counts submissions by hour of the day, weekday, month, day or queue.",
    "report arrivals --by weekday",
    _measure,
    arrivals_report,
    FIELDS,
    ("job_class", "queue", "user", "account", "cluster", "since", "until"),
    parts=PARTS,
    pictures=True,
    every_end=True,
    apart=True,
)
