"""From a question to the Report: the filter, whose jobs, the measure, the view. Every report goes this way."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from adminkit.config import Config
from adminkit.errors import UsageError, unknown_word
from adminkit.messages import message
from adminkit.render.report import Report
from adminkit.reports import nouns
from adminkit.reports.header import outside
from adminkit.reports.spec import Query, ReportOptions, ReportSpec
from adminkit.sqlite import sqlite3
from adminkit.stats.measures import Measures
from adminkit.stats.select import Filter, check_words, only_cluster
from adminkit.stats.unknown_gpus import UnknownGpus, unknown_gpus
from adminkit.trace.connect import reader
from adminkit.trace.sight import operators_only, whose
from adminkit.units import parse_duration, parse_edge, show_time

#: Reports whose numbers are of GPUs.
_OF_GPUS: Final = (
    "accuracy", "efficiency", "energy", "frameworks", "parallelism", "states", "users", "utilization", "waste",
)  # fmt: skip


def unknown_gpu_notes(found: UnknownGpus) -> Iterator[str]:
    """Why GPUs, GPU-hours and classes of some runs are unknown."""
    for runs, why in (
        (
            found.untracked,
            message("that name no GPUs, in queues with GPUs, from before accounting tracked GPUs"),
        ),
        (found.parts, message("with parts of a GPU whose size is not known ([gpus] shares in adminkit.toml sets it)")),
        (found.untyped, message("in queues with MIG slices, from before accounting tracked GPU types")),
        (found.unreadable, message("whose accounting has a GPU entry that cannot be read")),
    ):
        if runs:
            yield message(
                "GPUs, GPU-hours and class are unknown for {runs} {why}: docs/gpus.md", runs=nouns.runs(runs), why=why
            )


def answer(
    spec: ReportSpec[Any],
    options: ReportOptions,
    path: Path,
    settings: Config,
    now: int,
    *,
    as_of: int | None = None,
    pictures: bool = False,
) -> Report:
    """The report `spec` of the trace at `path`, for this process's user. `now` and `as_of`: see units.Moment."""
    query = query_of(spec, options, path, settings, now, pictures=pictures)
    with reader(path, as_of) as trace:
        return answer_of(trace, spec, options, query).dated(as_of)


def query_of(
    spec: ReportSpec[Any],
    options: ReportOptions,
    path: Path,
    settings: Config,
    now: int,
    *,
    pictures: bool = False,
    measures: Measures | None = None,
) -> Query:
    """What was typed; its words are not yet checked against the trace."""
    filter = job_filter(options, settings, now)
    if spec.every_end:
        filter = replace(filter, states=(), min_elapsed=-1)
    own = {**_defaults(spec), **options.own}
    return Query(filter, now, str(path), settings, _part(spec, options.by), own, pictures, measures or Measures())


def answer_of(trace: sqlite3.Connection, spec: ReportSpec[Any], options: ReportOptions, query: Query) -> Report:
    """What answer() does, of a trace that is open already; `query` is of query_of()."""
    path, filter = Path(query.database), query.filter
    if spec.operators:
        operators_only(path, *spec.operators)
    filter = replace(filter, users=whose(options.user, path))
    if spec.one_cluster:
        filter = replace(filter, clusters=[only_cluster(trace, next(iter(options.cluster), None))])
    query = replace(query, filter=check_words(trace, filter))
    report = _looked(spec.view(spec.measure(trace, query), query))
    for note in unknown_gpu_notes(unknown_gpus(trace, query.filter)) if spec.name in _OF_GPUS else ():
        report = report.noted(note)
    return report


def _looked(report: Report) -> Report:
    """Add a note where its window and the trace have no moment in common."""
    meta = report.meta
    missed = "" if meta.jobs or meta.span[0] is None else outside(meta.window, meta.span)
    return report.noted(missed) if missed else report


def job_filter(options: ReportOptions, settings: Config, now: int) -> Filter:
    """What was typed, else the settings, as a Filter; words are checked against the trace later."""
    start = None if options.since is None else parse_edge(options.since, now)
    end = None if options.until is None else parse_edge(options.until, now)
    if start is not None and end is not None and start >= end:
        raise UsageError(
            f"--until {options.until} is not after --since {options.since}",
            f"since is {show_time(start)}, until is {show_time(end)}",
        )
    usual, least = settings.report, options.min_elapsed
    return Filter(
        usual.clusters(options.cluster),
        start,
        end,
        options.queue,
        options.user,
        options.account,
        options.job_class,
        usual.states if options.states is None else options.states.replace(",", " ").split(),
        usual.min_elapsed if least is None else parse_duration(least),
        options.limit_source,
        checkpoint_code=settings.checkpoint.code,
    )


def _part(spec: ReportSpec[Any], by: str | None) -> str:
    if by is not None and by not in spec.parts:
        raise unknown_word("part", by, spec.parts)
    return by or next(iter(spec.parts), "")


def _defaults(spec: ReportSpec[Any]) -> dict[str, Any]:
    return {option.name: option.default for option in spec.options}
