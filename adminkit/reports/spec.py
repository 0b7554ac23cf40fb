"""ReportSpec: all that a report is, from its options to its pages.

The command line, the Python API, docs/reports.md and the golden tests go through the specs of catalogue.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar

from adminkit.config import Config
from adminkit.render.report import Field, Report
from adminkit.sqlite import sqlite3
from adminkit.stats.measures import Measures
from adminkit.stats.select import Filter

M = TypeVar("M")

#: The filters that a report may take; they are fields of ReportOptions, and options and keywords of these names.
FILTERS: Final = (
    "job_class", "queue", "user", "account", "cluster", "since", "until", "states", "min_elapsed", "limit_source",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Option:
    """An option that only one report has. Its value is an int where `default` is one, else text or None."""

    name: str
    flags: Sequence[str]
    help: str
    metavar: str | None = None
    default: int | None = None
    least: int | None = None  # the smallest number it takes


@dataclass(frozen=True, slots=True)
class ReportOptions:
    """What somebody asks of a report, as typed; None and empty where nothing was. The names are those of FILTERS."""

    job_class: Sequence[str] = ()
    queue: Sequence[str] = ()
    user: Sequence[str] = ()
    account: Sequence[str] = ()
    cluster: Sequence[str] = ()
    since: str | None = None
    until: str | None = None
    states: str | None = None
    min_elapsed: str | None = None
    limit_source: str | None = None
    by: str | None = None
    own: Mapping[str, Any] = field(default_factory=dict)  # Option.name -> its value


@dataclass(frozen=True, slots=True)
class Query:
    """What a report is made from, checked against the trace."""

    filter: Filter
    now: int  # epoch seconds
    database: str
    settings: Config
    by: str = ""  # one of the spec's parts
    own: Mapping[str, Any] = field(default_factory=dict)
    pictures: bool = False  # whether anybody looks at them
    measures: Measures = field(default_factory=Measures)  # those that are shared with others


@dataclass(frozen=True, slots=True)
class ReportSpec(Generic[M]):
    """One report. `measure` selects, `view` words; neither knows how it was asked for or how it is shown.

    `operators` is the message and the hint for callers who may not see the jobs of others, where the report aggregates
    over users. A report of `one_cluster` is refused where the trace has several and none is named; one that is `apart`
    adds them up then, and has a section for each on the page of all.
    """

    name: str
    help: str
    example: str  # behind `adminkit`
    measure: Callable[[sqlite3.Connection, Query], M]
    view: Callable[[M, Query], Report]
    fields: Sequence[Field]
    filters: Sequence[str] = ()
    parts: Sequence[str] = ()  # what there may be a row for; the first is the default
    options: Sequence[Option] = ()
    pictures: bool = False
    every_end: bool = False  # jobs count however they ended and however short they were
    one_cluster: bool = False
    apart: bool = False
    operators: tuple[str, str] | None = None
