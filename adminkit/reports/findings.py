"""The findings of a window: of the jobs that ended in it, of users' weeks, of letters; and these as a Report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from adminkit.config import Config
from adminkit.feedback.holdout import is_held_out
from adminkit.feedback.letter_data import WEEKS, counted, worth_a_letter
from adminkit.feedback.plan import HABIT
from adminkit.feedback.site_findings import QUEUES, of_queues, of_users
from adminkit.findings import effect, estimate, outbox, overestimate, week
from adminkit.findings.finding import SEVERITIES, Finding, Severity, Subject
from adminkit.findings.registry import KINDS
from adminkit.render.format import number, percent, plural, show
from adminkit.render.report import Cell, Field, Meta, Report
from adminkit.reports.header import outside
from adminkit.sqlite import sqlite3
from adminkit.stats import due
from adminkit.stats.effect import Design
from adminkit.stats.effect import effect as measure_effect
from adminkit.stats.estimates import estimates
from adminkit.stats.measures import Measures
from adminkit.stats.select import Filter, by_window
from adminkit.stats.unsized import Unsized
from adminkit.stats.weeks import WEEK, Name, Week, names, weeks
from adminkit.trace.outbox import find
from adminkit.units import show_bytes, show_short, show_time

FIELDS: Final = (
    Field("severity", help="warn: somebody can do better; info; good"),
    Field("kind", help=", ".join(KINDS)),
    Field("verdict", help="the verdict, as the page of its kind defines it"),
    Field("at_stake", "hours", "GPU-hours at stake"),
    Field("at_stake_cpu", "hours", "CPU-hours at stake, of jobs without GPUs", quiet=True),
    Field("cluster", help="the cluster", quiet=True),
    Field("queue", help="the queue, if the finding is about one"),
    Field("user", help="the user whose jobs the finding is about; empty: all users"),
    Field(
        "name",
        help="the job name; for effect, the measure; for queue_fit, the queue with the shorter maximum; for "
        "images, the program that starts them; for bad_node, the node",
    ),
    Field("run", help="job@submission; for an array, its number and first submission"),
    Field("numbers", help="the numbers that were compared, in readable form", below=True),
    Field(
        "evidence",
        help="the same numbers in base units: seconds, GPU-seconds, CPU-seconds, byte-seconds, shares",
        data=True,
    ),
    Field("advice", help="what to do about it", below=True),
    Field("command", help="a command that shows more, or acts on the finding", below=True),
)
#: Kinds that aggregate over users, or are about letters: for the operators.
OPERATORS: Final = (*QUEUES, "effect", "outbox")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What to look at: jobs that ended in [since, until) of these clusters, and of these users where any are named.

    `everybody`: the caller may see figures of all users together, and named none. `now` is when letters wait.
    """

    since: int
    until: int
    now: int
    clusters: Sequence[str]
    users: Sequence[str] = ()
    queues: Sequence[str] = ()  # only of the kinds of feedback/site_findings.py
    everybody: bool = False
    measures: Measures = field(default_factory=Measures)  # those that are shared with others


def gather(db: sqlite3.Connection, settings: Config, scope: Scope, kinds: Sequence[str]) -> list[Finding]:
    """Every finding of these kinds: what somebody can do better first, then by what is at stake."""
    shown_kinds = [kind for kind in KINDS if kind in kinds and (scope.everybody or kind not in OPERATORS)]
    findings = [*_of_site(db, settings, scope, shown_kinds)]
    findings += [finding for kind in shown_kinds if kind in _GATHER for finding in _GATHER[kind](db, settings, scope)]
    return sorted(findings, key=lambda one: (-SEVERITIES.index(one.severity), -one.at_stake))


def jobs_of(db: sqlite3.Connection, settings: Config, scope: Scope) -> Filter:
    """The jobs that findings about queues and users count."""
    usual = settings.report
    chosen = Filter(
        scope.clusters, scope.since, scope.until, queues=scope.queues, users=scope.users, states=usual.states,
        min_elapsed=usual.min_elapsed, checkpoint_code=settings.checkpoint.code,
    )  # fmt: skip
    return by_window(db, chosen)


