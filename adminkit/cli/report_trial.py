"""adminkit report trial, and what `adminkit trial result` shows: what a trial showed, with its picture."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from adminkit import config
from adminkit.cli.options import Database, Format, FormatOption, Output, Picture, Plot
from adminkit.cli.policy_install import Folder, target_of
from adminkit.render.sink import Way, emit

if TYPE_CHECKING:
    from adminkit.deploy.trial import Trial
    from adminkit.render.report import Report

From = Annotated[
    Path | None,
    typer.Option(
        "--from", metavar="FILE", help="A copy of trial.json from slurmctld's host, if the trace is on another host."
    ),
]


def report_trial(
    from_: From = None,
    folder: Folder = None,
    db: Database = None,
    format: FormatOption = Format.TABLE,
    output: Output = None,
    plot: Plot = False,
    picture: Picture = None,
) -> None:
    """Show how waits changed in a trial. A page for readers: by size, queue and class of jobs, with a chart.

    Example: adminkit report trial --format html --output trial.html
    """
    emit(shown(from_, folder, db), Way(format.value, output, plot, picture))


def shown(from_: Path | None, folder: Path | None, db: Path | None) -> Report:
    """The result of the trial on this host, or of the file. Only operators may see it."""
    from adminkit.reports.trial import result_report
    from adminkit.stats.waits import waits
    from adminkit.trace.connect import reader
    from adminkit.trace.location import find_trace
    from adminkit.trace.sight import operators_only

    made, now = trial_of(from_, folder), int(time.time())
    path = find_trace(db, config.load().db)
    with reader(path) as trace:
        operators_only(path, "only operators may see what a trial showed", "ask them")
        return result_report(made, waits(trace, made.cluster, made.begins, made.ends, now), str(path), now)


def trial_of(from_: Path | None, folder: Path | None) -> Trial:
    """The trial of the file, or of this host."""
    from adminkit.deploy.trial import parse_trial, read_trial
    from adminkit.deploy.trial_state import missing
    from adminkit.files import read_named
    from adminkit.lua.literal import MOST_BYTES

    if from_ is not None:
        data = read_named(from_, MOST_BYTES, "copy adminkit/trial/trial.json from beside slurm.conf")
        text = data.decode("utf-8", "surrogateescape")
        return parse_trial(text, from_)
    made = read_trial(target_of(folder, None, None)[0].folder)
    if made is None:
        raise missing()
    return made
