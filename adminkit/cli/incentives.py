"""adminkit incentives …"""

from __future__ import annotations

import os
import pwd
import time
from pathlib import Path
from typing import Annotated

import typer

from adminkit import config
from adminkit.cli import options
from adminkit.errors import UsageError
from adminkit.report.sink import Way, emit, write_aside
from adminkit.trace.connect import reader
from adminkit.trace.place import find_trace
from adminkit.trace.rights import sees_others

app = typer.Typer(help="Who starts sooner, and why.", no_args_is_help=True, rich_markup_mode=None)

PolicyFile = Annotated[
    Path | None, typer.Option("--policy", metavar="FILE", help="The policy. Default: /etc/adminkit/policy.toml.")
]
Cluster = Annotated[
    str | None, typer.Option("--cluster", "-M", metavar="NAME", help="Whose jobs; needed where the trace has several.")
]
PerHour = Annotated[
    float | None,
    typer.Option(
        "--points-per-hour",
        metavar="X",
        help="What an hour of ageing is worth (PriorityWeightAge / PriorityMaxAge in hours). Default: asked of Slurm.",
    ),
]
Most = Annotated[int, typer.Option("--runs", metavar="N", min=0, help="How many runs to show, the heaviest first.")]
Out = Annotated[
    Path | None, typer.Option("--out", metavar="DIR", help="Also write incentives.lua and hints.lua into this folder.")
]
User = Annotated[str | None, typer.Argument(metavar="[USER]", help="Whose points to explain. Default: everybody's.")]


@app.callback()
def root() -> None:
    """Who starts sooner, and why."""


@app.command()
def compute(
    policy: PolicyFile = None,
    db: options.Database = None,
    cluster: Cluster = None,
    points_per_hour: PerHour = None,
    out: Out = None,
    format: options.FormatOption = options.Format.TABLE,
    output: options.Output = None,
) -> None:
    """Derive the tables of points and hints from the trace. Nothing is installed."""
    from adminkit.policy import incentive_build as build
    from adminkit.policy.load import find_policy, load_policy
    from adminkit.report.incentives import everybody_report

    now, rules = int(time.time()), load_policy(find_policy(policy)[0])
    path = find_trace(db, config.load().db)
    worth = build.worth(rules.incentives, _positive(points_per_hour))
    with reader(path) as trace:
        found = build.compute(trace, rules, build.only_cluster(trace, cluster), now, worth)
        tables = build.tables(found, (), rules, now)
    for table in tables if out else ():
        write_aside(Path(out or "") / f"{table.name}.lua", table.text.encode())
    emit(everybody_report(found, rules.incentives, str(path), tables), Way(format.value, output))


@app.command()
def show(
    user: User = None,
    policy: PolicyFile = None,
    db: options.Database = None,
    cluster: Cluster = None,
    points_per_hour: PerHour = None,
    runs: Most = 20,
    format: options.FormatOption = options.Format.TABLE,
    output: options.Output = None,
) -> None:
    """Explain one user's points line by line, or list everybody's."""
    from adminkit.policy import incentive_build as build
    from adminkit.policy.load import find_policy, load_policy
    from adminkit.report.incentives import everybody_report, user_report

    now, rules = int(time.time()), load_policy(find_policy(policy)[0])
    path = find_trace(db, config.load().db)
    with reader(path) as trace:
        user = _allowed(user, path)
        worth = build.worth(rules.incentives, _positive(points_per_hour))
        where = build.only_cluster(trace, cluster)
        if user is None:
            report = everybody_report(build.compute(trace, rules, where, now, worth), rules.incentives, str(path))
        else:
            found = build.explain(trace, rules, where, user, now, worth, runs)
            report = user_report(found, rules.incentives, str(path))
    emit(report, Way(format.value, output))


def _allowed(user: str | None, path: Path) -> str | None:
    """Whose points this caller may read: operators everybody's, others their own."""
    if sees_others(path):
        return user
    own = pwd.getpwuid(os.geteuid()).pw_name
    if user not in (None, own):
        raise UsageError(f"the points of {user} are for {user} and the operators", f"adminkit incentives show {own}")
    return own


def _positive(per_hour: float | None) -> float | None:
    if per_hour is not None and not 0 < per_hour < float("inf"):
        raise UsageError(f"--points-per-hour {per_hour:g} is no worth", "it is more than zero")
    return per_hour
