"""adminkit trace rollups: a command of `adminkit trace`."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from adminkit import config
from adminkit.cli.operators import ROLLUPS, operators_only
from adminkit.cli.options import Database
from adminkit.errors import AdminkitError, UsageError
from adminkit.ingest.rollups import rebuild as make_rollups
from adminkit.render.format import plural
from adminkit.render.say import put
from adminkit.trace import connect, rollup
from adminkit.trace.location import find_trace


def rollups(
    db: Database = None,
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="Compute the rollups from the runs, and keep them up to date.")
    ] = False,
    drop: Annotated[bool, typer.Option("--drop", help="Remove the rollups, and stop keeping them.")] = False,
) -> None:
    """Compare the trace's rollups with its runs. Rollups are sums per month and per hour. Exit code 1 if they differ
    from the runs.

    Example: adminkit trace rollups
    """
    if rebuild and drop:
        raise UsageError("--rebuild and --drop cannot be combined", "name one of them")
    path = find_trace(db, config.load().db)
    operators_only(path, ROLLUPS)
    if rebuild or drop:
        if not connect.is_there(path):
            raise AdminkitError(f"no trace database at {path}", "name one with --db")
        with connect.writer(path) as trace:
            if drop:
                rollup.drop(trace)
        if rebuild:
            make_rollups(path, int(time.time()))
    with connect.reader(path) as trace:
        trace.execute("BEGIN")
        if not rollup.is_kept(trace):
            put(f"{path}: no rollups")
            return
        size, differ = rollup.size(trace), None if rebuild else rollup.check(trace)
    if differ is not None and any(differ):
        raise AdminkitError(
            f"the rollups of {path} differ from its runs: {differ.wrong} rows wrong, {differ.missing} missing",
            "adminkit trace rollups --rebuild makes them from the runs",
        )
    put(
        f"{path}: {plural(size.runs, 'run')} that ended; {size.months} rows of ended_month, {size.users} of"
        f" ended_month_user, {size.hours} of occupied_hour, {size.starts} of started_month, {size.keys} keys"
    )
