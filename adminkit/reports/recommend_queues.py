"""What the limits of queues could be, as a Report: a row for each queue, or for each queue that jobs could move to."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count
from typing import TYPE_CHECKING, Any, Final

from adminkit.quote import clean
from adminkit.recommend.menu import Offer
from adminkit.recommend.queues import Move, QueueAdvice, queue_advice
from adminkit.render.format import number, percent, plural
from adminkit.render.report import Cell, Curves, Field, Line, Pictures, Report
from adminkit.reports.header import header, label, several
from adminkit.reports.spec import Query, ReportSpec
from adminkit.sqlite import sqlite3
from adminkit.stats.accuracy import curve
from adminkit.stats.distribution import distribution
from adminkit.stats.queue_fit import queue_jobs
from adminkit.stats.select import clusters, left_out, select, snapshot, span
from adminkit.units import show_duration, show_short

if TYPE_CHECKING:
    from adminkit.stats.queue_fit import Ints, Known

FIELDS: Final = (
    Field("queue", help="the queue"),
    Field("jobs", "count", "jobs that count"),
    Field("max_limit", "duration", "the current maximum"),
    Field("new_max", "duration", "the maximum that would be enough"),
    Field("lowered", "count", "jobs that asked for more than the new maximum"),
    Field("longer", "count", "jobs that ran longer than the new maximum"),
    Field("longer_share", "share", "longer / jobs"),
    Field("longer_low", "share", "the lower end of its 95 % interval over users"),
    Field("longer_high", "share", "the upper end, which is at most the risk"),
    Field("users", "count", "users of the jobs that ran longer"),
    Field("hours", "hours", "the GPU-hours that these jobs ran"),
    Field("cpu_hours", "hours", "the CPU-hours that these jobs ran, counting only jobs without GPUs", quiet=True),
    Field("restartable", "count", "of these, jobs whose user has runs of the same name that resumed from a checkpoint"),
    Field("freed_hours", "hours", "GPU-hours that limits reserved beyond the new maximum"),
    Field("freed_cpu_hours", "hours", "the same in CPU-hours, for jobs without GPUs", quiet=True),
    Field("knee", "duration", "above this, a limit grows faster than the share of jobs that end within it"),
    Field("default_limit", "duration", "the current default"),
    Field("new_default", "duration", "the default that would be enough"),
    Field("default_jobs", "count", "jobs from which it is computed: those with the default limit, or all"),
    Field("default_longer", "count", "of these, jobs that ran longer than the new default"),
    Field("why", help="why no other maximum is proposed", below=True),
    Field("cluster", help="its cluster", quiet=True),
)
MOVE_FIELDS: Final = (
    Field("queue", help="the queue"),
    Field("to", help="a queue with a shorter maximum"),
    Field("to_limit", "duration", "its maximum"),
    Field("jobs", "count", "jobs that ended within this maximum and are not larger than the largest job in that queue"),
    Field("share", "share", "their share of the queue's jobs"),
    Field("share_low", "share", "the lower end of its 95 % interval over users"),
    Field("share_high", "share", "the upper end"),
    Field("users", "count", "how many users have these jobs"),
    Field("hours", "hours", "the GPU-hours that these jobs ran"),
    Field("cpu_hours", "hours", "the CPU-hours that these jobs ran, counting only jobs without GPUs", quiet=True),
    Field("cluster", help="its cluster", quiet=True),
)
#: A table of policy.toml.
Rule = dict[str, Any]
NO_QUEUE: Final = "(no queue)"
#: Queues that a picture and the header's sentences show, those with the most jobs.
MOST_PANELS: Final = 8


@dataclass(frozen=True, slots=True)
class Advised:
    """Advice for each queue, the queue with the most jobs first."""

    queues: Sequence[QueueAdvice]
    jobs: int
    excluded: Mapping[str, int]
    clusters: Sequence[str]
    span: tuple[int | None, int | None]


def measure(trace: sqlite3.Connection, query: Query) -> Advised:
    """The queues that the filter names, and where their jobs could go, to whatever queue."""
    chosen, offer = query.filter, query.own["offer"]
    selection = select(chosen, limits=True)
    with snapshot(trace):
        every = queue_jobs(trace, replace(chosen, queues=()), query.now)
        shown = [one for one in every if not chosen.queues or one.queue in chosen.queues]
        jobs = sum(len(one.elapsed) for one in shown)
        excluded = left_out(trace, selection, jobs)
        names, ends = tuple(chosen.clusters) or tuple(clusters(trace)), span(trace)
    return Advised([queue_advice(one, every, offer.menu, offer.risk) for one in shown], jobs, excluded, names, ends)


def view(measured: Advised, query: Query) -> Report:
    """`measured` under the header that every output begins with."""
    offer = query.own["offer"]
    risk = {"risk": percent(offer.risk, 0)}
    sentences = [_sentence(one) for one in measured.queues[:MOST_PANELS] if one.maximum or one.moves]
    meta = header(
        "What the limits of queues could be", measured, query, measured.jobs, _notes(measured), heeded=risk,
        answers=sentences,
    )  # fmt: skip
    if query.by == "move":
        rows = [_move(one, move) for one in measured.queues for move in one.moves]
        return Report(meta, MOVE_FIELDS, rows, (), _pictures(measured))
    rows = [_row(one) for one in measured.queues]
    return Report(meta, FIELDS, rows, (), _pictures(measured), {"rules": _rules(measured)})


def _row(one: QueueAdvice) -> list[Cell]:
    jobs, most, default = one.jobs, one.maximum, one.default
    shown: list[Cell] = [None] * 10
    if most:
        longer = most.longer
        shown = [
            most.limit, most.lowered, longer.jobs, longer.share, longer.low, longer.high, most.users,
            *_hours(most.ran), most.restartable,
        ]  # fmt: skip
    freed = _hours(most.freed) if most else [None, None]
    given: list[Cell] = [default.limit, default.jobs, default.longer] if default else [None] * 3
    return [
        jobs.queue, len(jobs.elapsed), jobs.max_limit, *shown, *freed, one.knee, jobs.default_limit, *given, one.why,
        jobs.cluster,
    ]  # fmt: skip


def _hours(known: Known) -> list[Cell]:
    return [None if seconds is None else seconds / 3600 for seconds in known]


def _move(one: QueueAdvice, move: Move) -> list[Cell]:
    share = move.share
    return [
        one.jobs.queue, move.to, move.max_limit, share.jobs, share.share, share.low, share.high, move.users,
        *_hours(move.ran), one.jobs.cluster,
    ]  # fmt: skip


def _sentence(one: QueueAdvice) -> str:
    """gq-short: a maximum of 1 h instead of 3 h would have killed 12 of 3,000 jobs (0.4 %) …"""
    said, most, jobs = [], one.maximum, len(one.jobs.elapsed)
    if most and one.jobs.max_limit:
        text = (
            f"a maximum of {show_short(most.limit)} instead of {show_short(one.jobs.max_limit)} would have killed"
            f" {number(most.longer.jobs)} of {plural(jobs, 'job')} ({percent(most.longer.share)})"
        )
        if most.longer.jobs:
            which = f"of which {most.restartable}" if most.restartable else "none of which"
            text += f", {which} can resume from a checkpoint"
        said.append(text)
    if one.moves:
        move = max(one.moves, key=lambda move: (move.share.jobs, -move.max_limit))
        said.append(f"{percent(move.share.share)} of the jobs would have fitted {clean(move.to)}")
    return f"{clean(one.jobs.queue or NO_QUEUE)}: {'; '.join(said)}"


def _notes(measured: Advised) -> list[str]:
    if not measured.jobs:
        return ["no job is left to count; the lines above say why"]
    notes = [
        "users who know about a shorter maximum will request other limits; adminkit simulate shows how waits would"
        " change"
    ]
    if reached := sum(one.at_limit for one in measured.queues):
        notes.append(f"{plural(reached, 'job')} ran for their whole limit; how much longer they needed is not known")
    return notes


def _pictures(measured: Advised) -> Pictures | None:
    shown = [one for one in measured.queues if len(one.jobs.elapsed) > 1][:MOST_PANELS]
    many = several(one.jobs.cluster for one in shown)
    if not shown:
        return None
    left = len(measured.queues) - len(shown)
    return Pictures(
        "How many jobs end within a limit",
        "The share of a queue's jobs that ran for this time or less, and the share that asked for this time or less."
        " Beyond the knee a longer limit lets few more jobs end."
        + (f" {plural(left, 'queue')} not shown." if left else ""),
        [_curve(one, label(one.jobs.queue or NO_QUEUE, one.jobs.cluster, many)) for one in shown],
    )


def _curve(one: QueueAdvice, name: str) -> Curves:
    lines = [_line("ran", one.jobs.elapsed), _line("asked", one.jobs.req_limit)]
    known = (("knee", one.knee), ("new", one.maximum.limit) if one.maximum else ("maximum", one.jobs.max_limit))
    marks = [(word, float(limit)) for word, limit in known if limit]
    cut = one.maximum.longer.share if one.maximum else None
    said = "its maximum stays" if cut is None else f"the new maximum cuts {percent(cut)}"
    return Curves(f"{name}: {plural(len(one.jobs.elapsed), 'job')}", said, lines, marks)


def _line(name: str, of: Ints) -> Line:
    found = curve(distribution(of))
    return Line(name, found.seconds, found.share)


def _rules(measured: Advised) -> list[Rule]:
    rules: list[Rule] = []
    for one in measured.queues:
        for word, limit in (("default", one.default), ("max", one.maximum)):
            if limit and one.jobs.queue is not None:
                name = _free(f"{_plain(one.jobs.queue)}-{word}", [rule["name"] for rule in rules])
                rules.append({"name": name, "queues": [one.jobs.queue], f"{word}_limit": show_duration(limit.limit)})
    return rules


def _plain(queue: str) -> str:
    """A queue's name as the beginning of a rule's."""
    return "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in queue.lower())[:40]


def _free(name: str, taken: Sequence[str]) -> str:
    return next(one for one in chain([name], (f"{name}-{n}" for n in count(2))) if one not in taken)


def rules_text(report: Report, offer: Offer) -> str:
    """The advice of a report as a policy.toml, which `policy check`, `diff` and `replay` and `simulate` take."""
    tables = [{"risk": offer.risk, "menu": [show_duration(limit) for limit in offer.menu]}, *report.extra["rules"]]
    head, *rules = ("\n".join(f"{key} = {_toml(value)}" for key, value in table.items()) for table in tables)
    return f"version = 1\n{head}\n" + "".join(f"\n[[rules]]\n{rule}\n" for rule in rules)


def _toml(value: Any) -> str:
    """Numbers, strings and lists of these: as in JSON, but that TOML has no bare DEL in a string."""
    return json.dumps(value).replace("\x7f", "\\u007f")


SPEC: Final = ReportSpec(
    "queues",
    "Find a maximum and a default limit for each queue. With --by move, counts the jobs that would fit "
    "another queue. Changes nothing.",
    "recommend queues --since 90d",
    measure,
    view,
    FIELDS,
    ("job_class", "queue", "account", "cluster", "since", "until", "states", "min_elapsed"),
    parts=("queue", "move"),
    pictures=True,
    operators=("only operators may see what queues need", "adminkit recommend walltime gives you a limit"),
)
