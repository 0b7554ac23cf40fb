"""The memory that runs needed on their fullest node, as runs of stats/runs.py: what predictors of time learn from.

The unit is MiB per node wherever a Run has seconds: `elapsed` is the peak, `req_limit` and `last_limit` are the memory.
A run that ran out of memory is one at its limit: it needed at least what it had, and how much more is not known. A run
that neither completed nor ran out of memory may have needed more than it shows, like one that was cancelled.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from adminkit.sqlite import sqlite3
from adminkit.stats.runs import ENDED, KIND, MANY, Kind, Run, among, lately
from adminkit.trace.measured import in_sqlite
from adminkit.trace.sight import everybodys, of_all

MIB: Final = 2**20
#: SQL: what was asked for on a node, and what the run had there, MiB, and the peak of its fullest node, bytes.
_PER_NODE: Final = f"cast({{}} / max(coalesce(size_nodes, 1), 1) / {MIB} AS INTEGER)"
_ASKED: Final = _PER_NODE.format("coalesce(req_mem, mem)")
_HAD: Final = _PER_NODE.format("coalesce(mem, req_mem)")
_RUNS: Final = f"""
SELECT {KIND}, uid, array_job, submit_time, end_time, state, job_id_raw, {_ASKED}, {_HAD}, measured_node_mem
{ENDED}
ORDER BY submit_time, cluster, job_id_raw
"""


@dataclass(slots=True)
class Peaks:
    """The runs, and how many are left out because their peak is unknown; complete once `runs` was read to its end."""

    db: sqlite3.Connection
    users: Sequence[str]
    clusters: Sequence[str]
    checkpoint_code: int
    unknown: int = 0
    acting: bool = False  # only runs that may have consequences for a person
    since: int | None = None  # only those that ended at or after it

    def runs(self) -> Iterator[Run]:
        """By submission. The peak of a run that ran out of memory need not be known."""
        more, params = among(self.users, self.clusters, self.checkpoint_code)
        if self.acting:
            more += " AND acting"
        if self.since is not None:
            more, params = f"{more} AND end_time >= :since", {**params, "since": self.since}
        (sql,) = in_sqlite(self.db, [_RUNS.format(run="run", more=more)])
        for row in self.db.execute(sql, params):
            run = peak(Kind(*row[:8]), *row[8:])
            self.unknown += run is None
            if run is not None:
                yield run


def latest(
    db: sqlite3.Connection, cluster: str, *, acting: bool = False, checkpoint_code: int, many: int = MANY
) -> Iterator[Run]:
    """Those of about the last `many` runs of all users of a cluster whose need is known, by submission.

    They are everybody's whoever asks: show nothing of them, only what is counted.
    """
    more, params = lately(db, everybodys(db, "run"), cluster, acting=acting, checkpoint_code=checkpoint_code, many=many)
    (sql,) = in_sqlite(db, [_RUNS.format(run="run", more=more)], of_all(db))
    for row in db.execute(sql, params):
        if (run := peak(Kind(*row[:8]), *row[8:])) is not None:
            yield run


def peak(
    kind: Kind,
    uid: int | None,
    array_job: int | None,
    submit_time: int,
    end_time: int,
    state: str | None,
    job_id_raw: int | None,
    asked: int | None,
    had: int | None,
    used: int | None,
) -> Run | None:
    """A run in MiB; None where its need is unknown. `asked` and `had` in MiB per node, `used` in bytes."""
    need = None if not used else -(-used // MIB)
    if state == "OUT_OF_MEMORY":
        need, state = max(need or 0, had or 0) or None, "TIMEOUT"
    elif state != "COMPLETED":
        state = "CANCELLED"
    elif need is not None and had:
        need = min(need, max(had - 1, 1))  # MaxRSS x tasks is a bound: what completed did not need more than it had
    if need is None:
        return None
    return Run(
        kind._replace(req_limit=asked or None), uid, array_job, submit_time, end_time, need, state, job_id_raw, had
    )
