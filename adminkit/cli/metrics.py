"""adminkit metrics: numbers for a monitoring system."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from adminkit import config
from adminkit.cli import options
from adminkit.cli.operators import METRICS, operators_only
from adminkit.errors import UsageError
from adminkit.render.sink import write_aside
from adminkit.trace.connect import reader
from adminkit.trace.location import find_trace
from adminkit.units import moment, parse_duration

DAY = 86_400

Window = Annotated[str, typer.Option("--window", metavar="TIME", help="How far back the gauges about jobs look.")]
To = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="Write to FILE, completely or not at all. Default: stdout."),
]


def metrics(db: options.Database = None, window: Window = "1d", as_of: options.AsOf = None, output: To = None) -> None:
    """Write metrics for Prometheus, in its text format 0.0.4. They cover accuracy, waits, the backlog, letters, and
    how far sync lags behind.

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
        written = exposition(trace, settings, when.now, seconds)
    if output is None:
        sys.stdout.write(written.decode())
    else:
        write_aside(output, written)
