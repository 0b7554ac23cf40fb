"""The jobs of a run of the simulator: columns of docs/simulate-spec.md, made of a trace's runs, and their names beside.

What cannot be simulated is left out, and counted under its reason with some of the jobs' ids.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Literal

from adminkit.errors import AdminkitError
from adminkit.simulate.core import NONE
from adminkit.simulate.groups import SIZE_EDGES, size_names

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from adminkit.stats.workload import Runs

    Column = NDArray[np.int64]
    Codes = NDArray[np.int32]
    Mask = NDArray[np.bool_]

#: What a job comes with: `eligible` carries dependencies and begin times, which a schedule cannot change.
Arrival = Literal["submit", "eligible"]
#: What the pool of the plain models is made of.
Unit = Literal["cpus", "gpus"]

#: Jobs that a reason names.
NAMED: Final = 5
#: The limit of a job without one, seconds: what Slurm plans with.
YEAR: Final = 365 * 86_400
#: The most that a narrow column holds.
_MOST: Final = 2**31 - 1
_MIB: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Missing:
    """Jobs that are not simulated, and why; the ids of some. `of_site`: the machine does not have what they need."""

    reason: str
    jobs: int
    ids: Sequence[int]
    of_site: bool = False


@dataclass(frozen=True, slots=True)
class Jobs:
    """Jobs in the order of (submit, id), all columns of one length.

    `columns` are the core's, but those that number a site's things (machine.py). `real` is what happened: submit,
    eligible, start, end, elapsed, nodes …; NONE for unknown. `codes[name][i]` is the place of job i's word in
    `names[name]` (queue, class, user, account, qos, gpu_type, state, reason, limit_kind, limit_source).
    """

    columns: Mapping[str, Column]
    real: Mapping[str, Column]
    codes: Mapping[str, Codes]
    names: Mapping[str, Sequence[str]]
    unit: Unit
    cluster: str = ""
    missing: Sequence[Missing] = ()
    notes: Sequence[str] = field(default_factory=tuple)

    def __len__(self) -> int:
        return len(self.columns["id"])

    def take(self, which: Mask, reason: str, *, of_site: bool = False) -> Jobs:
        """The jobs of `which`; the others are missing for `reason`."""
        if which.all():
            return self
        ids = self.columns["id"][~which]
        left = Missing(reason, len(ids), tuple(map(int, ids[:NAMED])), of_site)
        return replace(
            self,
            columns={name: column[which] for name, column in self.columns.items()},
            real={name: column[which] for name, column in self.real.items()},
            codes={name: column[which] for name, column in self.codes.items()},
            missing=(*self.missing, left),
        )

    def with_columns(self, **columns: Column) -> Jobs:
        """The same jobs with these columns in place of their own."""
        return replace(self, columns={**self.columns, **columns})

    def words(self, name: str) -> Sequence[str]:
        """The words of a name, the last one "?" for unknown: `words[code]` is right for every code."""
        return [*self.names[name], "?"]


def jobs_of(runs: Runs, *, unit: Unit | None = None, arrival: Arrival = "submit", priority: bool = False) -> Jobs:
    """The jobs of a trace: those that ran, with a size. Run and limit are in seconds, `mem` in MiB of a node.

    `unit` None: GPUs where more than half of the jobs have some. `priority`: the trace's own instead of the factors'.
    AdminkitError where no job is left.
    """
    import numpy as np

    given = runs.numbers
    if unit is None:
        unit = "gpus" if len(runs) and 2 * int((given["gpus"] > 0).sum()) > len(runs) else "cpus"
    come = given["submit"]
    if arrival == "eligible":
        come = np.where(given["eligible"] >= 0, np.maximum(given["eligible"], come), come)
    nodes = np.maximum(given["nodes"], 1)
    gpus = np.maximum(given["gpus"], 0)
    columns = {
        "id": given["id"],
        "submit": come,
        "run": given["elapsed"],
        "limit": _limits(runs),
        "procs": given[unit],
        "nodes": nodes,
        "cpus": np.maximum(given["cpus"], 1),
        # More than any node has, however much: where memory counts it fits nowhere, elsewhere nobody asks.
        "mem": np.where(given["mem"] > 0, np.minimum(-(-given["mem"] // (nodes * _MIB)), _MOST), 0),
        "gpus": gpus,
        "user": runs.codes["user"].astype(np.int64),
        "array": _numbered(given["array"]),
    }
    if priority:
        columns["priority"] = _priorities(given["priority"])
    real = {
        name: given[name] for name in ("submit", "eligible", "start", "end", "elapsed", "suspended", "het", "nodes")
    }
    jobs = Jobs(columns, real, runs.codes, runs.names, unit, runs.cluster)
    return _runnable(jobs, runs)


def _runnable(jobs: Jobs, runs: Runs) -> Jobs:
    """The jobs that can be simulated, by (submit, id). AdminkitError where there is none."""
    import numpy as np

    ended, started = jobs.real["end"] >= 0, jobs.real["start"] >= 0
    jobs = jobs.take(ended | ~started, "still running")
    jobs = jobs.take((jobs.real["end"] >= 0) | (jobs.columns["run"] > 0), "still waiting")
    jobs = jobs.take(jobs.columns["run"] > 0, "ran for less than a second")
    jobs = jobs.take(jobs.columns["run"] <= _MOST, "ran for more than 68 years")
    what = "GPUs" if jobs.unit == "gpus" else "CPUs"
    jobs = jobs.take(jobs.columns["procs"] > 0, f"without {what}, or with an unknown number of them")
    jobs = jobs.take(_fits_columns(jobs), "with a number that no job can have")
    if not len(jobs):
        raise AdminkitError(*_nothing(jobs, runs))
    order = np.lexsort((jobs.columns["id"], jobs.columns["submit"]))
    return replace(
        jobs,
        columns={name: column[order] for name, column in jobs.columns.items()},
        real={name: column[order] for name, column in jobs.real.items()},
        codes={name: column[order] for name, column in jobs.codes.items()},
    )


def _fits_columns(jobs: Jobs) -> Mask:
    import numpy as np

    fits = np.ones(len(jobs), dtype=bool)
    for name in ("procs", "nodes", "cpus", "mem", "gpus"):
        fits &= jobs.columns[name] <= _MOST
    return fits


def _nothing(jobs: Jobs, runs: Runs) -> tuple[str, str]:
    if not len(runs):
        return "no job to simulate", "look at what the trace has: adminkit trace status"
    why = "; ".join(f"{one.jobs} {one.reason}" for one in jobs.missing)
    return f"none of {len(runs)} jobs can be simulated: {why}", "a trace needs each job's run time and size"


def _limits(runs: Runs) -> Column:
    """Seconds; NONE: its queue's default. A job that may run for ever has a year, as Slurm plans with."""
    import numpy as np

    kinds = {kind: code for code, kind in enumerate(runs.names["limit_kind"])}
    endless = (runs.codes["limit_kind"] == kinds.get("unlimited", -2)) & (runs.numbers["limit"] <= 0)
    limit = np.where(runs.numbers["limit"] > 0, runs.numbers["limit"], NONE)
    return np.where(endless, YEAR, limit)


