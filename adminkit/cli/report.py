"""adminkit report …: a command for each spec of reports/catalogue.py."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from adminkit import config
from adminkit.cli import options
from adminkit.cli.group import group
from adminkit.cli.report_all import report_all
from adminkit.cli.report_trial import report_trial
from adminkit.render.sink import Way, emit
from adminkit.reports.answer import answer
from adminkit.reports.catalogue import SPECS
from adminkit.reports.spec import FILTERS, Option, ReportOptions, ReportSpec
from adminkit.trace.location import find_trace
from adminkit.units import moment

#: FILTERS of a command, as options. --as-of stands before those that follow --until.
TYPES: Final[dict[str, Any]] = {
    "job_class": options.Classes,
    "queue": options.Queues,
    "user": options.Users,
    "account": options.Accounts,
    "cluster": options.Clusters,
    "since": options.Since,
    "until": options.Until,
    "states": options.States,
    "min_elapsed": options.MinElapsed,
    "limit_source": options.LimitSourceOption,
}
WINDOW: Final = FILTERS[: FILTERS.index("until") + 1]

Parameter = tuple[str, Any, Any]  # name, type with its typer.Option, default


def app_of(specs: Sequence[ReportSpec[Any]]) -> typer.Typer:
    """`adminkit report` with a command for each of `specs`."""
    app = group("Report on the jobs of the trace.")
    for spec in specs:
        app.command(spec.name)(command(spec))
    app.command("all")(report_all)
    app.command("trial")(report_trial)
    return app


def command(spec: ReportSpec[Any]) -> Callable[..., None]:
    """The command of a report, with the signature that typer and the generator of docs/cli.md read."""

    def run(
        db: Path | None = None,
        as_of: str | None = None,
        format: options.Format = options.Format.TABLE,
        output: Path | None = None,
        plot: bool = False,
        picture: Path | None = None,
        columns: str | None = None,
        **typed: Any,
    ) -> None:
        way = Way(format.value, output, plot, picture)
        show(spec, options_of(spec, typed), db, way, as_of, columns.split(",") if columns else ())

    parameters = list(_parameters(spec))
    run.__name__, run.__doc__ = spec.name, f"{spec.help}\n\nExample: adminkit {spec.example}"
    run.__annotations__ = {name: kind for name, kind, _ in parameters} | {"return": None}
    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
            for name, kind, default in parameters
        ],
        return_annotation=None,
    )
    return run


def show(
    spec: ReportSpec[Any],
    options: ReportOptions,
    db: Path | None,
    way: Way,
    as_of: str | None = None,
    columns: Sequence[str] = (),
) -> None:
    """Make the report and write it, with these columns only if any are named."""
    when, settings = moment(as_of, time.time()), config.load()
    path = find_trace(db, settings.db)
    drawn = way.pictures or way.format == "json"  # JSON has the points of what is drawn
    report = answer(spec, options, path, settings, when.now, as_of=when.as_of, pictures=drawn)
    emit(report.only(columns) if columns else report, way)


def options_of(spec: ReportSpec[Any], typed: dict[str, Any]) -> ReportOptions:
    """What typer read, as plain values."""
    plain = {name: _plain(value) for name, value in typed.items() if value is not None}
    own = {option.name: plain.pop(option.name) for option in spec.options if option.name in plain}
    if spec.one_cluster and "cluster" in plain:
        plain["cluster"] = [plain["cluster"]]
    return ReportOptions(**plain, own=own)


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return value.value if isinstance(value, StrEnum) else value


def _parameters(spec: ReportSpec[Any]) -> Iterator[Parameter]:
    """The command's parameters in the order of the help."""
    yield "db", options.Database, None
    if spec.one_cluster:
        yield "cluster", options.OneCluster, None
    yield from map(_own, spec.options)
    if spec.parts:
        yield _by(spec.parts)
    yield from ((name, TYPES[name], None) for name in WINDOW if name in spec.filters)
    yield "as_of", options.AsOf, None
    yield from ((name, TYPES[name], None) for name in FILTERS if name in spec.filters and name not in WINDOW)
    yield "columns", _columns(spec), None
    yield "format", options.FormatOption, options.Format.TABLE
    yield "output", options.Output, None
    if spec.pictures:
        yield "plot", options.Plot, False
        yield "picture", options.Picture, None


def _own(option: Option) -> Parameter:
    kind: Any = int if option.default is not None else str | None
    declared = typer.Option(*option.flags, metavar=option.metavar, min=option.least, help=option.help)
    return option.name, Annotated[kind, declared], option.default


def _columns(spec: ReportSpec[Any]) -> Any:
    def completed(incomplete: str) -> list[str]:
        before, comma, _ = incomplete.rpartition(",")
        return [f"{before}{comma}{field.name}" for field in spec.fields]

    return Annotated[
        str | None,
        typer.Option(
            "--columns",
            metavar="A,B|+A",
            autocompletion=completed,
            help="Only these columns, in this order; `+A` adds one that the table leaves out.",
        ),
    ]


def _by(parts: Sequence[str]) -> Parameter:
    make: Any = StrEnum
    part = make("Part", {name.upper(): name for name in parts})
    return "by", Annotated[part, typer.Option("--by", help="What each row is about.")], part(parts[0])


app = app_of(SPECS)
