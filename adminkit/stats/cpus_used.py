"""The CPUs that runs kept busy for each of their GPUs, as runs of stats/runs.py: what predictors of time learn from.

The unit is a hundredth of a CPU per GPU wherever a Run has seconds: `elapsed` is the mean over the run's time (CPU time
of all steps / elapsed / GPUs), `req_limit` and `last_limit` are the CPUs. Only runs of whole GPUs count.

It is a mean, as Slurm keeps no peak: a run may have needed more CPUs for a while. A run that kept nearly all of its
CPUs busy is one at its limit: it might have used more. One that did not complete may have used more later.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from adminkit.sqlite import sqlite3
from adminkit.stats.runs import ENDED, KIND, MANY, Kind, Run, among, lately
from adminkit.trace.run_view import STUDY_MIN_ELAPSED
from adminkit.trace.sight import everybodys

#: The unit of a Run's numbers is this part of a CPU.
PARTS: Final = 100
#: A run that kept this share of its CPUs busy might have used more.
BUSY: Final = 0.95
_RUNS: Final = f"""
SELECT {KIND}, uid, array_job, submit_time, end_time, state, job_id_raw, size_cpus, size_gpus, cpu_time, elapsed
{ENDED} AND elapsed > {STUDY_MIN_ELAPSED} AND size_gpus >= 1 AND coalesce(gpu_kind, 'whole') = 'whole'
ORDER BY submit_time, cluster, job_id_raw
"""


@dataclass(slots=True)
class CpusUsed:
    """The runs, and how many are left out because their use is unknown; complete once `runs` was read to its end."""

    db: sqlite3.Connection
    users: Sequence[str]
    clusters: Sequence[str]
    checkpoint_code: int
    unknown: int = 0

    def runs(self) -> Iterator[Run]:
        """Runs with GPUs, by submission."""
        more, params = among(self.users, self.clusters, self.checkpoint_code)
        for row in self.db.execute(_RUNS.format(run="run", more=more), params):
            run = used(Kind(*row[:8]), *row[8:])
            self.unknown += run is None
            if run is not None:
                yield run


def latest(db: sqlite3.Connection, cluster: str, *, checkpoint_code: int, many: int = MANY) -> Iterator[Run]:
    """Those of about the last `many` runs of all users of a cluster that had GPUs, and whose use is known.

    They are everybody's whoever asks: show nothing of them, only what is counted.
    """
    run = everybodys(db, "run")
    more, params = lately(db, run, cluster, acting=False, checkpoint_code=checkpoint_code, many=many)
    for row in db.execute(_RUNS.format(run=run, more=more), params):
        if (one := used(Kind(*row[:8]), *row[8:])) is not None:
            yield one


def used(
    kind: Kind,
    uid: int | None,
    array_job: int | None,
    submit_time: int,
    end_time: int,
    state: str | None,
    job_id_raw: int | None,
    cpus: int | None,
    gpus: float,
    cpu_time: float | None,
    elapsed: int,
) -> Run | None:
    """A run in hundredths of a CPU per GPU; None where its CPUs, or their use, are unknown. Times are in seconds."""
    if cpu_time is None or cpu_time <= 0 or not cpus:
        return None
    had = round(PARTS * cpus / gpus)
    need = max(-(-PARTS * cpu_time // (elapsed * gpus)), 1)
    ended = "TIMEOUT" if need >= BUSY * had else "COMPLETED" if state == "COMPLETED" else "CANCELLED"
    kind = kind._replace(req_limit=had)
    return Run(kind, uid, array_job, submit_time, end_time, min(int(need), had), ended, job_id_raw)
