"""adminkit incentives …"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from adminkit import config
from adminkit.cli import options
from adminkit.cli.group import group
from adminkit.cli.operators import POINTS, operators_only
from adminkit.cli.own_file import made_note, no_points, own_of
from adminkit.cli.policy_input import PolicyFile
from adminkit.cli.policy_install import Fetch, Folder, Push, target_of
from adminkit.errors import AdminkitError, UsageError
from adminkit.render.say import put
from adminkit.render.sink import Way, emit
from adminkit.stats.select import only_cluster
from adminkit.stats.sources import refuse_demo
from adminkit.trace.connect import is_there, reader
from adminkit.trace.location import find_trace
from adminkit.trace.sight import whose
from adminkit.units import Moment, moment

if TYPE_CHECKING:
    from adminkit.economy.build import Computed, Table, Worth
    from adminkit.policy.model import Policy

app = group("Give a priority bonus to users whose limits are accurate.")

PerHour = Annotated[
    float | None,
    typer.Option(
        "--points-per-hour",
        metavar="X",
        help="How many points one hour of ageing is worth: PriorityWeightAge / PriorityMaxAge in"
        " hours. Default: ask Slurm.",
    ),
]
Most = Annotated[
    int, typer.Option("--runs", metavar="N", min=0, help="Show at most N runs, those with the most weight first.")
]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out", metavar="DIR", help="Also write the tables into DIR, for `adminkit incentives install --from DIR`."
    ),
]
Source = Annotated[
    Path | None,
    typer.Option(
        "--from", metavar="DIR", help="Install what `adminkit incentives compute --out DIR` wrote; needs no trace."
    ),
]
PrintFiles = Annotated[
    bool, typer.Option("--print-files", help="Only print the path of every file that would be written.")
]
User = Annotated[
    str | None, typer.Argument(metavar="[USER]", help="The user whose points to explain. Default: list everybody's.")
]


@app.command()
def compute(
    policy: PolicyFile = None,
    db: options.Database = None,
    cluster: options.OneCluster = None,
    points_per_hour: PerHour = None,
    as_of: options.AsOf = None,
    out: Out = None,
    format: options.FormatOption = options.Format.TABLE,
    output: options.Output = None,
) -> None:
    """Compute the tables of points and hints from the trace. Installs nothing.

    Example: adminkit incentives compute
    """
    from adminkit.economy.build import write_tables
    from adminkit.reports.incentives import everybody_report

    path, when = find_trace(db, config.load().db), moment(as_of, time.time())
    if out is not None and when.as_of is not None:
        raise UsageError(
            "--out writes the present tables, so it cannot be combined with --as-of",
            "leave out --out to see what they would have been",
        )
    rules, worth = rules_of(policy, points_per_hour, when)
    computed, tables = _computed(path, rules, worth, cluster, when, acts=out is not None)
    if out is not None:
        write_tables(out, tables)
    emit(everybody_report(computed, rules.incentives, str(path), tables).dated(when.as_of), Way(format.value, output))


@app.command()
def show(
    user: User = None,
    policy: PolicyFile = None,
    db: options.Database = None,
    cluster: options.OneCluster = None,
    points_per_hour: PerHour = None,
    as_of: options.AsOf = None,
    runs: Most = 20,
    format: options.FormatOption = options.Format.TABLE,
    output: options.Output = None,
) -> None:
    """List everybody's points, or explain one user's. The points of one user are explained line by line.

    Example: adminkit incentives show alice
    """
    from adminkit.economy import build
    from adminkit.reports.incentives import everybody_report, shortened, user_report

    settings, when = config.load(), moment(as_of, time.time())
    if (mine := own_of(db, settings, [user] if user else [], as_of)) is not None:
        if mine.points is None:
            raise no_points(mine)
        emit(shortened(mine.points, runs).noted(made_note(mine)), Way(format.value, output))
        return
    now, path, code = when.now, find_trace(db, settings.db), settings.checkpoint.code
    rules, worth = rules_of(policy, points_per_hour, when)
    with reader(path, when.as_of) as trace:
        user = next(iter(whose([user] if user else None, path)), None)
        where = only_cluster(trace, cluster)
        if user is None:
            report = everybody_report(
                build.compute(trace, rules, where, now, worth, held_out_at(now), checkpoint_code=code),
                rules.incentives,
                str(path),
            )
        else:
            explained = build.explain(
                trace, rules, where, user, now, worth, runs, held_out_at(now), checkpoint_code=code
            )
            report = user_report(explained, rules.incentives, str(path))
    emit(report.dated(when.as_of), Way(format.value, output))


@app.command()
def install(
    policy: PolicyFile = None,
    db: options.Database = None,
    cluster: options.OneCluster = None,
    points_per_hour: PerHour = None,
    source: Source = None,
    folder: Folder = None,
    apply: options.Apply = False,
    push: Push = None,
    fetch: Fetch = None,
    print_files: PrintFiles = False,
    format: options.FormatOption = options.Format.TABLE,
    output: options.Output = None,
) -> None:
    """Install points and hints on the slurmctld hosts. Without --apply, only shows what would be done.

    Example: adminkit incentives install --apply
    """
    from adminkit.cli.installing import emit_done, emit_preview
    from adminkit.deploy.bundle import tables_only
    from adminkit.deploy.install import apply as act
    from adminkit.deploy.install import preview as look
    from adminkit.economy.build import read_tables
    from adminkit.reports.incentives import preview, sizes

    rules, worth = rules_of(policy, points_per_hour, moment(None, time.time()))
    tables = read_tables(source, worth.points.cap) if source else _made(rules, worth, db, cluster)
    notes = (*preview(max(one.largest for one in tables), worth), *sizes(tables))
    bundle, (target, _) = tables_only({one.name: one.text for one in tables}, notes), target_of(folder, push, fetch)
    if print_files:
        put("\n".join(str(target.folder / change.file) for change in look(bundle, target)))
    elif apply:
        emit_done(act(bundle, target, "incentives install"), target, notes, Way(format.value, output))
    else:
        emit_preview(bundle, target, Way(format.value, output))


def _made(rules: Policy, worth: Worth, db: Path | None, cluster: str | None) -> list[Table]:
    """The tables, from the trace of this host."""
    path = find_trace(db, config.load().db)
    if not is_there(path):
        raise AdminkitError(
            f"no trace database at {path}",
            "on the host that has the trace, run adminkit incentives compute --out DIR; then copy DIR here and use"
            " --from DIR",
        )
    return _computed(path, rules, worth, cluster, moment(None, time.time()), acts=True)[1]


def _computed(
    path: Path, rules: Policy, worth: Worth, cluster: str | None, when: Moment, *, acts: bool
) -> tuple[Computed, list[Table]]:
    """Everybody's standing and the tables that follow from it, for the operators. `acts`: they are to be installed."""
    from adminkit.economy import build

    now, code = when.now, config.load().checkpoint.code
    held_out = held_out_at(now)
    with reader(path, when.as_of) as trace:
        operators_only(path, POINTS)
        where = only_cluster(trace, cluster)
        if acts:
            refuse_demo(trace, [where], "no points or hints are installed from it")
        computed = build.compute(trace, rules, where, now, worth, held_out, checkpoint_code=code)
        learnt = build.learnt(trace, rules, computed, now, held_out, checkpoint_code=code)
        return computed, build.tables(computed, learnt, rules, now, *_opted_out(path))


