"""Users as a Report: jobs, hours, accuracy, and this month against the months before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from adminkit.messages import counted, message
from adminkit.render.format import percent
from adminkit.render.report import Bar, Bars, Cell, Field, Panel, Pictures, Report
from adminkit.reports import nouns
from adminkit.reports.header import header, label, several
from adminkit.reports.spec import Query, ReportSpec
from adminkit.sqlite import sqlite3
from adminkit.stats.users import ACTIVE_JOBS, LEAST_JOBS, LEAST_MONTHS, User, Users

FIELDS: Final = (
    Field("user"),
    Field("jobs", "count", "jobs that count"),
    Field("jobs_a_month", "hours", "jobs per month, on average over the window"),
    Field("active", help=f"yes: at least {ACTIVE_JOBS} jobs per month on average, as in the study"),
    Field("gpu_hours", "hours", "GPU-hours of these jobs"),
    Field("gpu_share", "share", "their share of all GPU-hours in the report"),
    Field("cpu_hours", "hours", "CPU-hours of these jobs"),
    Field("accuracy", "ratio", "the mean of elapsed / limit"),
    Field("used_fraction", "ratio", "the sum of elapsed / the sum of limits: long jobs weigh more"),
    Field("jobs_now", "count", "jobs that had a limit and ended in the last month of the window"),
    Field("accuracy_now", "ratio", "the accuracy of these jobs"),
    Field("accuracy_before", "ratio", "the mean of the accuracies of the earlier months"),
    Field("change", "ratio", "accuracy_now - accuracy_before"),
    Field("low", "ratio", "the lower end of the change's 95 % interval"),
    Field("high", "ratio", "the upper end of that interval"),
    Field("verdict", help="more accurate, less accurate, no significant change, or too few months"),
    Field("last_end", "time", "when the last of these jobs ended"),
    Field("cluster", quiet=True),
)
ALL: Final = "(all)"
NO_USER: Final = message("(no user)")
#: Users that a picture shows by name.
MOST_BARS: Final = 12


def users_report(measured: Users, query: Query) -> Report:
    """`measured` under the header that every output begins with."""
    meta = header("Users", measured, query, measured.overall.jobs, _notes(measured))
    rows = [_row(measured, user, user.user) for user in measured.users]
    total = _row(measured, measured.overall, ALL)
    total[3] = None  # active is somebody
    return Report(meta, FIELDS, rows, [total], _pictures(measured))


def _row(measured: Users, user: User, name: str | None) -> list[Cell]:
    change = user.change(measured.month or "")
    whole = measured.overall.gpu_seconds
    gpu, cpu = _gpu_hours(user), _cpu_hours(user)
    return [
        name, user.jobs, user.jobs / measured.months, "yes" if measured.active(user) else "no",
        gpu, user.gpu_seconds / whole if gpu is not None and whole else None, cpu, user.accuracy, user.used_fraction,
        change.now.jobs, change.now.accuracy, change.expected, change.change, *(change.interval or (None, None)),
        verdict(change.change, change.interval), user.last_end, user.cluster,
    ]  # fmt: skip


def verdict(change: float | None, interval: tuple[float, float] | None) -> str | None:
    """The verdict in words; None where there is nothing to compare."""
    if change is None:
        return None
    if interval is None:
        return "too few months"
    if interval[0] > 0:
        return "more accurate"
    return "less accurate" if interval[1] < 0 else "no significant change"


def _gpu_hours(user: User) -> float | None:
    return None if user.jobs and user.gpus_unknown == user.jobs else user.gpu_seconds / 3600


def _cpu_hours(user: User) -> float | None:
    return None if user.jobs and user.cpus_unknown == user.jobs else user.cpu_seconds / 3600


def _notes(measured: Users) -> list[str]:
    overall = measured.overall
    if not overall.jobs or measured.month is None:
        return [nouns.NONE_COUNTED]
    active = sum(measured.active(user) for user in measured.users)
    notes: list[str] = [
        counted(
            "{active:,} of {number:,} user is active: at least {least} jobs a month on average, over {months:.1f}"
            " months",
            "{active:,} of {number:,} users are active: at least {least} jobs a month on average, over {months:.1f}"
            " months",
            len(measured.users),
            active=active,
            least=ACTIVE_JOBS,
            months=measured.months,
        ),
        message(
            "'now' is {month} (UTC); 'before' is the mean of the earlier months with at least {least} jobs;"
            " every month has the same weight",
            month=measured.month,
            least=LEAST_JOBS,
        ),
    ]
    changes = [user.change(measured.month) for user in measured.users]
    if judged := sum(one.interval is not None for one in changes):
        notes.append(
            message(
                "{users} with a 95 % interval: about one in twenty is outside the interval by chance",
                users=nouns.users(judged),
            )
        )
    if few := sum(one.change is not None and one.interval is None for one in changes):
        notes.append(
            message(
                "{users} with fewer than {least} such earlier months: no interval",
                users=nouns.users(few),
                least=LEAST_MONTHS,
            )
        )
    if left := overall.jobs - overall.limited:
        notes.append(nouns.unlimited_left_out(left))
    for resource, unknown in (("gpu", overall.gpus_unknown), ("cpu", overall.cpus_unknown)):
        if unknown:
            notes.append(nouns.hours_left_out(resource, unknown))
    return notes


def _pictures(measured: Users) -> Pictures | None:
    overall = measured.overall
    if not overall.jobs:
        return None
    panels: list[Panel] = [
        _bars(
            measured,
            message("Jobs by {part}", part=nouns.part("user")),
            nouns.jobs(overall.jobs),
            lambda user: user.jobs,
        )
    ]
    hours: list[tuple[str, Callable[[User], float]]] = [
        (nouns.GPU_HOURS, lambda user: user.gpu_seconds / 3600),
        (nouns.CPU_HOURS, lambda user: user.cpu_seconds / 3600),
    ]
    for name, of in hours:
        if of(overall) >= 1:
            title = message("{what} by {part}", what=name, part=nouns.part("user"))
            panels.append(_bars(measured, title, nouns.in_hours(round(of(overall)), name), of))
            break
    most = measured.users[0]
    title = message("{share} of the jobs belong to one user", share=percent(most.jobs / overall.jobs))
    return Pictures(title, "", panels)


def _bars(measured: Users, title: str, whole: str, of: Callable[[User], float]) -> Bars:
    """The users who have most, the others as one bar."""
    everything = of(measured.overall)
    many = several(user.cluster for user in measured.users)
    ordered = sorted(measured.users, key=of, reverse=True)
    bars = [
        Bar(label(user.user or NO_USER, user.cluster, many), round(of(user)), of(user) / everything)
        for user in ordered[:MOST_BARS]
    ]
    rest = sum(map(of, ordered[MOST_BARS:]))
    if len(ordered) > MOST_BARS:
        bars.append(Bar(nouns.others(len(ordered) - MOST_BARS), round(rest), rest / everything))
    return Bars(title, whole, bars)


def _measure(trace: sqlite3.Connection, query: Query) -> Users:
    return query.measures.users(trace, query.filter)


SPEC: Final = ReportSpec(
    "users",
    "The jobs, hours and accuracy of each user. Shows who is active, and how this month compares with the months"
    " before.",
    "report users --account physics",
    _measure,
    users_report,
    FIELDS,
    ("job_class", "queue", "user", "account", "cluster", "since", "until", "states", "min_elapsed"),
    pictures=True,
)
