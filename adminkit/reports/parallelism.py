"""How parallel jobs are, as a Report: the study's Figure 1."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from adminkit.render.format import number, percent, plural
from adminkit.render.report import Bar, Bars, Cell, Field, Panel, Pictures, Report
from adminkit.reports.header import header
from adminkit.reports.spec import Query, ReportSpec
from adminkit.sqlite import sqlite3
from adminkit.stats.parallelism import CORE_CLASSES, Containers, Parallelism, containers, parallelism

FIELDS: Final = (
    Field(
        "part", help="what is counted: class, kind, gpus, nodes, cores, looks; with --by container (all) and each class"
    ),
    Field(
        "value",
        help="the class, how GPUs are cut, the number of GPUs, nodes or cores, what the steps tell, the container",
    ),
    Field("jobs", "count", "jobs that count"),
    Field("share", "share", "share of the part's jobs"),
)
TITLE: Final = "Parallelism of jobs"
UNKNOWN: Final = "unknown"
ALL: Final = "(all)"
NO_CONTAINER: Final = "(none known)"
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
    notes = []
    if not measured.jobs:
        notes.append("no job is left to count; the lines above say why")
    if measured.het_jobs:
        components = plural(measured.het_components, "component")
        notes.append(f"{components} of {plural(measured.het_jobs, 'het job')} are counted as whole jobs")
    if measured.no_nodes:
        at_least = "" if measured.no_nodes == measured.jobs else ": multi-node is at least what is shown"
        notes.append(f"{plural(measured.no_nodes, 'job')} of unknown nodes are classed as on one node{at_least}")
    if unknown := measured.classes.get(None):
        notes.append(f"{plural(unknown, 'job')} of unknown GPUs are in no class")
    if unsaid := measured.looks.get("not known"):
        notes.append(f"whether they only look parallel is not known of {plural(unsaid, 'multi-GPU or multi-node job')}")
    if single := sum(measured.classes.get(kind, 0) for kind in CORE_CLASSES):
        notes.append(f"classed by cores, as no job of their cluster says its GPUs: {plural(single, 'job')}")
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
    notes = [] if jobs else ["no job is left to count; the lines above say why"]
    if whole.get(None):
        notes.append(
            f"{NO_CONTAINER}: the command line names none, or the trace has no command line; a script may start one"
        )
    contained = jobs - whole.get(None, 0)
    pictures = Pictures(
        f"{percent(contained / jobs)} of the jobs name a container on their command line",
        "",
        [_bars("All jobs by container", counts(whole))],
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
    """Multi-GPU jobs by GPUs, parts of one with two decimals."""
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
        _bars("All jobs by class", [(kind or UNKNOWN, n) for kind, n in _classes(measured) if n is not None])
    ]
    if measured.gpus:
        panels.append(_bars("Multi-GPU jobs by GPUs", [(f"{value} GPUs", n) for value, n in _gpus(measured)]))
    if measured.nodes:
        panels.append(_bars("Multi-node jobs by nodes", [(f"{value} nodes", n) for value, n in measured.nodes.items()]))
    if measured.cpus:
        counts = [(f"{value} {'core' if value == '1' else 'cores'}", n) for value, n in _doubling(measured.cpus)]
        panels.append(_bars("Jobs without GPUs by cores", counts))
    if _any_look(measured):
        panels.append(_bars("Multi-GPU and multi-node jobs by their steps", measured.looks.items()))
    return Pictures(f"{percent(most / measured.jobs)} of the jobs are {kind or 'unknown'} jobs", "", panels)


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
        kept.append(("others", rest))
    return Bars(title, f"{number(whole)} jobs", [Bar(name, jobs, jobs / whole) for name, jobs in kept])


def _measure(trace: sqlite3.Connection, query: Query) -> Parallelism | Containers:
    return containers(trace, query.filter) if query.by == "container" else parallelism(trace, query.filter)


SPEC: Final = ReportSpec(
    "parallelism",
    "How many jobs use no GPU, one, several, or several nodes.",
    _measure,
    parallelism_report,
    FIELDS,
    ("queue", "user", "account", "cluster", "since", "until", "states", "min_elapsed"),
    parts=("class", "container"),
    pictures=True,
)
