"""How much of the machine was in use, as a Report: hours used beside the capacity, hour by hour or month by month."""

from __future__ import annotations

from typing import Final

from adminkit.render.format import number, percent, plural
from adminkit.render.report import Cell, Field, Pictures, Report, Trend
from adminkit.reports.header import ends_early, header, within_parts
from adminkit.reports.spec import Query, ReportSpec
from adminkit.sqlite import sqlite3
from adminkit.stats import occupied
from adminkit.stats.capacity import RESOURCES
from adminkit.stats.utilization import PARTS, Part, Utilization, utilization
from adminkit.units import show_time

_NAMES: Final = {"gpu": "GPU", "cpu": "CPU", "node": "node"}
FIELDS: Final = (
    Field("begin", "time", "where the part begins; the first one where the window does"),
    Field("jobs", "count", "runs that ran in it, if only for a second"),
    *(
        field
        for name, word in _NAMES.items()
        for field in (
            Field(f"{name}_hours", "hours", f"{word}-hours that runs had, without suspension", quiet=True),
            Field(f"{name}_capacity", "hours", f"{word}-hours of every node that was there, down or not", quiet=True),
            Field(f"{name}_utilization", "share", f"{name}_hours / {name}_capacity", quiet=True),
            Field(
                f"{name}_down", "hours", f"{word}-hours of nodes that were down, drained or in maintenance", quiet=True
            ),
        )
    ),
)
_KINDS: Final = {"maintenance": "in a maintenance reservation", "drained": "drained", "down": "down"}
#: gpu_kind -> whose hours they are.
_KIND_OF_GPUS: Final = {
    "whole": "of whole GPUs",
    "slice": "of slices",
    "shard": "of shards",
    "mps": "of MPS",
    "mixed": "of several of these",
}
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
        return ["nothing ran in the window"]
    notes = ends_early(measured.until, query)
    if sum(part.jobs for part in measured.parts) > measured.jobs:
        notes.append(f"a run counts in each {query.by} in which it ran, so these jobs add up to more than all")
    if measured.open:
        notes.append(
            f"{plural(measured.open, 'run')} had not ended: counted up to now, or up to when sync last saw them"
        )
    for resource, runs in measured.unknown.items():
        if runs:
            notes.append(
                f"{resource}_hours leave out {plural(runs, 'run')} of an unknown number of {_NAMES[resource]}s"
            )
    if measured.kinds:
        its = [f"{number(round(seconds / 3600, 1))} {_KIND_OF_GPUS[kind]}" for kind, seconds in measured.kinds.items()]
        notes.append(f"gpu_hours are of GPU equivalents: {', '.join(its)} (docs/gpus.md)")
    if measured.nodes_shared:
        notes.append("no node_utilization: jobs may share nodes, and node_hours count a node once for each of its jobs")
    return notes + _machine(measured, query)


def _machine(measured: Utilization, query: Query) -> list[str]:
    """What the capacity is made of, and what the trace does not know of it."""
    known, begin = measured.capacity, measured.parts[0].begin
    if known.stated is not None:
        return [
            f"the capacity is {number(known.stated)} CPUs all the time, as the trace's header states; no node is known"
        ]
    if known.since is None:
        return ["the trace does not know the nodes, so there is no capacity: `adminkit sync`, or import --site"]
    notes = []
    if known.since > begin:
        notes.append(f"the nodes are known from {show_time(known.since)} on; a part that began before has no capacity")
    hours = [f"{number(round(seconds / 3600, 1))} {_KINDS[name]}" for name, seconds in known.kinds.items()]
    notes.append(f"of the node-hours were {', '.join(hours)}; reservations are known only where their nodes were down")
    if known.shared:
        notes.append(
            f"{plural(known.shared, 'node')} of the capacity are of other queues too, whose jobs are not counted"
        )
    if query.filter.users or query.filter.accounts or query.filter.classes:
        notes.append("the capacity is that of all jobs, whoever's these are")
    return notes


def _pictures(measured: Utilization) -> Pictures | None:
    overall = measured.overall
    if overall is None or not measured.jobs:
        return None
    edges = [*(part.begin for part in measured.parts), overall.end]
    known = [name for name in ("gpu", "cpu") if any(part.hours[name].share is not None for part in measured.parts)]
    marks = [(f"{change:+,} nodes", at) for at, change in measured.capacity.changes]
    shown = marks if len(marks) <= MOST_MARKS else []
    if known:
        lines = [(f"{_NAMES[name]}s", [part.hours[name].share for part in measured.parts]) for name in known]
        said = [f"{percent(share)} of the {_NAMES[n]}s" for n in known if (share := overall.hours[n].share) is not None]
        title = f"In use: {', '.join(said)}" if said else "The nodes are known for a part of the window"
        return Pictures(title, "", [Trend("In use", "share of the capacity", edges, lines, "share", shown)])
    panels = [
        Trend(
            f"{_NAMES[name]}s in use",
            "on average",
            edges,
            [(f"{_NAMES[name]}s", [(part.hours[name].used or 0) / (part.end - part.begin) for part in measured.parts])],
            "count",
        )
        for name in ("gpu", "cpu")
        if overall.hours[name].used
    ]
    return Pictures("What was in use", "", panels) if panels else None


def _measure(trace: sqlite3.Connection, query: Query) -> Utilization:
    with within_parts(_TOO_MANY):
        return utilization(trace, query.filter, query.by, query.now)


def _from_rollups(trace: sqlite3.Connection, query: Query) -> Utilization | None:
    with within_parts(_TOO_MANY):
        return occupied.utilization(trace, query.filter, query.by, query.now)


SPEC: Final = ReportSpec(
    "utilization",
    "GPU-, CPU- and node-hours in use, beside the capacity of the machine, over time.",
    _measure,
    utilization_report,
    FIELDS,
    ("job_class", "queue", "user", "account", "cluster", "since", "until"),
    parts=PARTS,
    pictures=True,
    every_end=True,
    operators=("only operators may see what all users together used", "adminkit report states has your own jobs"),
    from_rollups=_from_rollups,
)
