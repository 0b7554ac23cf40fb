"""doctor's line on the trace's rows: whether slurmdbd was ever asked about all of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from adminkit.doctor.check import Line
from adminkit.errors import AdminkitError
from adminkit.ingest.audit import DONE
from adminkit.quote import quote
from adminkit.trace import connect
from adminkit.trace.audit import clusters
from adminkit.trace.windows import fact
from adminkit.units import show_time


def audits(db: Path) -> Iterator[Line]:
    """One line for each cluster that sync has filled; none where there is no trace to be read."""
    try:
        if not connect.is_there(db):
            return
        with connect.reader(db) as trace:
            found = [(cluster, fact(trace, cluster, DONE)) for cluster in clusters(trace)]
    except (AdminkitError, OSError):
        return  # that is the database's own line
    for cluster, done in found:
        if done is None:
            yield (
                "audit", "warn", f"slurmdbd was never asked whether all rows of {quote(cluster)} are its own",
                "once, as the trace's owner: adminkit trace audit, then with --apply",
            )  # fmt: skip
        else:
            yield "audit", "ok", f"{quote(cluster)}: {done[0]}, {show_time(done[1])}", ""