def _numbered(values: Column) -> Column:
    """The numbers 0, 1, … for values in their order; NONE stays."""
    import numpy as np

    known, codes = np.unique(values, return_inverse=True)
    return codes.reshape(values.shape) - 1 if len(known) and known[0] == NONE else codes.reshape(values.shape)


def _priorities(values: Column) -> Column:
    """The trace's priorities; their ranks where they are above what a column holds (PriorityType=priority/basic)."""
    return values if not len(values) or values.max() <= _MOST else _numbered(values)


def usual_limits(jobs: Jobs, defaults: Mapping[str, int]) -> Jobs:
    """Set the limit of the queue (`defaults`, seconds) where a job has none; the longest of all where that is unknown.

    For the plain models, which know no queue. AdminkitError where no limit is known at all.
    """
    import numpy as np

    limit, without = jobs.columns["limit"], jobs.columns["limit"] <= 0
    if not without.any():
        return jobs
    if without.all() and not defaults:
        raise AdminkitError(
            "no job of the trace has a time limit", "simulate without: --model fcfs; or import one with limits"
        )
    longest = max([int(limit.max()), *defaults.values()])
    by_queue = np.array([*(defaults.get(name, longest) for name in jobs.names["queue"]), longest])
    note = (
        f"{int(without.sum())} jobs have no limit of their own: they are planned with their queue's limit, otherwise"
        f" with the longest"
    )
    filled = jobs.with_columns(limit=np.where(without, by_queue[jobs.codes["queue"]], limit))
    return replace(filled, notes=(*jobs.notes, note))


def sized(jobs: Jobs) -> tuple[Codes, Sequence[str]]:
    """Each job's size as a code, and the names of the codes."""
    import numpy as np

    codes = np.searchsorted(SIZE_EDGES, jobs.columns["procs"], side="left")
    return codes.astype(np.int32), size_names("GPU" if jobs.unit == "gpus" else "CPU")
