"""The energy of runs as Slurm accounts for it: joules, watts, who used them, and how much of it can be believed.

Trap: Slurm's joules are those of a run's nodes while its steps ran, whoever else was on them (sacct(1),
ConsumedEnergy). 0 is what slurmdbd keeps where nothing measures, so it is unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from adminkit.slurm.hostlist import hosts
from adminkit.sqlite import sqlite3
from adminkit.stats.efficiencies import IDLE
from adminkit.stats.grouped import as_they_come, blocks, grouped
from adminkit.stats.select import Filter, clusters, select, snapshot, span
from adminkit.stats.taken import Taken, add, taken
from adminkit.trace.columns import Texts
from adminkit.trace.run_view import WHOLE_OR_NONE

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: What a row may be about -> SQL over the view run.
PARTS: Final[Mapping[str, str]] = {
    "queue": "queue", "user": "user", "account": "account", "class": "class", "name": "job_name",
}  # fmt: skip
_NUMBERS: Final = (
    "elapsed", "size_nodes", "size_cpus", WHOLE_OR_NONE, "nullif(energy, 0)",
    "CASE WHEN size_gpus > 0 THEN measured_gpu_seconds END", "measured_monitored_gpu",
)  # fmt: skip
#: The newest row of each node; SQLite shows the one that has the maximum.
_NODES: Final = "SELECT cluster, node, cpus, max(since) FROM node WHERE present GROUP BY cluster, node"


@dataclass(slots=True)
class Group:
    """The runs with one value of a part (PARTS), None for unknown; those that never ran are not among them.

    All but the counts are sums over only the measured runs.
    """

    value: str | None
    cluster: str | None
    jobs: int = 0
    measured: int = 0  # the energy is known, and possible
    capped: int = 0  # more than the nodes can have drawn: left out of every sum
    shared: int = 0  # of the measured, did not hold all CPUs of their nodes
    unsure: int = 0  # of the measured, it is not known whether they did
    idle: int = 0  # of the measured, the GPUs were idle
    joules: float = 0.0
    shared_joules: float = 0.0
    idle_joules: float = 0.0
    node_seconds: float = 0.0
    gpu_joules: float = 0.0  # of runs with GPUs
    gpu_seconds: float = 0.0
    node_seconds_all: float = 0.0  # of every run, measured or not


@dataclass(frozen=True, slots=True)
class Energy:
    """`groups` by joules, most first."""

    groups: Sequence[Group]
    overall: Group
    excluded: Mapping[str, int]
    clusters: Sequence[str]
    span: tuple[int | None, int | None]


_SUMMED: Final = tuple(name for name in Group.__slots__ if name not in ("value", "cluster"))


def energy(db: sqlite3.Connection, chosen: Filter, part: str, node_watts: float) -> Energy:
    """Measure the runs that `chosen` takes. A run of more joules than elapsed × nodes × `node_watts` is impossible."""
    selection = select(chosen, limits=False)
    with snapshot(db):
        jobs = taken(db, selection, ("cluster", PARTS[part], "node_list"), _NUMBERS)
        there, cpus = _cpus_held(db, *jobs.texts[::2])
        names, ends = tuple(chosen.clusters) or tuple(clusters(db)), span(db)
    groups = _groups(jobs, there, cpus, node_watts)
    overall = Group(None, None)
    for name in _SUMMED:
        setattr(overall, name, sum(getattr(group, name) for group in groups))
    return Energy(sorted(groups, key=_order), overall, jobs.excluded, names, ends)


def _cpus_held(db: sqlite3.Connection, clusters: Texts, lists: Texts) -> tuple[NDArray[Any], NDArray[Any]]:
    """A number for each run, and for each number cpus_of_nodes(); NaN where one is unknown."""
    import numpy as np

    there = cpus_of_nodes(db)
    number, keys = grouped(clusters, lists)
    sums = [there(cluster, text) for cluster, text in keys]
    return number, np.array([np.nan if one is None else one for one in sums], np.float64)


def cpus_of_nodes(db: sqlite3.Connection) -> Callable[[str, str | None], int | None]:
    """What answers for a cluster and a list of its nodes how many CPUs these have today; None where one is unknown."""
    known = {(cluster, node): cpus for cluster, node, cpus, _ in db.execute(_NODES)}

    def there(cluster: str, listed: str | None) -> int | None:
        cpus = [known.get((cluster, node)) for node in hosts(listed or "")]
        return sum(one or 0 for one in cpus) if cpus and None not in cpus else None

    return there


def _groups(jobs: Taken, there: NDArray[Any], cpus_there: NDArray[Any], node_watts: float) -> list[Group]:
    """`there` and `cpus_there` are of _cpus_held(). A few rows at a time: each has two dozen numbers on the way."""
    import numpy as np

    number, keys = as_they_come(*grouped(*jobs.texts[:2]))
    sums = {name: np.zeros(len(keys)) for name in _SUMMED}
    for block in blocks(len(number)):
        some = [one[block].astype(np.float64) for one in jobs.numbers]
        for name, column in _columns(some, cpus_there[there[block]], node_watts).items():
            add(sums[name], number[block], column)
    groups = [Group(value, cluster) for cluster, value in keys]
    for name, totals in sums.items():
        for group, total in zip(groups, totals.tolist(), strict=True):
            setattr(group, name, type(getattr(group, name))(total))
    return [group for group in groups if group.jobs]


def _columns(numbers: Sequence[NDArray[Any]], cpus_there: NDArray[Any], node_watts: float) -> dict[str, NDArray[Any]]:
    """What each run adds to the fields of its group; `numbers` are those of _NUMBERS."""
    import numpy as np

    elapsed, nodes, cpus, gpus, joules, busy, told = numbers
    with np.errstate(divide="ignore", invalid="ignore"):
        ran = elapsed > 0
        node_seconds = np.where(ran, elapsed * np.where(nodes > 0, nodes, 1), 0)
        there = ran & (joules > 0)
        capped = there & (joules > node_seconds * node_watts)
        measured = there & ~capped
        had_gpus = measured & (gpus > 0)
        idle = had_gpus & (np.where(np.isnan(told), busy / (elapsed * gpus), told) < IDLE)
        shared = measured & (cpus < cpus_there)
        unsure = measured & (np.isnan(cpus) | np.isnan(cpus_there))
    return {
        "jobs": ran, "measured": measured, "capped": capped, "shared": shared, "unsure": unsure, "idle": idle,
        "joules": np.where(measured, joules, 0), "shared_joules": np.where(shared, joules, 0),
        "idle_joules": np.where(idle, joules, 0), "node_seconds": np.where(measured, node_seconds, 0),
        "gpu_joules": np.where(had_gpus, joules, 0), "gpu_seconds": np.where(had_gpus, elapsed * gpus, 0),
        "node_seconds_all": node_seconds,
    }  # fmt: skip


def _order(group: Group) -> tuple[float, float, str, str]:
    return -group.joules, -group.node_seconds_all, group.cluster or "", group.value or ""