def unsized_notes(counted: Unsized) -> list[str]:
    """What is not known of the hours of these jobs."""
    notes = []
    if counted.gpus:
        notes.append(f"hours of {plural(counted.gpus, 'job')} with unknown GPUs are CPU-hours")
    if counted.both:
        notes.append(f"{plural(counted.both, 'job')} with unknown GPUs and CPUs: their hours are unknown")
    return notes


def _of_site(db: sqlite3.Connection, settings: Config, scope: Scope, kinds: Sequence[str]) -> Iterator[Finding]:
    chosen = jobs_of(db, settings, scope)
    yield from of_queues(db, chosen, scope.now, kinds)
    yield from of_users(db, chosen, kinds, scope.measures)


def findings_report(
    findings: Sequence[Finding],
    least: Severity,
    scope: Scope,
    kinds: Sequence[str],
    database: str,
    ends: tuple[int | None, int | None] = (None, None),
    most: int = 0,
    counted: Unsized | None = None,
) -> Report:
    """A row for each finding of that severity or above, of each kind for the first `most`; 0: for all. `ends`: the
    first and last end of the trace, None where no job ended: no finding where no job ended is not good news.
    `counted`: the jobs whose hours are not known.
    """
    grave = [one for one in findings if SEVERITIES.index(one.severity) >= SEVERITIES.index(least)]
    shown = _first(grave, most) if most else grave
    notes = []
    if rest := len(grave) - len(shown):
        notes.append(f"{plural(rest, 'finding')} with less at stake not shown: --most 0 shows all")
    if below := len(findings) - len(grave):
        notes.append(f"{plural(below, 'finding')} below {least} not shown: --severity good shows all")
    if missed := outside((scope.since, scope.until), ends):
        notes.insert(0, missed)
    elif not findings:
        notes.append("nothing found")
    window = f"from {show_time(scope.since)} until {show_time(scope.until)}"
    filters = {"ended": window, "kind": ", ".join(kinds), "severity": least}
    for name, words in (("user", scope.users), ("queue", scope.queues)):
        if words:
            filters[name] = ", ".join(words)
    if any(one.stake for one in shown):
        notes.append("hours at stake of different findings overlap: do not add them up")
        notes += unsized_notes(counted or Unsized())
    meta = Meta("Findings", database, (scope.since, scope.until), scope.clusters, filters, None, {}, notes)
    return Report(meta, FIELDS, [_row(one) for one in shown])


def _first(findings: Sequence[Finding], most: int) -> list[Finding]:
    """The first `most` of each kind, in their order."""
    counted: Counter[str] = Counter()
    shown = []
    for one in findings:
        counted[one.kind] += 1
        if counted[one.kind] <= most:
            shown.append(one)
    return shown


def _row(one: Finding) -> list[Cell]:
    subject, stake = one.subject, one.stake
    parts = (stake.gpu_seconds, stake.cpu_seconds) if stake else (None, None)
    hours = [None if part is None else part / 3600 for part in parts]
    kind = KINDS[one.kind]
    numbers = ", ".join(
        f"{name.replace('_', ' ')} {_in_words(value, kind.evidence[name].unit)}" for name, value in one.evidence.items()
    )
    evidence = " ".join(f"{name}={_bare(value)}" for name, value in one.evidence.items())
    return [
        one.severity, one.kind, one.verdict, *hours, subject.cluster, subject.queue, subject.user, subject.name,
        subject.run, numbers, evidence, one.advice, one.command,
    ]  # fmt: skip


def _in_words(value: float, unit: str) -> str:
    """A number of the evidence with what it is in; GPU- and CPU-seconds as hours, which the table has."""
    if unit == "seconds":
        return show_short(value)
    if unit == "epoch seconds":
        return show_time(round(value))
    if unit in ("GPU-seconds", "CPU-seconds"):
        return f"{show(value / 3600, 'hours', None)} {unit.removesuffix('seconds')}hours"
    if unit == "byte-seconds":
        return f"{show_bytes(round(value / 3600))}-hours"
    if unit == "year × 100 + month":
        return "{}-{:02}".format(*divmod(round(value), 100))
    if unit == "share":
        return percent(value)
    return number(int(value)) if value == int(value) else f"{value:.3f}"


