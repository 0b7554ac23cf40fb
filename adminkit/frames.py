"""The Python API: a trace as pandas DataFrames, read-only, with the measures and the rules of the command line.

docs/python.md is its page. Whose jobs a frame has is decided where the command line decides it, in trace/sight.py.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypedDict, Unpack

from adminkit import config
from adminkit.errors import AdminkitError, UsageError, unknown_word
from adminkit.job import UNITS, Job
from adminkit.render.frame import Column, Dtype, frame_of_arrays
from adminkit.reports.answer import answer, job_filter
from adminkit.reports.catalogue import spec_named
from adminkit.reports.spec import FILTERS, Option, ReportOptions, ReportSpec
from adminkit.stats.jobs import COLUMNS, jobs
from adminkit.stats.select import check_words
from adminkit.trace.connect import reader
from adminkit.trace.location import find_trace
from adminkit.trace.run_view import DERIVED
from adminkit.trace.sight import whose
from adminkit.units import Moment, moment

if TYPE_CHECKING:
    import pandas

#: One name or several.
Names = str | Sequence[str]
#: A time as the command line takes it (2026-01-31, 30d), epoch seconds, or a date with or without a time; without a
#: zone it is the host's own.
When = str | int | date

_DTYPES: Final[Mapping[str, Dtype]] = {"int": "Int64", "float": "Float64", "str": "string"}


class Filters(TypedDict, total=False):
    """Which jobs: the options of `adminkit report accuracy`. `since` and `until` bound the end."""

    job_class: Names
    queue: Names
    user: Names
    account: Names
    cluster: Names
    since: When
    until: When
    states: Names
    min_elapsed: str | int
    limit_source: str


class Options(Filters, total=False):
    """The options of reports; UsageError for one that the report does not take."""

    by: str
    job: str | int
    days: int
    req_limit: str | int
    gpus: str | int
    points: str
    most: int


@dataclass(frozen=True, slots=True)
class Trace:
    """A trace as it is, or as it was at `as_of`. Every call opens the file and closes it again."""

    path: Path
    as_of: When | None = None

    def jobs(self, *, columns: Sequence[str] = COLUMNS, **filters: Unpack[Filters]) -> pandas.DataFrame:
        """One row per run, with the columns of the view `run` (docs/trace.md); `attrs["units"]` has their units.

        Without filters every run is there, also those that wait or run.
        """
        with _hinted():
            settings, when, options = config.load(), self._moment(), _options(filters)
            filter = job_filter(options, settings, when.now)
            if options.states is None:
                filter = replace(filter, states=())
            if options.min_elapsed is None:
                filter = replace(filter, min_elapsed=None)
            with reader(self.path, when.as_of) as trace:
                filter = check_words(trace, replace(filter, users=whose(options.user, self.path)))
                arrays = jobs(trace, filter, columns)
            table = frame_of_arrays([_COLUMNS[name] for name in columns], arrays)
        table.attrs.update(database=str(self.path), as_of=when.as_of)
        return table

    def report(self, name: str, /, *, totals: bool = False, **typed: Unpack[Options]) -> pandas.DataFrame:
        """The rows of `adminkit report NAME`, with its options as keywords. `totals` adds the rows below the table.

        `attrs` has the units and what the command's header says: title, window, filters, excluded, notes …
        """
        with _hinted():
            spec, when = spec_named(name), self._moment()
            options = _options(typed, spec)
            report = answer(spec, options, self.path, config.load(), when.now, as_of=when.as_of)
            return report.to_frame(totals=totals)

    def _moment(self) -> Moment:
        return moment(_when(self.as_of), time.time())


def open_trace(path: str | Path | None, as_of: When | None) -> Trace:
    """What adminkit.open() does."""
    with _hinted():
        trace = Trace(find_trace(None if path is None else Path(path), config.load().db), as_of)
        with reader(trace.path, trace._moment().as_of):
            return trace


def _options(typed: Mapping[str, Any], spec: ReportSpec[Any] | None = None) -> ReportOptions:
    """The keywords as options of the command line. UsageError for one that the report does not take."""
    options = {option.name: option for option in spec.options} if spec else {}
    taken = [*FILTERS]
    if spec:
        further = {"cluster": spec.one_cluster, "by": spec.parts}
        taken = [*options, *spec.filters, *(name for name, holds in further.items() if holds)]
    values: dict[str, Any] = {}
    for name, value in typed.items():
        if name not in taken:
            raise unknown_word(f"option of {spec.name if spec else 'jobs'}", name, taken)
        if value is not None:
            values[name] = _value(options[name], value) if name in options else _TYPED.get(name, str)(value)
    own = {name: values.pop(name) for name in options if name in values}
    return ReportOptions(**values, own=own)


def _value(option: Option, value: Any) -> str | int:
    if option.default is None:
        return str(value)
    if not isinstance(value, int) or (option.least is not None and value < option.least):
        least = "" if option.least is None else f" of at least {option.least}"
        raise UsageError(f"{option.name}={value!r}", f"it is a whole number{least}")
    return value


def _names(names: Names) -> Sequence[str]:
    return [names] if isinstance(names, str) else list(names)


def _when(when: When | None) -> str | None:
    if isinstance(when, datetime):
        return f"@{int(when.timestamp())}"
    if isinstance(when, int):
        return f"@{when}"
    return when if when is None or isinstance(when, str) else when.isoformat()


#: Filters that are not a single word -> their value as the command line reads it.
_TYPED: Final[Mapping[str, Callable[[Any], Any]]] = {
    **dict.fromkeys(("job_class", "queue", "user", "account", "cluster"), _names),
    **dict.fromkeys(("since", "until"), _when),
    "states": lambda names: ",".join(_names(names)),
}


@contextmanager
def _hinted() -> Iterator[None]:
    """Adds the hint to the error, as the command line does."""
    try:
        yield
    except AdminkitError as error:
        if error.hint:
            error.add_note(f"hint: {error.hint}")
        raise


def _columns() -> Iterator[Column]:
    """Every column of the view run, from Job's annotations and units."""
    for one in fields(Job):
        kind, unit = str(one.type).removesuffix(" | None"), UNITS.get(one.name, "")
        yield Column(one.name, "datetime64[s, UTC]" if unit == "UTC" else _DTYPES[kind], unit)
    for name, unit in DERIVED.items():
        yield Column(name, "string" if name in ("class", "gpu_kind") else "Int64", unit)


_COLUMNS: Final = {column.name: column for column in _columns()}
