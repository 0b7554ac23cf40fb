"""How much of the machine was in use, as a Report: hours used beside the capacity, hour by hour or month by month."""

from __future__ import annotations

from typing import Final

from adminkit.messages import Message, joined, message
from adminkit.render.format import number, percent
from adminkit.render.report import Cell, Field, Pictures, Report, Trend
from adminkit.reports import nouns
from adminkit.reports.header import ends_early, header, within_parts
from adminkit.reports.spec import Query, ReportSpec
from adminkit.sqlite import sqlite3
from adminkit.stats.capacity import RESOURCES
from adminkit.stats.utilization import PARTS, Part, Utilization, utilization
from adminkit.units import show_time

_NAMES: Final = {"gpu": "GPU", "cpu": "CPU", "node": "node"}
FIELDS: Final = (
    Field("begin", "time", "when this part of the window begins; the first part begins with the window"),
    Field("jobs", "count", "runs that ran in this part, even for one second"),
    *(
        field
        for name, word in _NAMES.items()
        for field in (
            Field(f"{name}_hours", "hours", f"{word}-hours that runs held while not suspended", quiet=True),
            Field(f"{name}_capacity", "hours", f"{word}-hours of all nodes that existed, down or not", quiet=True),
            Field(f"{name}_utilization", "share", f"{name}_hours / {name}_capacity", quiet=True),
            Field(
                f"{name}_down", "hours", f"{word}-hours of nodes that were down, drained or in maintenance", quiet=True
            ),
        )
    ),
)
#: gpu_kind -> whose hours they are.
_KIND_OF_GPUS: Final = {
    "whole": message("of whole GPUs"),
    "slice": message("of slices"),
    "shard": message("of shards"),
    "mps": message("of MPS"),
    "mixed": message("of several of these"),
}
_LINES: Final = {"gpu": message("GPUs"), "cpu": message("CPUs")}
ALL: Final = "(all)"
_TOO_MANY: Final = "name a shorter one with --since and --until, or longer parts"
#: Changes of the number of nodes that a picture marks, at most.
MOST_MARKS: Final = 4


def utilization_report(measured: Utilization, query: Query) -> Report:
    """`measured` under the header that every output begins with."""
    notes = _notes(measured, query)
    zone = {"time zone": measured.zone} if measured.zone else {}
    meta = header(
        "Utilization", measured, query, measured.jobs, notes, unheeded=("elapsed",), heeded=zone, moment="ran"
    )
    shared = measured.nodes_shared
    rows = [_row(part, part.name, shared) for part in measured.parts]
    totals = [_row(measured.overall, ALL, shared)] if measured.overall else []
    return Report(meta, (Field(query.by), *FIELDS), rows, totals, _pictures(measured))


def _row(part: Part, name: str, nodes_shared: bool) -> list[Cell]:
    cells: list[Cell] = [name, part.begin, part.jobs]
    for resource in RESOURCES:
        hours = part.hours[resource]
        share = None if resource == "node" and nodes_shared else hours.share
        cells += [_hours(hours.used), _hours(hours.capacity), share, _hours(hours.down)]
    return cells


def _hours(seconds: float | None) -> float | None:
    return None if seconds is None else seconds / 3600


def _notes(measured: Utilization, query: Query) -> list[str]:
    if measured.overall is None:
        return [nouns.NOTHING_RAN]
    notes = ends_early(measured.until, query)
    if sum(part.jobs for part in measured.parts) > measured.jobs:
        notes.append(
            message(
                "a run counts in each {part} in which it ran, so the counts add up to more than the total",
                part=nouns.part(query.by),
            )
        )
    if measured.open:
        notes.append(
            message(
                "{runs} had not ended: counted up to now, or up to when sync last saw them",
                runs=nouns.runs(measured.open),
            )
        )
    for resource, runs in measured.unknown.items():
        if runs:
            notes.append(
                message(
                    "{column} leave out {runs} with an unknown number of {what}",
                    column=f"{resource}_hours",
                    runs=nouns.runs(runs),
                    what=f"{_NAMES[resource]}s",
                )
            )
    if measured.kinds:
        its = [
            joined(" ", (number(round(seconds / 3600, 1)), _KIND_OF_GPUS[kind]))
            for kind, seconds in measured.kinds.items()
        ]
        notes.append(message("gpu_hours are in GPU equivalents: {kinds} (docs/gpus.md)", kinds=joined(", ", its)))
    if measured.nodes_shared:
        notes.append(
            message("no node_utilization: jobs may share nodes, and node_hours count a node once for each of its jobs")
        )
    return notes + _machine(measured, query)


