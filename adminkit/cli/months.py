"""adminkit trace months: a command of `adminkit trace`."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from typing import Annotated

import typer

from adminkit import config
from adminkit.cli.months_kept import write_due
from adminkit.cli.operators import MONTHS, operators_only
from adminkit.cli.options import Counted, CountedOption, Database
from adminkit.errors import AdminkitError, UsageError
from adminkit.quote import quote
from adminkit.render.format import plural
from adminkit.render.say import put
from adminkit.trace import connect
from adminkit.trace.location import find_trace
from adminkit.trace.months import duck, write


def months(
    db: Database = None,
    write_them: Annotated[
        bool, typer.Option("--write", help="Write every month that is over and has no file, or one that is not right.")
    ] = False,
    remove: Annotated[bool, typer.Option("--remove", help="Remove all files. The trace stays as it is.")] = False,
    format: CountedOption = Counted.TABLE,
) -> None:
    """Show, write or remove the files of months. They are copies, in Parquet, of runs that ended in months that are
    over. Reports read them, which is faster, and other programs may read them too. Files of archived months
    hold the only copy of these runs: they are shown, and never removed.

    Example: adminkit trace months
    """
    if write_them and remove:
        raise UsageError("--write and --remove cannot be combined", "name one of them")
    settings, now = config.load(), int(time.time())
    path = find_trace(db, settings.db)
    operators_only(path, MONTHS)
    if not connect.is_there(path):
        raise AdminkitError(f"no trace database at {path}", "name one with --db")
    if write_them or remove:
        with connect.writer(path) as trace:
            if remove:
                put(f"{path}: removed {plural(write.remove(trace, path), 'file')}")
                return
            if not duck.is_there():
                raise AdminkitError("DuckDB is not installed, which writes Parquet", "pip install duckdb")
            write_due(trace, path, settings.months, now)
    with connect.reader(path) as trace:
        found = [*write.listed_archived(trace, path), *write.listed(trace, path, now - settings.months.quiet)]
    if format is Counted.JSON:
        print(json.dumps({"meta": {"database": str(path)}, "rows": [asdict(one) for one in found]}))
        return
    for one in found:
        what = one.why or f"{plural(one.rows or 0, 'run')}, {one.size:,} bytes"
        what = f"archived, {what}" if one.archived else what
        put(f"{quote(one.cluster)} {one.month}: {what}")
    if not found:
        put(f"{path}: no month is over")
