"""How long jobs waited, as a Report: by queue (or class …), and what jobs of a limit have waited."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from adminkit.errors import UsageError
from adminkit.messages import Message, joined, message
from adminkit.render.format import some
from adminkit.render.report import Cell, Field, Heat, Panel, Pictures, Report
from adminkit.reports import nouns
from adminkit.reports.header import header
from adminkit.reports.spec import Option, Query, ReportSpec
from adminkit.reports.wait_given_limit import given_report
from adminkit.sqlite import sqlite3
from adminkit.stats.wait import PARTS, Group, Wait, Waits, wait
from adminkit.stats.wait_given_limit import GivenLimit, wait_given_limit
from adminkit.trace.wait_sql import LIMITS, LONGER, QUEUES_OWN, SIZES, UNLIMITED
from adminkit.units import parse_duration, show_short

TITLE: Final = "Waits: from Eligible to the start"
ALL: Final = "(all)"
#: What made jobs wait -> the name of their row.
CAUSES: Final = {
    "array": "(array limit)",
    "dependency": "(dependency)",
    "qos": "(QOS limit)",
    "association": "(association limit)",
    "held": "(held)",
    "begin": "(begin time)",
    "other": "(other reasons)",
}
#: The columns after the one of the part.
FIELDS: Final = (
    Field("jobs", "count", "jobs that started and had waited only for the queue"),
    Field(
        "apart",
        "count",
        "other jobs, which also waited for something else; the rows below (all) show their waits",
        quiet=True,
    ),
    Field("median", "duration", "from Eligible to the start; half of the jobs waited for this time or less"),
    Field("p75", "duration", "three quarters of the jobs waited for this time or less"),
    Field("p90", "duration"),
    Field("p95", "duration"),
    Field("max", "duration", "the longest wait"),
    Field("mean", "duration"),
    Field("cluster", quiet=True),
)
#: Unit of a size -> what a heat map calls it.
UNITS: Final = {"gpus": message("GPUs"), "nodes": message("nodes"), "cpus": message("CPUs")}
#: Fewer jobs give a cell of the heat map no colour, and no finding.
FEW: Final = 5
FEWEST: Final = 30


def limit_name(bucket: int) -> str | None:
    """A bucket of limits in words; None for unknown."""
    if bucket < LONGER:
        return message("up to {limit}", limit=show_short(LIMITS[bucket]))
    longer = message("over {limit}", limit=show_short(LIMITS[-1]))
    return {LONGER: longer, UNLIMITED: message("unlimited"), QUEUES_OWN: message("the queue's")}.get(bucket)


def size_name(bucket: int) -> str | None:
    """A bucket of sizes: 1, 2, 3-4 …; None for unknown."""
    if bucket > len(SIZES):
        return message("over {limit}", limit=SIZES[-1])
    if bucket < 1:
        return None
    least, most = (0, *SIZES)[bucket - 1] + 1, SIZES[bucket - 1]
    return str(most) if least == most else f"{least}-{most}"


def sized(unit: str, bucket: int) -> Message:
    """A bucket of sizes with its unit: 1 GPU, 3-4 GPUs."""
    size, one = size_name(bucket) or "", bucket <= 1
    match unit:
        case "gpus":
            return message("{size} GPU", size=size) if one else message("{size} GPUs", size=size)
        case "nodes":
            return message("{size} node", size=size) if one else message("{size} nodes", size=size)
    return message("{size} CPU", size=size) if one else message("{size} CPUs", size=size)


def wait_report(measured: Wait, query: Query) -> Report:
    """`measured` under the header that every output begins with."""
    overall, part = measured.overall, query.by
    jobs, unheeded = overall.waits.jobs + overall.apart, ("elapsed", "states")
    meta = header(TITLE, measured, query, jobs, _notes(measured), unheeded=unheeded, moment="started")
    keys = (Field("size", help="GPUs, nodes or CPUs"), Field("limit")) if part == "cells" else (Field(part),)
    blank: list[Cell] = [None] * (len(keys) - 1)
    rows = [[*_key(group, part), *_cells(group.waits, group.apart), group.cluster] for group in measured.groups]
    totals = [[ALL, *blank, *_cells(overall.waits, overall.apart), None]]
    totals += [[CAUSES[name], *blank, *_cells(waits, None), None] for name, waits in measured.causes.items()]
    return Report(meta, (*keys, *FIELDS), rows, totals, _pictures(measured))


def _key(group: Group, part: str) -> list[Cell]:
    value = group.value
    if part == "cells":
        unit, size = value
        return [sized(unit, size), limit_name(group.limit or 0)]
    if value is None:
        return [None]
    if part == "hour":
        return [f"{value:02}"]
    return [limit_name(value) if part == "limit" else size_name(value) if part == "nodes" else str(value)]


def _cells(waits: Waits, apart: int | None) -> list[Cell]:
    return [waits.jobs, apart, *(_cell(waits, name) for name in ("median", "p75", "p90", "p95", "max", "mean"))]


def _cell(waits: Waits, name: str) -> Cell:
    value = getattr(waits, name)
    return None if value is None else round(value)


def _notes(measured: Wait) -> list[str]:
    overall, notes = measured.overall, list[str]()
    if not overall.waits.jobs + overall.apart:
        notes.append(nouns.NONE_MEASURED)
    if overall.apart:
        notes.append(
            message(
                "counted separately: {jobs} that also waited for something other than the queue; Slurm keeps only the"
                " last such reason, not how long that reason applied",
                jobs=nouns.jobs(overall.apart),
            )
        )
    if measured.untold:
        untold = nouns.jobs(measured.untold)
        notes.append(message("no reason is recorded for {jobs}: counted as waiting for the queue", jobs=untold))
    if measured.from_submission:
        notes.append(
            message(
                "jobs of {clusters} were imported without Eligible: their waits count from the submission, even for"
                " jobs that could not start yet",
                clusters=some(measured.from_submission),
            )
        )
    if measured.below_zero:
        early = nouns.jobs(measured.below_zero)
        notes.append(message("the wait of {jobs} that started before being eligible counts as 0", jobs=early))
    if measured.waiting and measured.longest is not None:
        jobs = nouns.jobs(measured.waiting)
        if measured.cut_arrays:
            jobs = message("at least {jobs}", jobs=jobs)
        notes.append(
            message(
                "still waiting, and not included in any figure: {jobs}, the first for {time}",
                jobs=jobs,
                time=show_short(measured.longest),
            )
        )
    if measured.unplaced:
        unplaced = nouns.jobs(measured.unplaced)
        notes.append(message("the heat map leaves out {jobs} with unknown size or limit", jobs=unplaced))
    return notes


def _pictures(measured: Wait) -> Pictures | None:
    overall = measured.overall.waits
    panels: list[Panel] = [
        _heat(unit, cells) for unit, cells in measured.cells.items() if any(cell.waits.jobs for cell in cells)
    ]
    if not panels or overall.median is None or overall.p90 is None:
        return None
    caption = message(
        "Each cell shows the median wait of its jobs and, below that, the number of jobs; the darker the cell, the"
        " longer the"
        " wait. No colour: fewer than {few} jobs. A dot: no jobs.",
        few=FEW,
    )
    return Pictures(_title(overall), caption, panels)


def _title(overall: Waits) -> str:
    half, most = show_short(overall.median or 0), show_short(overall.p90 or 0)
    return message("Half of the jobs start within {half}, 90 % within {most}", half=half, most=most)


def _heat(unit: str, cells: Sequence[Group]) -> Heat:
    some: dict[tuple[int, int], Waits] = {
        (cell.value[1], cell.limit or 0): cell.waits for cell in cells if cell.waits.jobs
    }
    sizes, limits = sorted({size for size, _ in some}), sorted({limit for _, limit in some})
    found = [[some.get((size, limit), Waits()) for limit in limits] for size in sizes]
    return Heat(
        message("Median wait by {unit} and limit", unit=UNITS[unit]),
        _finding(unit, some, sizes, limits),
        UNITS[unit],
        message("time limit that was asked for"),
        [size_name(size) or "" for size in sizes],
        [_column(limit) for limit in limits],
        [[one.median for one in row] for row in found],
        [[one.jobs for one in row] for row in found],
        few=FEW,
    )


def _finding(unit: str, some: dict[tuple[int, int], Waits], sizes: Sequence[int], limits: Sequence[int]) -> str:
    """The medians of the shortest and the longest limit of the size with the most jobs."""
    most = max(sizes, key=lambda size: sum(one.jobs for key, one in some.items() if key[0] == size))
    often = [limit for limit in limits if limit <= LONGER and some.get((most, limit), Waits()).jobs >= FEWEST]
    if len(often) < 2:
        return nouns.jobs(sum(one.jobs for one in some.values()))
    waited = [
        message("{wait} for {limit}", wait=show_short(some[most, limit].median or 0), limit=limit_name(limit))
        for limit in (often[0], often[-1])
    ]
    return joined(": ", (sized(unit, most), joined(", ", waited)))


def _column(limit: int) -> str:
    """A bucket of limits above its column, where there is little room."""
    if limit < LONGER:
        return show_short(LIMITS[limit])
    return f"> {show_short(LIMITS[-1])}" if limit == LONGER else limit_name(limit) or ""


def _measure(trace: sqlite3.Connection, query: Query) -> Wait | GivenLimit:
    if query.own["req_limit"] is None:
        if query.own["gpus"] is not None:
            raise UsageError("--gpus needs --limit", "name a limit: --limit 4h")
        return wait(trace, query.filter, query.now, query.by)
    return wait_given_limit(trace, query.filter, _limit(query.own["req_limit"]), _gpus(query.own["gpus"]))


def _limit(text: str) -> int:
    limit = parse_duration(text)
    if not limit:
        raise UsageError(f"--limit {text}: a limit must be longer than 0", "write 4h, 30m or 1-00:00:00")
    return limit


def _gpus(text: str | None) -> int | None:
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 6):
        raise UsageError(f"--gpus {text!r} is not a number of GPUs", "write a whole number; 0: jobs without GPUs")
    return int(text)


def _view(measured: Wait | GivenLimit, query: Query) -> Report:
    if isinstance(measured, Wait):
        return wait_report(measured, query)
    return given_report(measured, query, _gpus(query.own["gpus"]))


SPEC: Final = ReportSpec(
    "wait",
    "How long jobs waited, by queue and by limit. With --limit, shows how long jobs with about that limit waited.",
    "report wait --queue gq --limit 4h",
    _measure,
    _view,
    FIELDS,
    ("job_class", "queue", "user", "account", "cluster", "since", "until"),
    parts=tuple(PARTS),
    options=(
        Option(
            "req_limit",
            ("--limit",),
            "Show how long jobs with about this limit waited, and what to expect: 4h, 30m.",
            "TIME",
        ),
        Option("gpus", ("--gpus",), "With --limit: only jobs with about N GPUs; 0: jobs without GPUs.", "N"),
    ),
    pictures=True,
    every_end=True,
)
