"""How jobs ended, as a Report: every way to end, and the selection that the study makes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Final

from adminkit.findings.bad_node import Limits, drain
from adminkit.messages import Message, counted, message
from adminkit.render.format import number, percent, some
from adminkit.render.report import Bar, Bars, Cell, Field, Pictures, Report
from adminkit.reports import nouns
from adminkit.reports.header import header
from adminkit.reports.spec import Query, ReportSpec
from adminkit.sqlite import sqlite3
from adminkit.stats.bad_nodes import Node, bad_nodes
from adminkit.stats.states import ENDS, PARTS, STUDY, Group, Hours, States, states

FIELDS: Final = (
    Field("jobs", "count", "runs that ended"),
    Field("success", "count", "COMPLETED"),
    Field("cancelled_by_user", "count", "CANCELLED by the uid of its user", quiet=True),
    Field("cancelled_by_others", "count", "CANCELLED by another uid: an operator, root, Slurm itself", quiet=True),
    Field("cancelled", "count", "CANCELLED, but the trace does not say by whom", quiet=True),
    Field("timeout", "count", "TIMEOUT: ended at the time limit", quiet=True),
    Field("failed", "count", "FAILED: the program's own failure, as far as Slurm can tell", quiet=True),
    Field("node_failure", "count", "NODE_FAIL, BOOT_FAIL", quiet=True),
    Field("out_of_memory", "count", "OUT_OF_MEMORY", quiet=True),
    Field("preempted", "count", "PREEMPTED", quiet=True),
    Field("requeued", "count", "REQUEUED: put back into the queue; the next run is a separate row", quiet=True),
    Field("deadline", "count", "DEADLINE: could not have ended by the deadline", quiet=True),
    Field("other", "count", "any other state, or no state", quiet=True),
    Field("success_share", "share", "success, as a share of jobs"),
    Field(
        "never_started",
        "count",
        "runs that ended without a start, because they were cancelled while they waited",
        quiet=True,
    ),
    Field("normal", "count", "counted by the study: COMPLETED, longer than 60 s"),
    Field("out_of_time", "count", "counted by the study: TIMEOUT, longer than 60 s"),
    Field("short", "count", "left out by the study: COMPLETED or TIMEOUT, at most 60 s", quiet=True),
    Field(
        "wrong_parameters",
        "count",
        "left out by the study: failed at once, as with wrong arguments, or asked for something impossible",
        quiet=True,
    ),
    Field(
        "system_failure",
        "count",
        "left out by the study: a node, the launch or the prolog failed, as far as Slurm can tell",
        quiet=True,
    ),
    Field("other_ends", "count", "left out by the study: every other end", quiet=True),
    Field("gpu_hours", "hours", "GPU-hours of all these runs", quiet=True),
    Field("gpu_hours_unsuccessful", "hours", "of these, hours of runs that did not end in success", quiet=True),
    Field("cpu_hours", "hours", "CPU-hours of all these runs", quiet=True),
    Field("cpu_hours_unsuccessful", "hours", "of these, hours of runs that did not end in success", quiet=True),
    Field("cluster", quiet=True),
)
#: Behind the others with --by node.
NODE_FIELDS: Final = (
    Field("verdict", help="bad: to blame; one of N: one of N nodes is to blame, and they ran the same jobs"),
    Field("compared", "count", "runs that can be compared with similar runs on other nodes"),
    Field("compared_failed", "count", "of these, runs that failed or timed out; in one hour, only the first"),
    Field("ratio", "ratio", "its failures / those of the other nodes in the same groups of similar runs"),
    Field("ratio_low", "ratio", "the lower end of the 95 % interval of this ratio"),
    Field("ratio_high", "ratio", "the upper end"),
    Field("p", "ratio", "at most this is the probability of as many failures on a node like the others"),
    Field("drain", help="the command that keeps jobs off a bad node", below=True),
)
ALL: Final = "(all)"
#: Those of ENDS that are unknown in a group where no cancelled run says who cancelled it.
_BY_WHOM: Final = ("cancelled_by_user", "cancelled_by_others")
#: As pictures name them.
_WORDS: Final[Mapping[str, Message]] = {
    "success": message("success"),
    "cancelled_by_user": message("cancelled by the user"),
    "cancelled_by_others": message("cancelled by somebody else"),
    "cancelled": message("cancelled by ?"),
    "timeout": message("timeout"),
    "failed": message("failed"),
    "node_failure": message("node failure"),
    "out_of_memory": message("out of memory"),
    "preempted": message("preempted"),
    "requeued": message("requeued"),
    "deadline": message("deadline"),
    "other": message("other"),
    "normal": message("normal"),
    "out_of_time": message("out of time"),
    "short": message("too short"),
    "wrong_parameters": message("wrong parameters"),
    "system_failure": message("suspected system failure"),
    "other_ends": message("other ends"),
}


def states_report(measured: States, query: Query) -> Report:
    """`measured` under the header that every output begins with."""
    short = {"short": message("at most {seconds} s", seconds=_short(query))}
    jobs, notes = measured.overall.jobs, _notes(measured)
    meta = header("How jobs ended", measured, query, jobs, notes, unheeded=("elapsed",), heeded=short)
    rows = [_row(group, group.value, measured.unknown) for group in measured.groups]
    total = _row(measured.overall, ALL, measured.unknown)
    if query.by == "node":
        rows, total = _with_evidence(rows, measured), [*total, *[None] * len(NODE_FIELDS)]
        return Report(meta, (Field(query.by), *FIELDS, *NODE_FIELDS), rows, [total], _pictures(measured))
    return Report(meta, (Field(query.by), *FIELDS), rows, [total], _pictures(measured))


def _with_evidence(rows: Sequence[list[Cell]], measured: States) -> list[list[Cell]]:
    """The rows of nodes with NODE_FIELDS: nodes to blame first, then the ones with the strongest evidence."""
    known = {(one.cluster, one.name): place for place, one in enumerate(measured.judged)}
    places = [known.get((str(row[-1]), str(row[0])), len(known)) for row in rows]
    order = sorted(range(len(rows)), key=lambda one: places[one])
    nothing: list[Cell] = [None] * len(NODE_FIELDS)
    return [
        [*rows[one], *(_evidence(measured.judged[places[one]]) if places[one] < len(known) else nothing)]
        for one in order
    ]


def _evidence(node: Node) -> list[Cell]:
    verdict = {0: None, 1: "bad"}.get(node.among, f"one of {node.among}")
    drained = drain(node) if node.among == 1 else None
    return [verdict, node.runs, node.failed, node.ratio, *node.interval, node.p, drained or None]


def _row(group: Group, name: str | None, unknown: Collection[str]) -> list[Cell]:
    if group.ends["cancelled"] and not any(group.ends[end] for end in _BY_WHOM):
        unknown = {*unknown, *_BY_WHOM}
    return [
        name,
        group.jobs,
        *(None if end in unknown else group.ends[end] for end in ENDS),
        group.ends["success"] / group.jobs if group.jobs else None,
        None if "never_started" in unknown else group.never_started,
        *(None if place in unknown else group.study[place] for place in STUDY),
        *_hours(group.gpu),
        *_hours(group.cpu),
        group.cluster,
    ]


def _hours(hours: Hours) -> tuple[float | None, float | None]:
    return (hours.seconds / 3600, hours.unsuccessful / 3600) if hours.known else (None, None)


def _notes(measured: States) -> list[str]:
    overall = measured.overall
    if not overall.jobs:
        return [nouns.NONE_COUNTED]
    usual = overall.study["normal"] + overall.study["out_of_time"]
    notes: list[str] = [message("the study's selection counts {jobs}: normal and out_of_time", jobs=nouns.jobs(usual))]
    if (unknown := overall.ends["cancelled"]) and "cancelled_by_user" not in measured.unknown:
        notes.append(message("the trace does not say who cancelled {jobs}", jobs=nouns.jobs(unknown)))
    if measured.judged:
        notes.append(
            message(
                "a run counts in the row of each of its nodes, with its part of the hours; a node is called bad by its"
                " runs, compared with similar runs on other nodes"
            )
        )
    if measured.others:
        named = [f"{state or '(no state)'} {number(jobs)}" for state, jobs in measured.others.items()]
        notes.append(message("other: {states}", states=some(named)))
    if hidden := measured.failed_steps:
        notes.append(
            counted(
                "a step of {number:,} successful job ended with an exit code other than 0",
                "a step of {number:,} successful jobs ended with an exit code other than 0",
                hidden,
            )
        )
    for resource, hours in (("gpu", overall.gpu), ("cpu", overall.cpu)):
        if hours.unknown:
            notes.append(nouns.hours_left_out(resource, hours.unknown))
    return notes


def _pictures(measured: States) -> Pictures | None:
    overall = measured.overall
    if not overall.jobs:
        return None
    whole = nouns.jobs(overall.jobs)
    return Pictures(
        message("{share} of the jobs ended in success", share=percent(overall.ends["success"] / overall.jobs)),
        "",
        [
            Bars(message("Jobs by how they ended"), whole, _bars(overall, overall.ends)),
            Bars(message("The study counts normal jobs and jobs out of time"), whole, _bars(overall, overall.study)),
        ],
    )


def _bars(overall: Group, counts: Mapping[str, int]) -> list[Bar]:
    """The states that occur, in their order in ENDS or STUDY."""
    return [
        Bar(_WORDS[name], counts[name], counts[name] / overall.jobs) for name in (*ENDS, *STUDY) if counts.get(name)
    ]


def _short(query: Query) -> int:
    return max(query.settings.report.min_elapsed, 0)


def _measure(trace: sqlite3.Connection, query: Query) -> States:
    measured = states(trace, query.filter, query.by, _short(query))
    if query.by != "node":
        return measured
    return replace(measured, judged=bad_nodes(trace, query.filter, Limits().false))


SPEC: Final = ReportSpec(
    "states",
    "How jobs ended: success, cancelled, timeout, failures. Also shows which jobs the study behind adminkit counts.",
    "report states --by month",
    _measure,
    states_report,
    FIELDS,
    ("job_class", "queue", "user", "account", "cluster", "since", "until"),
    parts=tuple(PARTS),
    pictures=True,
    every_end=True,
)
