"""adminkit trial …"""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from adminkit import config
from adminkit.cli.group import group
from adminkit.cli.options import Apply, Database, Format, FormatOption, Output
from adminkit.cli.policy_install import Folder, target_of
from adminkit.cli.report_trial import From, shown
from adminkit.errors import AdminkitError
from adminkit.render.sink import Way, emit
from adminkit.units import local_time, midnight

if TYPE_CHECKING:
    from adminkit.deploy.install import Target
    from adminkit.deploy.trial import Trial
    from adminkit.deploy.trial_file import Plan
    from adminkit.deploy.trial_start import Prepared
    from adminkit.deploy.trial_state import Numbers
    from adminkit.deploy.trial_work import Round
    from adminkit.slurm.controller import Controller

app = group("Try another configuration; keep it only if waits fell.")

File = Annotated[Path, typer.Argument(metavar="FILE", help="What to compare: trial.toml, as tune --write makes it.")]
Days = Annotated[
    int,
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
        help="The seed that decides which days are B's; the same seed gives the same days. Default: drawn at random"
        " and recorded.",
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
Hoped = Annotated[
    float | None,
    typer.Option(
        "--hoped",
        metavar="CHANGE",
        min=-0.99,
        max=0.99,
        help="The relative change of the mean wait that you hope for: -0.2 is a fifth less. The preview says how many"
        " days it needs.",
    ),
]
Keep = Annotated[
    str | None,
    typer.Option("--keep", metavar="SIDE", help="Which side stays in place: a or b. Default: a."),
]


@app.command()
def plan(
    file: File,
    days: Days = 28,
    seed: Seed = None,
    carry_over: CarryOver = None,
    hoped: Hoped = None,
    folder: Folder = None,
    db: Database = None,
    format: FormatOption = Format.TABLE,
    output: Output = None,
) -> None:
    """Show what a trial would switch and what it can show. Changes nothing.

    Example: adminkit trial plan trial.toml
    """
    _start(file, days, seed, carry_over, hoped, False, folder, db, Way(format.value, output))


@app.command()
def start(
    file: File,
    days: Days = 28,
    seed: Seed = None,
    carry_over: CarryOver = None,
    hoped: Hoped = None,
    apply: Apply = False,
    folder: Folder = None,
    db: Database = None,
    format: FormatOption = Format.TABLE,
    output: Output = None,
) -> None:
    """Start a trial. Its days are drawn at random; the timer adminkit-trial switches. Refused if A is not in place.

    Example: adminkit trial start trial.toml --days 28 --apply
    """
    _start(file, days, seed, carry_over, hoped, apply, folder, db, Way(format.value, output))


@app.command()
def status(folder: Folder = None, format: FormatOption = Format.TABLE, output: Output = None) -> None:
    """Show which side is in place, and the lease. Exit code 1 if something is wrong.

    Example: adminkit trial status
    """
    from adminkit.deploy.trial_look import look
    from adminkit.reports.trial_round import status_report

    target, controller = target_of(folder, None, None)
    found = look(target, int(time.time()))
    emit(status_report(found, controller.cluster), Way(format.value, output))
    if not found.ok:
        raise typer.Exit(1)


@app.command()
def result(
    from_: From = None,
    folder: Folder = None,
    db: Database = None,
    format: FormatOption = Format.TABLE,
    output: Output = None,
) -> None:
    """Show by how much waits changed, with intervals.

    Example: adminkit trial result
    """
    emit(shown(from_, folder, db), Way(format.value, output))


@app.command()
def stop(
    keep: Keep = None,
    apply: Apply = False,
    folder: Folder = None,
    format: FormatOption = Format.TABLE,
    output: Output = None,
) -> None:
    """End the trial and put A back. With --keep b, B stays instead, or is put in place again after the trial.

    Example: adminkit trial stop --keep b --apply
    """
    from adminkit.deploy import trial_round
    from adminkit.deploy.trial import KEPT, STOPPED
    from adminkit.deploy.trial_look import look, looked

    if keep not in (None, "a", "b"):
        raise AdminkitError(f"--keep {keep}: no such side", "a or b")
    target, controller = target_of(folder, None, None)
    now, stays = int(time.time()), keep == "b"
    if not apply:
        found = look(target, now)
        trial_round.refuse_stop(found.whole, stays)
        if found.whole is not None and found.whole.trial.ended is not None:
            trial_round.refuse_other(looked(target, found.whole))
        note = f"nothing was done: --apply ends it, and {'B' if stays else 'A'} stays"
        _emit(found, controller, Way(format.value, output), [note])
        return
    done = trial_round.stop(target, now, KEPT if stays else STOPPED, stays)
    _emit(done, controller, Way(format.value, output), _lasting(target) if stays else [])


@app.command()
def run(
    apply: Apply = False, folder: Folder = None, format: FormatOption = Format.TABLE, output: Output = None
) -> None:
    """Run one round, as its timer does on slurmctld's host. Exit code 1 if a switch did not hold.

    Example: adminkit trial run --apply
    """
    from adminkit.deploy.trial_round import once

    _act(once if apply else None, folder, Way(format.value, output))


@app.command()
def restore(
    apply: Apply = False, folder: Folder = None, format: FormatOption = Format.TABLE, output: Output = None
) -> None:
    """Put A back if the lease has run out, as its own timer does. Does nothing while the lease holds.

    Example: adminkit trial restore --apply
    """
    from adminkit.deploy.trial_round import restore as act

    _act((lambda target, now, _: act(target, now)) if apply else None, folder, Way(format.value, output))


def _lasting(target: Target) -> list[str]:
    """What makes B last: it is in place, but slurm.conf and policy.toml still say A."""
    from adminkit.deploy.trial_sides import INCLUDED, read_pair

    pair, conf = read_pair(target.folder), target.folder / "slurm.conf"
    b, rules = pair.b, pair.a.rules != pair.b.rules
    said = [f"B stays in place; to make it last{', copy its policy to policy.toml' if rules else ':'}"]
    said += [f"put into {conf}: {name}={value}" for name, value in b.slurm.items()]
    for queue, keys in b.queues.items():
        said += [f"put into the line of PartitionName={queue} in {conf}: {key}={value}" for key, value in keys.items()]
    return [
        *said,
        *([f"then take the lines out of {target.folder / INCLUDED}, and: scontrol reconfigure"] if b.slurm else []),
    ]


def _act(act: object, folder: Path | None, way: Way) -> None:
    from adminkit.deploy.trial_look import look

    target, controller = target_of(folder, None, None)
    now = int(time.time())
    if not callable(act):
        _emit(look(target, now), controller, way, ["nothing was done; add --apply to do it"])
        return
    _emit(act(target, now, controller.others()), controller, way, [])


def _emit(done: Round, controller: Controller, way: Way, notes: list[str]) -> None:
    from adminkit.reports.trial_round import status_report

    emit(status_report(done, controller.cluster, notes), way)
    if not done.ok:
        raise typer.Exit(1)


def _start(
    file: Path,
    days: int,
    seed: int | None,
    carry_over: str | None,
    hoped: float | None,
    apply: bool,
    folder: Path | None,
    db: Path | None,
    way: Way,
) -> None:
    from adminkit.deploy.trial import Trial
    from adminkit.deploy.trial_file import load_plan
    from adminkit.deploy.trial_start import prepare
    from adminkit.slurm.switching import holds
    from adminkit.stats.switchback import any_seed, calendar, check_days

    check_days(days)
    target, controller = target_of(folder, None, None)
    if controller.away:
        raise AdminkitError(f"slurmctld is not responding: {controller.away}", "start it: A has to be in place")
    now = int(time.time())
    read = load_plan(file, holds().release)
    prepared = prepare(read, controller, target.folder, now, config.load().gpus)
    first = local_time(now, None).date() + timedelta(days=1)
    midnights = [midnight(first + timedelta(days=nth), None) for nth in range(days + 1)]
    seed = any_seed() if seed is None else seed
    made = Trial(controller.cluster, now, seed, 0, calendar(midnights, seed), hoped, read.names)
    _written(read, prepared, made, carry_over, apply, target, controller, db, way)


def _written(
    read: Plan, prepared: Prepared, made: Trial, carry_over: str | None, apply: bool, target: Target,
    controller: Controller, db: Path | None, way: Way,
) -> None:  # fmt: skip
    """Show the calendar, and with `apply` write the trial down."""
    from dataclasses import replace

    from adminkit.cli.trial_past import past
    from adminkit.deploy.trial_start import begin
    from adminkit.reports.trial import calendar_report, preview_notes

    known = past(db, controller.cluster, made.begins, made.made_at, carry_over)
    made = replace(made, carry_over=known.carry_over, lines=prepared.lines)
    notes = preview_notes(made, apply, known.means, known.p95, controller.others())
    if apply:
        numbers, widest, more = _history(made, prepared)
        begin(prepared, read, made, target, numbers, widest)
        notes += more
    emit(calendar_report(made, [*notes, *(f"{made.names[1]}: {line}" for line in made.lines), *prepared.notes]), way)


def _history(made: Trial, prepared: Prepared) -> tuple[Sequence[Numbers], int | None, list[str]]:
    """What the guards compare with at first: the fourteen days before, by slurmdbd."""
    from adminkit.deploy.trial_guards import lowered_by
    from adminkit.deploy.trial_numbers import history
    from adminkit.stats.switchback import BLOCK, Day

    today = midnight(local_time(made.made_at, None).date(), None)
    days = [Day(today - nth * 86_400, today - (nth - 1) * 86_400, on=False) for nth in range(BLOCK, 0, -1)]
    try:
        numbers, widest = history(made.cluster, days, made.carry_over, made.made_at, lowered_by(prepared.pair))
    except AdminkitError as error:
        return [], None, [f"the guards wait for two days of A: {error.message}"]
    if len(numbers) < 2:
        return numbers, widest, [f"the guards wait for days of A: {len(numbers)} of the last {BLOCK} had jobs"]
    return numbers, widest, [f"the guards compare with {len(numbers)} days before, and with A's days as they pass"]
