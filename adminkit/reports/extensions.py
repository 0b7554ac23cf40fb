"""Jobs that were given more time, as a Report: what it saved, what it cost, what was refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from adminkit.messages import Message, joined, message
from adminkit.render.format import number, percent
from adminkit.render.report import Bar, Bars, Cell, Field, Panel, Pictures, Report
from adminkit.reports import nouns
from adminkit.reports.header import header
from adminkit.reports.spec import Query, ReportSpec
from adminkit.sqlite import sqlite3
from adminkit.stats.extensions import PARTS, Extensions, Group, extensions
from adminkit.units import show_time

ALL: Final = "(all)"
#: The columns after the one of the part.
FIELDS: Final = (
    Field("jobs", "count", "jobs that were given more time, and ended"),
    Field("given_hours", "hours", "how much more time they were given"),
    Field("used_hours", "hours", "how much of it they used"),
    Field("unneeded", "count", "of these jobs, those that ended within the limit that they had asked for"),
    Field("finished", "count", "of these jobs, those that completed after that limit"),
    Field("at_limit", "count", "of these jobs, those that ended at their last limit"),
    Field("saved", "count", "of the finished jobs, those that had no checkpoint to continue from", data=True),
    Field(
        "saved_gpu_hours", "hours", "what the saved jobs had computed when the limit that they asked for was reached"
    ),
    Field("saved_cpu_hours", "hours", "the same of jobs without GPUs"),
    Field("more_gpu_hours", "hours", "what all these jobs used after the limit that they asked for", data=True),
    Field("more_cpu_hours", "hours", "the same of jobs without GPUs", data=True),
    Field("refused", "count", "jobs that were refused more time at least once; empty: not known"),
    Field("taken_back", "count", "how many times given time was taken back; empty: not known"),
    Field("delayed", "count", "waiting jobs that started later than they were planned (an upper bound)"),
    Field("delay_hours", "hours", "how much later they started in total (an upper bound)"),
    Field("cluster", quiet=True),
)
#: Why more time was refused -> its meaning in a picture; docs/extend.md has a sentence for each.
WHYS: Final[Mapping[str, Message]] = {
    "planned": message("a job is planned"),
    "waiting": message("a job without a plan waits"),
    "reservation": message("a reservation begins"),
    "draining": message("a node is drained"),
    "most": message("the most of [extend]"),
    "times": message("given often enough"),
    "budget": message("the user's budget"),
    "limit": message("the longest limit"),
    "minutes": message("the account's minutes"),
    "deadline": message("the job's deadline"),
    "rules": message("the rules"),
    "earned": message("limits too often wrong"),
    "licences": message("licences"),
    "unknown": message("unknown"),
    "changed": message("limit changed by others"),
    "unread": message("the job's data unreadable"),
    "kind": message("jobs of this kind never"),
}


def extensions_report(measured: Extensions, query: Query) -> Report:
    """`measured` under the header that every output begins with."""
    title, jobs = "Jobs that were given more time", measured.overall.jobs
    meta = header(title, measured, query, jobs, _notes(measured, query), unheeded=("elapsed",))
    known = measured.acts_since is not None
    rows = [_row(group, group.value, known) for group in measured.groups]
    return Report(meta, (Field(query.by), *FIELDS), rows, [_row(measured.overall, ALL, known)], _pictures(measured))


def _row(group: Group, name: str | None, known: bool) -> list[Cell]:
    delays = [seconds for seconds in group.delays.values() if seconds > 0]
    hours = (group.saved_gpu, group.saved_cpu, group.used_gpu, group.used_cpu)
    acts: list[Cell] = [len(group.refused), group.taken_back, len(delays), sum(delays) / 3600]
    return [
        name, group.jobs, group.given / 3600, group.used / 3600, group.unneeded, group.finished, group.at_limit,
        group.saved, *(seconds / 3600 for seconds in hours), *(acts if known else [None] * len(acts)), group.cluster,
    ]  # fmt: skip


def _notes(measured: Extensions, query: Query) -> list[str]:
    overall, since = measured.overall, measured.acts_since
    if not overall.jobs and since is None:
        return [
            message("no job that was given more time has ended; adminkit extend status says whether any job has it")
        ]
    notes: list[str] = []
    if since is None:
        notes.append(
            message(
                "what was refused or taken back is not known: sync has read no log of acts that has extensions"
                " (acts in adminkit.toml)"
            )
        )
    elif query.filter.since is not None and query.filter.since < since:
        notes.append(message("what was refused or taken back is known since {time}", time=show_time(since)))
    if measured.whys:
        notes.append(
            message(
                "why more time was refused: {reasons}",
                reasons=joined(", ", (joined(" ", (why, number(jobs))) for why, jobs in measured.whys.items())),
            )
        )
    if any(seconds > 0 for seconds in overall.delays.values()):
        notes.append(message("'delayed' is an upper bound: a job may start later than planned for other reasons, too"))
    return notes


def _pictures(measured: Extensions) -> Pictures | None:
    overall = measured.overall
    if not overall.jobs:
        return None
    other = overall.jobs - overall.unneeded - overall.finished - overall.at_limit
    ends = [
        (message("within the limit asked for"), overall.unneeded),
        (message("completed after it"), overall.finished),
        (message("at the last limit"), overall.at_limit),
        (message("in another way"), max(other, 0)),
    ]
    panels: list[Panel] = [
        Bars(
            message("How jobs with more time ended"),
            nouns.jobs(overall.jobs),
            [Bar(name, jobs, jobs / overall.jobs) for name, jobs in ends],
        )
    ]
    if refusals := sum(measured.whys.values()):
        bars = [Bar(WHYS.get(why, why), jobs, jobs / refusals) for why, jobs in measured.whys.items()]
        panels.append(Bars(message("Why more time was refused"), nouns.jobs(len(overall.refused)), bars))
    share = percent(overall.finished / overall.jobs)
    title = message("{share} of the jobs that were given more time completed after the limit asked for", share=share)
    return Pictures(title, "", panels)


def _measure(trace: sqlite3.Connection, query: Query) -> Extensions:
    return extensions(trace, query.filter, query.by)


SPEC: Final = ReportSpec(
    "extensions",
    "Jobs that were given more time while they ran. Shows how much of it they used, the work that would have been lost"
    " at their limits, what was refused and why, and which jobs started later than planned.",
    "report extensions --by user",
    _measure,
    extensions_report,
    FIELDS,
    ("job_class", "queue", "user", "account", "cluster", "since", "until"),
    parts=tuple(PARTS),
    pictures=True,
    every_end=True,
    operators=("only operators may see whom more time for others delayed", "adminkit my shows your own jobs"),
)