def _opted_out(path: Path) -> tuple[set[int], set[int]]:
    """The uids of users who switched hints off, and soft limits, by `adminkit feedback prefs`."""
    from adminkit.feedback.prefs import check_folder, folder_of, without_hints, without_plan
    from adminkit.feedback.sweep import sweep

    folder = folder_of(config.load(), path)
    check_folder(folder, path)
    sweep(folder)
    return without_hints(folder, path), without_plan(folder, path)


def held_out_at(now: int) -> Callable[[int], bool]:
    """Whether a uid is in the hold-out at `now`."""
    from adminkit.feedback.holdout import held_out

    settings = config.load().feedback
    return lambda uid: held_out(uid, settings, now)


def rules_of(policy: Path | None, per_hour: float | None, when: Moment) -> tuple[Policy, Worth]:
    """policy.toml, and what an hour of ageing is worth here, today's also as of another day."""
    from adminkit.economy.build import worth
    from adminkit.policy.load import find_policy, load_policy

    if per_hour is not None and not 0 < per_hour < float("inf"):
        raise UsageError(
            f"--points-per-hour {per_hour:g} is not a number above 0",
            "give PriorityWeightAge / PriorityMaxAge in hours",
        )
    path, example = find_policy(policy)
    rules = load_policy(path)
    hour = worth(rules.incentives, per_hour, past=when.as_of is not None)
    note = (f"from the example {path}, as this host has no /etc/adminkit/policy.toml",) if example else ()
    return rules, replace(hour, notes=(*hour.notes, *note))
