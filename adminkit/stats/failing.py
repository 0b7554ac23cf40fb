"""Job names that fail again and again, and users who submit very many jobs within an hour."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from adminkit.sqlite import sqlite3
from adminkit.stats.grouped import blocks, grouped
from adminkit.stats.select import Filter, select
from adminkit.stats.taken import numbered, split
from adminkit.stats.weeks import Reserved
from adminkit.trace.columns import Texts
from adminkit.trace.months.door import columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

HOUR: Final = 3600
#: States in which a program of the user's ended by itself, and badly.
FAILED: Final = ("FAILED", "OUT_OF_MEMORY")
_TEXTS: Final = ("cluster", "user", "job_name", "state")
#: The last one: whether it was submitted by itself. An array is one submission.
_NUMBERS: Final = (
    "coalesce(elapsed, 0)", "coalesce(size_units, 0)", "coalesce(size_gpus, 0) > 0", "coalesce(end_time, 0)",
    "submit_time", "array_job IS NULL AND coalesce(het_offset, 0) = 0",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Names:
    """Runs of known users, a value of each in every column: what failing() reads."""

    cluster: Texts
    user: Texts
    job_name: Texts
    state: Texts
    elapsed: NDArray[Any]  # seconds, 0 for unknown
    units: NDArray[Any]  # GPUs; CPUs of a run without GPUs; 0: neither is known
    on_gpus: NDArray[Any]  # 0, 1
    end_time: NDArray[Any]  # epoch seconds, 0 for unknown


@dataclass(frozen=True, slots=True)
class Submissions:
    """The same runs: what floods() reads."""

    cluster: Texts
    user: Texts
    elapsed: NDArray[Any]
    submit_time: NDArray[Any]
    alone: NDArray[Any]  # 1: neither a task of an array nor a further component of a het job


@dataclass(frozen=True, slots=True)
class Failing:
    """A user's runs of one name. `used` is what those that failed took."""

    cluster: str
    user: str
    job_name: str
    runs: int
    failed: int
    out_of_memory: int
    used: Reserved
    completed_last: int  # epoch seconds, the last success's end; 0: none


@dataclass(frozen=True, slots=True)
class Flood:
    """Hours in which a user submitted very many jobs one by one."""

    cluster: str
    user: str
    hours: int
    most: int  # jobs in one hour
    jobs: int  # in all those hours
    elapsed: float  # seconds, their sum


def runs(db: sqlite3.Connection, chosen: Filter) -> tuple[Names, Submissions]:
    """The runs that `chosen` takes, in one scan. Some 20 bytes of each are kept, 12 of these by the second."""
    selection = select(chosen, limits=False)
    rest = f"FROM run WHERE user IS NOT NULL AND {selection.where}"
    texts, (elapsed, units, on_gpus, end_time, *more) = columns(db, _TEXTS, _NUMBERS, rest, selection.params)
    cluster, user, job_name, state = texts
    return Names(cluster, user, job_name, state, elapsed, units, on_gpus, end_time), Submissions(
        cluster, user, elapsed, *more
    )


def failing(of: Names, least: int, share: float) -> list[Failing]:
    """Job names of which `least` runs and that share of all failed; what used most first. Every state is looked at."""
    import numpy as np

    number, keys = grouped(of.cluster, of.user, of.job_name)
    bad, memory, good = (
        np.array([name in names for name in of.state.names], np.bool_)
        for names in (FAILED, ("OUT_OF_MEMORY",), ("COMPLETED",))
    )
    failed, no_memory, last = np.zeros((3, len(keys)), np.int64)
    used = np.zeros((2, len(keys)))
    for block in blocks(len(number)):
        mine, state = number[block], of.state.codes[block]
        seconds = of.elapsed[block].astype(np.float64) * of.units[block]
        failed += np.bincount(mine, bad[state], len(keys)).astype(np.int64)
        no_memory += np.bincount(mine, memory[state], len(keys)).astype(np.int64)
        for total, its in zip(used, (of.on_gpus[block] > 0, of.on_gpus[block] == 0), strict=True):
            total += np.bincount(mine, seconds * bad[state] * its, len(keys))
        np.maximum.at(last, mine, of.end_time[block] * good[state])
    many = numbered(number, len(keys))
    found = [
        Failing(
            cluster,
            user,
            name,
            int(many[k]),
            int(failed[k]),
            int(no_memory[k]),
            Reserved(*used[:, k].tolist()),
            int(last[k]),
        )
        for k, (cluster, user, name) in enumerate(keys)
        if name is not None and failed[k] >= max(least, share * many[k])
    ]
    return sorted(found, key=lambda one: (-one.used.weight, one.cluster, one.user, one.job_name))


def floods(of: Submissions, least: int) -> list[Flood]:
    """Users with hours of `least` submissions or more; the fullest hour first."""
    import numpy as np

    alone = of.alone > 0
    number, keys = grouped(of.cluster, of.user)
    number = number[alone]
    its = [split(number, len(keys), column[alone]) for column in (of.submit_time, of.elapsed)]
    found = []
    for (cluster, user), submit_time, elapsed in zip(keys, *its, strict=True):
        hour = submit_time // HOUR
        hours, jobs = np.unique(hour, return_counts=True)
        full = jobs >= least
        if full.any():
            seconds = float(elapsed[np.isin(hour, hours[full])].sum(dtype=np.float64))
            found.append(Flood(cluster, user, int(full.sum()), int(jobs.max()), int(jobs[full].sum()), seconds))
    return sorted(found, key=lambda one: (-one.most, one.cluster, one.user))
