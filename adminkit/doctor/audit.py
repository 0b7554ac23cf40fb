"""doctor's checks of the trace's rows: whether an audit has asked slurmdbd about all of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from adminkit.doctor.check import Check
from adminkit.errors import AdminkitError
from adminkit.ingest.audit import DONE
from adminkit.quote import quote
from adminkit.trace import connect
from adminkit.trace.audit import clusters
from adminkit.trace.windows import fact
from adminkit.units import show_time


def audits(db: Path) -> Iterator[Check]:
    """A check for each cluster that sync has filled; empty where the trace cannot be read."""
    try:
        if not connect.is_there(db):
            return
        with connect.reader(db) as trace:
            audited = [(cluster, fact(trace, cluster, DONE)) for cluster in clusters(trace)]
    except AdminkitError:
        return  # the check `database` says why
    for cluster, done in audited:
        if done is None:
            yield Check(
                "audit",
                "warn",
                f"no audit has asked slurmdbd yet whether all rows of {quote(cluster)} are its own",
                "run it once, as the trace's owner: adminkit trace audit, then adminkit trace audit --apply",
            )
        else:
            yield Check("audit", "ok", f"{quote(cluster)}: {done[0]}, {show_time(done[1])}")