def _bare(value: float) -> str:
    return f"{value:.0f}" if value == int(value) or value >= 1e6 else f"{value:.3f}"


def _counted(settings: Config, scope: Scope, cluster: str, since: int) -> Filter:
    return counted(settings, cluster, since, scope.until, scope.users)


def _overestimates(db: sqlite3.Connection, settings: Config, scope: Scope) -> list[Finding]:
    """The runs that a letter would be due for, whoever gets letters; what left most unused first."""
    limits, last = worth_a_letter(settings), scope.until - 1
    findings: list[Finding] = []
    for cluster in scope.clusters:
        habits = due.habits(db, _counted(settings, scope, cluster, last - HABIT))
        for run in due.ended(db, cluster, scope.since, last, settings.checkpoint.code):
            if not scope.users or run.user in scope.users:
                habit = habits.get(run.uid) if run.uid is not None else None
                findings += overestimate.check(overestimate.Measure(cluster, run, habit), limits)
    return sorted(findings, key=lambda one: -one.at_stake)


def _estimates(db: sqlite3.Connection, settings: Config, scope: Scope) -> Iterator[Finding]:
    for cluster in scope.clusters:
        for run in estimates(db, _counted(settings, scope, cluster, scope.since)):
            subject = Subject(
                cluster=run.cluster, user=run.user, name=run.job_name, run=f"{run.job_id_raw}@{run.submit_time}"
            )
            measure = estimate.Measure(subject, run.elapsed, run.req_limit, run.state, more=run.more_used)
            yield from estimate.check(measure, estimate.LETTERS)


def _weeks(db: sqlite3.Connection, settings: Config, scope: Scope) -> Iterator[Finding]:
    """The findings of the seven days before `until`, whenever the window begins."""
    for cluster in scope.clusters:
        before = _counted(settings, scope, cluster, scope.until - WEEKS * WEEK)
        if scope.everybody:
            (everybodys,) = weeks(db, before, WEEKS, by_user=False).values()
            yield from _week(cluster, None, everybodys)
        named = names(db, _counted(settings, scope, cluster, scope.until - WEEK), {})
        for user, weekly in sorted(weeks(db, before, WEEKS, by_user=True).items(), key=lambda one: one[0] or ""):
            yield from _week(cluster, user, weekly, named.get(user or "", {}))


def _week(
    cluster: str, user: str | None, weekly: Sequence[Week], named: Mapping[str | None, Name] | None = None
) -> Iterator[Finding]:
    if weekly[-1].runs:
        measure = week.Measure(cluster, user, weekly[-1], sum(weekly[:-1], Week()), named or {})
        yield from week.check(measure, week.LETTERS)


def _effects(db: sqlite3.Connection, settings: Config, scope: Scope) -> Iterator[Finding]:
    """The findings of `adminkit report feedback` at `until`; nothing of a cluster where no letter was sent."""
    usual = settings.report
    for cluster in scope.clusters:
        filter = Filter(
            [cluster], states=usual.states, min_elapsed=usual.min_elapsed, checkpoint_code=settings.checkpoint.code
        )
        held_out = is_held_out(settings.feedback)
        measured = measure_effect(db, filter, scope.until, Design(), held_out, effect.REPORT.others)
        for change in measured.changes if measured.lettered else ():
            yield from effect.check(effect.Measure(cluster, change), effect.REPORT)


def _outbox(db: sqlite3.Connection, settings: Config, scope: Scope) -> list[Finding]:
    waiting = [one.due_at for one in find(db, ["due", "claimed"]) if one.cluster in scope.clusters]
    refused = [one.due_at for one in find(db, ["refused"]) if one.cluster in scope.clusters]
    return outbox.check(outbox.Measure(waiting, refused, scope.now), outbox.Limits())


_GATHER: Final[Mapping[str, Callable[[sqlite3.Connection, Config, Scope], Iterator[Finding] | list[Finding]]]] = (
    MappingProxyType(
        {
            "overestimate": _overestimates, "estimate": _estimates, "week": _weeks, "effect": _effects,
            "outbox": _outbox,
        }
    )
)  # fmt: skip
