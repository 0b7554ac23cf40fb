"""doctor's check of archived months: whether their files, the only copy of these runs, can be read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from adminkit.doctor.check import Check
from adminkit.errors import AdminkitError
from adminkit.quote import quote
from adminkit.render.format import plural
from adminkit.trace import connect
from adminkit.trace.months import duck, write
from adminkit.trace.months.place import folder_of
from adminkit.trace.sight import sees_others


def archived(db: Path) -> Iterator[Check]:
    """One check where months are archived; none elsewhere, and where the trace cannot be read."""
    try:
        if not connect.is_there(db) or not sees_others(db):
            return
        with connect.reader(db, archive=False) as trace:
            months = write.listed_archived(trace, db)
    except AdminkitError:
        return  # the check `database` says why
    if not months:
        return
    bad = [one for one in months if one.why]
    if not duck.is_there():
        yield Check("archive", "missing", f"DuckDB, for {plural(len(months), 'archived month')}", "pip install duckdb")
    elif bad:
        listed = "; ".join(f"{quote(one.cluster)} {one.month}: {quote(one.why or '', 200)}" for one in bad[:3])
        yield Check(
            "archive", "missing", f"{len(bad)} of {plural(len(months), 'archived month')} cannot be read: {listed}",
            f"there is no other copy: restore the files below {folder_of(db)} from a backup",
        )  # fmt: skip
    else:
        yield Check("archive", "ok", f"{plural(len(months), 'month')}, only in {folder_of(db)}: back it up too")