def _machine(measured: Utilization, query: Query) -> list[str]:
    """What the capacity is made of, and what the trace does not know of it."""
    known, begin = measured.capacity, measured.parts[0].begin
    if known.stated is not None:
        return [
            message(
                "the capacity is {cpus} CPUs throughout, as the trace's header states; no node is known",
                cpus=number(known.stated),
            )
        ]
    if known.since is None:
        return [
            message(
                "the trace has no record of the nodes, so capacity cannot be computed: run `adminkit sync`,"
                " or import with --site"
            )
        ]
    notes: list[str] = []
    if known.since > begin:
        notes.append(
            message(
                "the nodes are known since {time}; no capacity is known for a part that began earlier",
                time=show_time(known.since),
            )
        )
    hours = joined(", ", (_kind(name, number(round(seconds / 3600, 1))) for name, seconds in known.kinds.items()))
    notes.append(message("node-hours: {hours}; reservations are known only where their nodes were down", hours=hours))
    if known.shared:
        notes.append(
            message(
                "{nodes} of the capacity also belong to other queues, whose jobs are not counted",
                nodes=nouns.nodes(known.shared),
            )
        )
    if query.filter.users or query.filter.accounts or query.filter.classes:
        notes.append(message("the capacity is still that of all nodes: the selected jobs share it with all other jobs"))
    return notes


def _kind(name: str, hours: str) -> Message:
    """Node-hours that could not be had, and why."""
    match name:
        case "maintenance":
            return message("{hours} in a maintenance reservation", hours=hours)
        case "drained":
            return message("{hours} drained", hours=hours)
    return message("{hours} down", hours=hours)


def _pictures(measured: Utilization) -> Pictures | None:
    overall = measured.overall
    if overall is None or not measured.jobs:
        return None
    edges = [*(part.begin for part in measured.parts), overall.end]
    known = [name for name in ("gpu", "cpu") if any(part.hours[name].share is not None for part in measured.parts)]
    marks = [(message("{change:+,} nodes", change=change), at) for at, change in measured.capacity.changes]
    shown = marks if len(marks) <= MOST_MARKS else []
    if known:
        lines = [(_LINES[name], [part.hours[name].share for part in measured.parts]) for name in known]
        said = [
            message("{share} of the {what}", share=percent(share), what=f"{_NAMES[n]}s")
            for n in known
            if (share := overall.hours[n].share) is not None
        ]
        title = message("The nodes are known for only part of the window")
        if said:
            title = message("In use: {shares}", shares=joined(", ", said))
        panel = Trend(message("In use"), message("share of the capacity"), edges, lines, "share", shown)
        return Pictures(title, "", [panel])
    panels = [
        Trend(
            message("{what} in use", what=f"{_NAMES[name]}s"),
            message("on average"),
            edges,
            [(_LINES[name], [(part.hours[name].used or 0) / (part.end - part.begin) for part in measured.parts])],
            "count",
        )
        for name in ("gpu", "cpu")
        if overall.hours[name].used
    ]
    return Pictures(message("What was in use"), "", panels) if panels else None


def _measure(trace: sqlite3.Connection, query: Query) -> Utilization:
    with within_parts(_TOO_MANY):
        return utilization(trace, query.filter, query.by, query.now)


SPEC: Final = ReportSpec(
    "utilization",
    "How much of the machine was in use, over time. Shows GPU-, CPU- and node-hours, and the capacity.",
    "report utilization --by week --plot",
    _measure,
    utilization_report,
    FIELDS,
    ("job_class", "queue", "user", "account", "cluster", "since", "until"),
    parts=PARTS,
    pictures=True,
    every_end=True,
    operators=("only operators may see what all users together used", "adminkit report states shows your own jobs"),
)
