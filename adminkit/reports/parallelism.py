"""How parallel jobs are, as a Report: the study's Figure 1."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from adminkit.messages import Message, counted, message
from adminkit.render.format import percent
from adminkit.render.report import Bar, Bars, Cell, Field, Panel, Pictures, Report
from adminkit.reports import nouns
from adminkit.reports.header import header
from adminkit.reports.spec import Query, ReportSpec
from adminkit.sqlite import sqlite3
from adminkit.stats.parallelism import CORE_CLASSES, Containers, Parallelism, containers, parallelism

FIELDS: Final = (
    Field(
        "part",
        help="what is counted: class, kind, gpus, nodes, cores or looks; with --by container, (all) and each class",
    ),
    Field(
        "value",
        help="depends on the part: the class, the kind of GPU, the number of GPUs, nodes or cores, what "
        "the steps show, or the container",
    ),
    Field("jobs", "count", "jobs that count"),
    Field("share", "share", "these jobs, as a share of all jobs of that part"),
)
TITLE: Final = "Parallelism of jobs"
UNKNOWN: Final = "unknown"
ALL: Final = "(all)"
NO_CONTAINER: Final = message("(none known)")
#: What steps make of jobs that look parallel.
_LOOKS: Final = {
    "parallel": message("parallel"),
    "bundle": message("bundle"),
    "one task per GPU": message("one task per GPU"),
    "not known": message("not known"),
}
#: Bars show the most frequent values only.
MOST_BARS: Final = 12


def parallelism_report(measured: Parallelism | Containers, query: Query) -> Report:
    """`measured` under the header that every output begins with."""
    if isinstance(measured, Containers):
        return _containers_report(measured, query)
    parts = (
        ("class", [(kind or UNKNOWN, jobs) for kind, jobs in _classes(measured)]),
        ("kind", list(measured.kinds.items())),
        ("gpus", _gpus(measured)),
        ("nodes", [(str(value), jobs) for value, jobs in measured.nodes.items()]),
        ("cores", _doubling(measured.cpus)),
        ("looks", list(measured.looks.items()) if _any_look(measured) else []),
    )
    notes: list[str] = []
    if not measured.jobs:
        notes.append(nouns.NONE_COUNTED)
    if measured.het_jobs:
        notes.append(
            message(
                "{components} of {jobs} are counted as whole jobs",
                components=counted("{number:,} component", "{number:,} components", measured.het_components),
                jobs=counted("{number:,} het job", "{number:,} het jobs", measured.het_jobs),
            )
        )
    if measured.no_nodes:
        classed = message(
            "{jobs} with an unknown number of nodes are classed as single-node jobs", jobs=nouns.jobs(measured.no_nodes)
        )
        if measured.no_nodes != measured.jobs:
            classed = message("{classed}: there may be more multi-node jobs than are shown", classed=classed)
        notes.append(classed)
    if unknown := measured.classes.get(None):
        notes.append(message("{jobs} with an unknown number of GPUs are in no class", jobs=nouns.jobs(unknown)))
    if unsaid := measured.looks.get("not known"):
        notes.append(
            message(
                "for {jobs}, it is not known whether the jobs are parallel or only look parallel",
                jobs=counted(
                    "{number:,} multi-GPU or multi-node job", "{number:,} multi-GPU or multi-node jobs", unsaid
                ),
            )
        )
    if single := sum(measured.classes.get(kind, 0) for kind in CORE_CLASSES):
        notes.append(
            message("classed by cores, because no job of their cluster records GPUs: {jobs}", jobs=nouns.jobs(single))
        )
    total: list[Cell] = ["class", "(all)", measured.jobs, 1.0 if measured.jobs else None]
    rows = [row for part, counts in parts for row in _rows(part, counts)]
    return Report(header(TITLE, measured, query, measured.jobs, notes), FIELDS, rows, [total], _pictures(measured))


def _containers_report(measured: Containers, query: Query) -> Report:
    """The containers of all jobs, then of each class."""
    whole = measured.all
    jobs = sum(whole.values())
    ordered = sorted(whole, key=lambda name: (-whole[name], name or ""))

    def counts(of: Mapping[str | None, int]) -> list[tuple[str, int]]:
        return [(name or NO_CONTAINER, of[name]) for name in ordered if of.get(name)]

    rows = _rows(ALL, counts(whole))
    for kind, of in measured.classes.items():
        rows += _rows(kind or UNKNOWN, counts(of))
    notes: list[str] = [] if jobs else [nouns.NONE_COUNTED]
    if whole.get(None):
        notes.append(
            message(
                "(none known): the command line names none, or the trace has no command line; a script may start one"
            )
        )
    contained = jobs - whole.get(None, 0)
    pictures = Pictures(
        message(
            "{share} of the jobs name a container on their command line", share=percent(contained / jobs)
        ),
        "",
        [_bars(message("All jobs by container"), counts(whole))],
    ) if jobs else None  # fmt: skip
    return Report(header(TITLE, measured, query, jobs, notes), FIELDS, rows, (), pictures)


def _classes(measured: Parallelism) -> list[tuple[str | None, int | None]]:
    """Jobs of each class. Where no job's nodes are known, none can be multi-node, and how many are is not known; so it
    is with the classes of GPUs where no job's GPUs are."""
    whole = measured.jobs
    unknown: set[str | None] = {"multi-node"} if whole and measured.no_nodes == whole else set()
    if whole and measured.no_gpus == whole:
        unknown |= {"cpu", "single-gpu", "multi-gpu"}
    return [(kind, None if kind in unknown and not jobs else jobs) for kind, jobs in measured.classes.items()]


