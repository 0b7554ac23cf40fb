"""adminkit soft-limits trial and stop: a switchback experiment on the site itself."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from adminkit import config
from adminkit.cli.options import Apply, Database, Format, FormatOption, Output
from adminkit.cli.policy_install import Folder
from adminkit.config import chosen
from adminkit.errors import AdminkitError, UsageError
from adminkit.render.sink import Way, emit
from adminkit.units import local_time, midnight, parse_duration, show_short

if TYPE_CHECKING:
    from adminkit.deploy.trial import Trial
    from adminkit.slurm.controller import Controller

Days = Annotated[
    int | None,
    typer.Option(
        "--days",
        metavar="N",
        help="How many days the trial lasts, from the next midnight: a multiple of 14; 28 is a good choice.",
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(
        "--seed",
        metavar="N",
        min=0,
        help="The seed that decides which days are on; the same seed gives the same days. Default: derived from the"
        " date.",
    ),
]
CarryOver = Annotated[
    str | None,
    typer.Option(
        "--carry-over",
        metavar="TIME",
        help="How much time at the start of each day does not count. Default: the time in which 95 % of each queue's"
        " runs end, from 1h to 12h; 12h if the trace has none.",
    ),
]
Result = Annotated[bool, typer.Option("--result", help="Show what the trial has shown so far.")]
From = Annotated[
    Path | None,
    typer.Option(
        "--from",
        metavar="FILE",
        help="With --result: a copy of soft_trial.json from slurmctld's host, if the trace is on another host.",
    ),
]
#: Days of the past by which the smallest change is judged.
_PAST: Final = 182
_DAY: Final = 86_400


@dataclass(frozen=True, slots=True)
class _Past:
    """What the trace says of the site: days' mean waits, the 95th percentile of run times."""

    means: list[float | None]
    p95: int | None
    carry_over: int

    @property
    def days(self) -> int:
        """With waits."""
        return sum(mean is not None for mean in self.means)


def trial(
    days: Days = None,
    seed: Seed = None,
    carry_over: CarryOver = None,
    apply: Apply = False,
    result: Result = False,
    from_: From = None,
    folder: Folder = None,
    db: Database = None,
    format: FormatOption = Format.TABLE,
    output: Output = None,
) -> None:
    """Try soft limits on days that are drawn at random. With --result, shows by how much waits changed, with an
    interval, or that they did not change.

    Example: adminkit soft-limits trial --days 28
    """
    way = Way(format.value, output)
    if result:
        if days is not None or seed is not None or carry_over is not None or apply:
            raise UsageError("--result does not start a trial", "leave out --days, --seed, --carry-over and --apply")
        _result(folder, from_, db, way)
        return
    if days is None or from_ is not None:
        raise UsageError("a trial needs --days", "adminkit soft-limits trial --days 28, or --result")
    _begin(days, seed, carry_over, apply, folder, db, way)


def stop(
    folder: Folder = None, apply: Apply = False, format: FormatOption = Format.TABLE, output: Output = None
) -> None:
    """End a trial now: soft limits follow the policy again.

    Example: adminkit soft-limits stop --apply
    """
    from adminkit.deploy import trial as trials
    from adminkit.reports.trial import calendar_report

    there, controller = site(folder)
    now = int(time.time())
    try:
        before = trials.read_trial(there)
    except AdminkitError:
        if not apply:
            raise
        before = None
    if before is not None and not before.under_way(now):
        raise AdminkitError(
            "no trial of soft limits is running", "adminkit soft-limits trial --result shows the last one"
        )
    ended = trials.stop(there, now, config.load().acts, controller.gid) if apply else before
    if ended is None and not apply:
        raise AdminkitError("there is no trial of soft limits", "adminkit soft-limits trial --days 28 previews one")
    if ended is None:
        typer.echo("the file of the trial could not be read and was removed", err=True)
        return
    done = f"ended; {len(ended.over())} of its days are over" if apply else "nothing was done: --apply ends it"
    emit(calendar_report(ended, [done]), Way(format.value, output))


def site(folder: Path | None) -> tuple[Path, Controller]:
    """The folder of job_submit.lua, and the running configuration."""
    from adminkit.slurm.controller import controller, site_folder

    slurmctld = controller()
    return site_folder(slurmctld, chosen(folder, config.load().policy.folder)), slurmctld


