"""adminkit metrics: numbers for a monitoring system."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from adminkit import config
from adminkit.cli import options
from adminkit.cli.operators import METRICS, operators_only
from adminkit.errors import AdminkitError, UsageError
from adminkit.render.say import say
from adminkit.render.sink import write_aside
from adminkit.trace.connect import reader
from adminkit.trace.location import find_trace
from adminkit.units import moment, parse_duration

if TYPE_CHECKING:
    from prometheus_client.core import Metric

    from adminkit.config import Config
    from adminkit.usage.held import Held

Window = Annotated[str, typer.Option("--window", metavar="TIME", help="How far back the gauges about jobs look.")]
Now = Annotated[
    bool,
    typer.Option(
        "--cluster-now/--trace-only",
        help="Also ask slurmctld what the cluster has and does at this moment. Not with --as-of.",
    ),
]
To = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="Write to FILE, completely or not at all. Default: stdout."),
]


def metrics(
    db: options.Database = None,
    window: Window = "1d",
    as_of: options.AsOf = None,
    cluster_now: Now = True,
    output: To = None,
) -> None:
    """Write metrics for Prometheus, in its text format 0.0.4. They cover accuracy, waits, the backlog, letters, how
    far sync lags behind, and the cluster's nodes and jobs at this moment.

    Example: adminkit metrics --output /run/adminkit.prom
    """
    from adminkit.integrations.prometheus import exposition

    settings, when = config.load(), moment(as_of, time.time())
    seconds = parse_duration(window)
    if seconds < 1:
        raise UsageError(f"--window {window} is not a time", "write for example: 1d")
    path = find_trace(db, settings.db)
    operators_only(path, METRICS)
    with reader(path, when.as_of) as trace:
        more = [*_cluster(), *_idle(settings, when.now)] if cluster_now and as_of is None else []
        written = exposition(trace, settings, when.now, seconds, more)
    if output is None:
        sys.stdout.write(written.decode())
    else:
        write_aside(output, written)


def _cluster() -> list[Metric]:
    """What slurmctld says, where this host has Slurm; one line on stderr where it does not answer."""
    from adminkit.integrations.prometheus_cluster import cluster_metrics
    from adminkit.slurm.gauges import gauges
    from adminkit.slurm.process import find

    if not find("squeue"):
        return []
    try:
        return list(cluster_metrics(gauges()))
    except AdminkitError as error:
        say(f"the gauges of the cluster are left out: {error.message}")
        return []


def _idle(settings: Config, now: int) -> list[Metric]:
    """Running jobs with GPUs and what is known of their use; one line on stderr where it cannot be asked."""
    from adminkit.integrations.prometheus_idle import idle_metrics
    from adminkit.slurm.cluster import local_cluster
    from adminkit.slurm.gpu_jobs import gpu_jobs
    from adminkit.slurm.process import find
    from adminkit.usage.held import IDLE
    from adminkit.usage.now import measure_to_show

    if not find("squeue"):
        return []
    try:
        cluster = local_cluster()
        found, notes = measure_to_show(settings.usage, gpu_jobs(), now)
    except AdminkitError as error:
        say(f"the gauges of idle GPUs are left out: {error.message}")
        return []
    for note in notes:
        say(note)
    return list(idle_metrics(cluster, found, _reached(settings, found, IDLE), IDLE))


def _reached(settings: Config, found: list[Held], least: int) -> dict[str, int] | None:
    """Jobs by step of the ladder; None where this process cannot read what the rounds did."""
    from adminkit.actions import read
    from adminkit.usage.steps import steps

    try:
        return steps(found, read(settings.acts), least) if settings.acts.exists() else None
    except (AdminkitError, OSError):
        return None