def _rows(part: str, counts: Sequence[tuple[str, int | None]]) -> list[list[Cell]]:
    whole = sum(jobs or 0 for _, jobs in counts)
    return [[part, value, jobs, jobs / whole if whole and jobs is not None else None] for value, jobs in counts]


def _gpus(measured: Parallelism) -> list[tuple[str, int]]:
    """Multi-GPU jobs by number of GPUs, parts of one with two decimals."""
    found: Counter[str] = Counter()
    for value, jobs in measured.gpus.items():
        found[f"{value:.2f}" if value % 1 else f"{value:.0f}"] += jobs
    return list(found.items())


def _any_look(measured: Parallelism) -> bool:
    return any(look != "not known" for look in measured.looks)


def _doubling(counts: Mapping[int, int]) -> list[tuple[str, int]]:
    """Counts by a number as counts by 1, 2, 3-4, 5-8, 9-16, … of it."""
    found: Counter[int] = Counter()
    for value, jobs in counts.items():
        found[(value - 1).bit_length()] += jobs
    return [(f"{2**k // 2 + 1}-{2**k}" if k > 1 else str(2**k), jobs) for k, jobs in sorted(found.items())]


def _pictures(measured: Parallelism) -> Pictures | None:
    if not measured.jobs:
        return None
    kind, most = max(measured.classes.items(), key=lambda item: item[1])
    panels: list[Panel] = [
        _bars(
            message("All jobs by class"),
            [(nouns.CLASSES[kind], n) for kind, n in _classes(measured) if n is not None],
        )
    ]
    if measured.gpus:
        gpus = [(message("{range} GPUs", range=value), n) for value, n in _gpus(measured)]
        panels.append(_bars(message("Multi-GPU jobs by number of GPUs"), gpus))
    if measured.nodes:
        nodes = [(message("{range} nodes", range=value), n) for value, n in measured.nodes.items()]
        panels.append(_bars(message("Multi-node jobs by number of nodes"), nodes))
    if measured.cpus:
        counts = [(_cores(value), n) for value, n in _doubling(measured.cpus)]
        panels.append(_bars(message("Jobs without GPUs by number of cores"), counts))
    if _any_look(measured):
        looks = [(_LOOKS[look], n) for look, n in measured.looks.items()]
        panels.append(_bars(message("Multi-GPU and multi-node jobs by their steps"), looks))
    title = message(
        "{share} of the jobs are {kind} jobs", share=percent(most / measured.jobs), kind=nouns.CLASSES[kind]
    )
    return Pictures(title, "", panels)


def _cores(value: str) -> Message:
    return message("{range} core", range=value) if value == "1" else message("{range} cores", range=value)


def _bars(title: str, counts: Iterable[tuple[str, int]]) -> Bars:
    """One panel: the most frequent values in the order given, the others as one bar."""
    counts = list(counts)
    whole = sum(jobs for _, jobs in counts)
    often = sorted((jobs for _, jobs in counts), reverse=True)[:MOST_BARS]
    kept: list[tuple[str, int]] = []
    for name, jobs in counts:
        if jobs in often:
            often.remove(jobs)
            kept.append((name, jobs))
    if rest := whole - sum(jobs for _, jobs in kept):
        kept.append((message("others"), rest))
    return Bars(title, nouns.jobs(whole), [Bar(name, jobs, jobs / whole) for name, jobs in kept])


def _measure(trace: sqlite3.Connection, query: Query) -> Parallelism | Containers:
    return containers(trace, query.filter) if query.by == "container" else parallelism(trace, query.filter)


SPEC: Final = ReportSpec(
    "parallelism",
    "How many jobs use no GPU, one GPU, or several GPUs or nodes.",
    "report parallelism --since 90d",
    _measure,
    parallelism_report,
    FIELDS,
    ("queue", "user", "account", "cluster", "since", "until", "states", "min_elapsed"),
    parts=("class", "container"),
    pictures=True,
)
