"""adminkit recommend gpus."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import Annotated

import typer

from adminkit import config
from adminkit.cli import options
from adminkit.cli.own import Fresh, opened, readable_trace
from adminkit.cli.power import Batch, Cap
from adminkit.cli.recommend_options import Cluster, Name, User
from adminkit.errors import AdminkitError, UsageError, unknown_word
from adminkit.recommend.gpu_waits import gpu_waits
from adminkit.recommend.gpus import Known, advise, known_of
from adminkit.render.format import plural
from adminkit.render.sink import Way, emit
from adminkit.reports.recommend_gpus import gpus_report
from adminkit.sqlite import sqlite3
from adminkit.stats.power_curve import Curve, curves, models
from adminkit.stats.progress import DAYS, Ran, counted, habit, progress
from adminkit.units import moment, parse_share

_HINT = (
    "docs/progress.md says how a run counts its iterations; --curve NAME takes a measured one of `adminkit power show`"
)


def gpus(
    user: User = None,
    name: Name = None,
    present: Annotated[
        int | None,
        typer.Option(
            "--gpus", "-G", min=1, help="GPUs that the job asks for now. Default: the number that most of its runs had."
        ),
    ] = None,
    max_slower: Annotated[
        str, typer.Option("--max-slower", metavar="SHARE", help="How much longer the job may take: 5%, 0.05.")
    ] = "5%",
    curve: Annotated[
        str | None,
        typer.Option(
            "--curve", metavar="NAME", help="Use the measured curve of this model instead of the user's runs."
        ),
    ] = None,
    gpu: Annotated[
        str | None, typer.Option("--gpu", metavar="KIND", help="The kind of GPU on which the curve was measured.")
    ] = None,
    cap: Cap = None,
    batch: Batch = None,
    cluster: Cluster = None,
    as_of: options.AsOf = None,
    fresh: Fresh = False,
    db: options.Database = None,
    format: options.FormatOption = options.Format.TABLE,
    output: options.Output = None,
) -> None:
    """Find the number of GPUs that needs the least energy. Leaves out numbers with which the job would be much slower.

    Uses the progress recorded by runs with the job's name, or else a measured curve with that name.

    Example: adminkit recommend gpus --user alice --name train
    """
    if curve is None and name is None:
        raise UsageError("which training is it?", "name it with --name, or a measured one with --curve")
    slower, when, settings = parse_share(max_slower), moment(as_of, time.time()), config.load()
    path = readable_trace(db, settings)
    with opened(path, cluster, user, fresh, when.as_of) as (trace, whose, database):
        ran: list[Ran] = []
        if curve is None and name is not None:
            if whose is None:
                raise UsageError("whose job is it?", "name the user with --user, or a measured curve with --curve")
            told = progress(trace, when.now, settings.energy.node_watts, cluster=cluster, user=whose, name=name)
            ran = told.get((whose, name), [])
        if ran:
            known, notes = _of_runs(ran)
            subject = f"{name} of {whose}"
        else:
            found = _curve(trace, curve or name or "", gpu, cap, batch, named=curve is not None)
            known, notes = _of_curve(found)
            subject = found.model + (f" on {found.gpu}" if found.gpu else "")
        base = present or (ran[0].gpus if ran else max(one.gpus for one in known))
        advice = advise(known, base, slower)
        if advice is None:
            counts = ", ".join(str(one.gpus) for one in sorted(known, key=lambda one: one.gpus))
            raise AdminkitError(
                f"the trace has no data for {subject} with {plural(base, 'GPU')}", f"it has data for: {counts}"
            )
        asked = habit(trace, when.now, whose, name, cluster) if ran and whose and name else None
        waits = gpu_waits(trace, asked, [one.gpus for one in advice.choices], when.now, settings.checkpoint.code)
        costs = _costs(trace, when.now, whose, name, cluster, notes) if ran and whose and name else None
    emit(
        gpus_report(advice, subject, database, slower, notes, waits, costs).dated(when.as_of), Way(format.value, output)
    )


def _costs(
    trace: sqlite3.Connection, now: int, user: str, name: str, cluster: str | None, notes: list[str]
) -> Mapping[int, float] | None:
    """The costs by the scheme of this host, which a note names; None where it has none that may be read."""
    from adminkit.economy.schemes import SYSTEM_SCHEMES, load_schemes
    from adminkit.economy.unit_cost import unit_costs

    if not os.access(SYSTEM_SCHEMES, os.R_OK):
        return None
    file = load_schemes(None, SYSTEM_SCHEMES)
    notes.append(f"cost: what the user's own runs are charged under the scheme {file.scheme} of {file.path}")
    did = counted(trace, now, user, name, cluster)
    return unit_costs(trace, file.schemes[file.scheme], did, now - DAYS * 86_400)


def _of_runs(ran: list[Ran]) -> tuple[list[Known], list[str]]:
    notes = ["iterations are as the program reported them; the batch of all GPUs together is assumed to stay the same"]
    if shared := sum(one.shared for one in ran):
        notes.append(f"the energy of {plural(shared, 'run')} is not counted: other jobs were on the nodes")
    return known_of(ran), notes


def _of_curve(found: Curve) -> tuple[list[Known], list[str]]:
    notes = [f"measured elsewhere: {found.model}{f' on {found.gpu}' if found.gpu else ''}"]
    if found.cap is not None:
        notes[0] += f" at {found.cap:g} W"
    if not found.by_iteration:
        notes.append("the source does not count the steps of a piece of work: pieces are assumed to be the same work")
    return [Known(one.gpus, one.seconds, one.joules) for one in found.places], notes


def _curve(
    db: sqlite3.Connection, name: str, gpu: str | None, cap: float | None, batch: float | None, named: bool
) -> Curve:
    """The one curve of that name: at its highest power limit, if none is asked for."""
    known = models(db)
    if name not in known:
        if named:
            raise unknown_word("curve", name, known)
        raise AdminkitError(
            f"not known: no run of {name} in {DAYS} days wrote its progress, and no measured curve has that name", _HINT
        )
    found = curves(db, name, gpu, cap, batch)
    if not found:
        raise AdminkitError(f"no measurement of {name} matches", "leave out --gpu, --cap or --batch")
    if len(kinds := sorted({one.gpu for one in found})) > 1:
        raise AdminkitError(f"{name} was measured on {', '.join(kinds)}", "name one with --gpu")
    one = found[0]
    batches = sorted({place.batch for place in one.places if place.batch is not None})
    if len(batches) > 1:
        shown = ", ".join(f"{value:g}" for value in batches)
        raise AdminkitError(f"{name} was measured with batches of {shown}", "name one with --batch")
    return one