def _begin(
    days: int, seed: int | None, carry_over: str | None, apply: bool, folder: Path | None, db: Path | None, way: Way
) -> None:
    from adminkit.deploy import trial as trials
    from adminkit.reports.trial import calendar_report, preview_notes
    from adminkit.stats.switchback import calendar, check_days, smallest_change

    check_days(days)
    there, controller = site(folder)
    now = int(time.time())
    _refuse(there, now)
    first = local_time(now, None).date() + timedelta(days=1)
    midnights = [midnight(first + timedelta(days=nth), None) for nth in range(days + 1)]
    seed = midnights[0] // _DAY if seed is None else seed
    past = _past(db, controller.cluster, midnights[0], now, carry_over)
    made = trials.Trial(controller.cluster, now, seed, past.carry_over, calendar(midnights, seed))
    notes = preview_notes(made, apply, smallest_change(past.means, days), past.days, past.p95, controller.others())
    if apply:
        trials.begin(there, made, config.load().acts, controller.gid)
    emit(calendar_report(made, notes), way)


def _refuse(folder: Path, now: int) -> None:
    """Raise AdminkitError where nobody is given a soft limit anyway, or a trial is running."""
    from adminkit.deploy.soft_guard import look
    from adminkit.deploy.trial import refuse_second

    found = look(folder, now)
    if not found.enabled:
        raise AdminkitError(
            "soft limits are off here: there is nothing to try", "docs/soft-limits.md says how to turn them on"
        )
    for one in found.reasons:
        raise AdminkitError(f"no soft limits are given here ({one.name}): {one.why}", one.hint or "docs/soft-limits.md")
    refuse_second(folder, now)


def _past(db: Path | None, cluster: str, until: int, now: int, typed: str | None) -> _Past:
    """What the trace says, up to the midnight before `until`. Without a trace, unless one was named, nothing."""
    from adminkit.deploy.trial import MOST_CARRY_OVER
    from adminkit.stats.switchback import Day
    from adminkit.stats.waits import by_day, longest_p95, waits
    from adminkit.trace.connect import reader
    from adminkit.trace.location import find_trace

    begins = [until - nth * _DAY for nth in range(_PAST + 1, 1, -1)]
    days = [Day(begin, begin + _DAY, on=True) for begin in begins]
    carry_over = None if typed is None else _carry_over(typed)
    try:
        with reader(find_trace(db, config.load().db)) as trace:
            p95 = longest_p95(trace, cluster, begins[0], now)
            carry_over = _bounded(p95) if carry_over is None else carry_over
            means = [day.mean for day in by_day(waits(trace, cluster, begins[0], until, now), days, carry_over)]
            return _Past(means, p95, carry_over)
    except AdminkitError:
        if db is not None:
            raise
        return _Past([], None, MOST_CARRY_OVER if carry_over is None else carry_over)


def _bounded(p95: int | None) -> int:
    """The default of --carry-over: whole quarters of an hour, as waits are added up."""
    from adminkit.deploy.trial import LEAST_CARRY_OVER, MOST_CARRY_OVER
    from adminkit.stats.waits import QUARTER

    if p95 is None:
        return MOST_CARRY_OVER
    return min(max(-(-p95 // QUARTER) * QUARTER, LEAST_CARRY_OVER), MOST_CARRY_OVER)


def _carry_over(typed: str) -> int:
    from adminkit.deploy.trial import MOST_CARRY_OVER
    from adminkit.stats.waits import QUARTER

    seconds = -(-parse_duration(typed) // QUARTER) * QUARTER
    if seconds > MOST_CARRY_OVER:
        raise UsageError(f"--carry-over {typed} leaves too little of a day", f"at most {show_short(MOST_CARRY_OVER)}")
    return seconds


def _result(folder: Path | None, from_: Path | None, db: Path | None, way: Way) -> None:
    from adminkit.reports.trial import result_report
    from adminkit.stats.waits import waits
    from adminkit.trace.connect import reader
    from adminkit.trace.location import find_trace
    from adminkit.trace.sight import operators_only

    made, now = _trial(folder, from_), int(time.time())
    path = find_trace(db, config.load().db)
    with reader(path) as trace:
        operators_only(path, "only operators may see what a trial showed", "ask them")
        quarters = waits(trace, made.cluster, made.begins, made.ends, now)
    emit(result_report(made, quarters, str(path), now), way)


def _trial(folder: Path | None, from_: Path | None) -> Trial:
    from adminkit.deploy.files import read_text
    from adminkit.deploy.trial import parse_trial, read_trial

    if from_ is not None:
        text = read_text(from_)
        if text is None:
            raise AdminkitError(f"{from_} does not exist", "copy adminkit/soft_trial.json beside slurm.conf")
        return parse_trial(text, from_)
    made = read_trial(site(folder)[0])
    if made is None:
        raise AdminkitError("there is no trial of soft limits", "adminkit soft-limits trial --days 28 previews one")
    return made
