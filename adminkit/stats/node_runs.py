"""Runs on nodes, a row for each run and node, in groups of runs that are alike: what bad_nodes.py compares."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from adminkit.slurm.hostlist import hosts
from adminkit.sqlite import sqlite3
from adminkit.stats.grouped import told_apart
from adminkit.stats.select import Filter, select
from adminkit.trace.columns import Texts
from adminkit.trace.months.door import columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: States in which a node may have made a run fail.
FAILED: Final = ("FAILED", "TIMEOUT", "NODE_FAIL", "BOOT_FAIL", "LAUNCH_FAILED", "RECONFIG_FAIL")
#: Runs of a group, which began one after the other.
GROUP: Final = 16
HOUR: Final = 3600
_DIGITS: Final = re.compile(r"\d+")
_QUARTER: Final = 6 * HOUR
_WEEK: Final = 28 * _QUARTER
_TEXTS: Final = ("cluster", "user", "job_name", "queue", "state", "node_list")
_NUMBERS: Final = (
    "start_time", "coalesce(end_time, start_time)", "coalesce(size_gpus, 0)",
    "coalesce(size_units, 0) * coalesce(elapsed, 0)",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Pairs:
    """A run on one of its nodes in each place, sorted by the run's end; arrays of one length."""

    run: NDArray[Any]
    node: NDArray[Any]
    group: NDArray[Any]
    user: NDArray[Any]
    nodes: NDArray[Any]  # of the run
    hour: NDArray[Any]  # in which it ended
    bad: NDArray[Any]  # whether it failed
    used: NDArray[Any]  # GPU-seconds of the whole run, or, below 0, CPU-seconds of one without GPUs

    @property
    def gpu_seconds(self) -> NDArray[Any]:
        return self.used.clip(min=0)

    @property
    def cpu_seconds(self) -> NDArray[Any]:
        return (-self.used).clip(min=0)

    def only(self, some: NDArray[Any]) -> Pairs:
        """Those where `some` is true."""
        return self if some.all() else Pairs(*(getattr(self, name)[some] for name in self.__slots__))


def node_runs(db: sqlite3.Connection, chosen: Filter) -> list[tuple[str, Sequence[str], Pairs]]:
    """For each cluster, the names of its nodes and the runs that `chosen` takes and that ran on known nodes.

    Only runs that completed, or that ended in one of FAILED: other ends say nothing about a node.
    """
    selection = select(replace(chosen, states=(), min_elapsed=None), limits=False)
    states = ("COMPLETED", *FAILED)
    rest = f"""FROM run WHERE start_time IS NOT NULL AND user IS NOT NULL AND node_list IS NOT NULL
        AND state IN {states} AND {selection.where}"""
    texts, numbers = columns(db, _TEXTS, _NUMBERS, rest, selection.params)
    found = []
    for code, cluster in enumerate(texts[0].names):
        mine = texts[0].codes == code
        if cluster is not None and mine.any():
            some: Any = slice(None) if mine.all() else mine  # no copy of the only cluster's
            its = [Texts(one.codes[some], one.names) for one in texts[1:]]
            found.append((cluster, *pairs_of(its, [one[some] for one in numbers])))
    return found


def pairs_of(texts: Sequence[Texts], numbers: Sequence[NDArray[Any]]) -> tuple[Sequence[str], Pairs]:
    """The nodes and the pairs of the runs of one cluster."""
    import numpy as np

    user, job_name, queue, state, lists = texts
    start, end, gpus, used = numbers
    known: dict[str, int] = {}
    nodes_of = [[known.setdefault(one, len(known)) for one in dict.fromkeys(hosts(text or ""))] for text in lists.names]
    flat = np.array([node for its in nodes_of for node in its], np.int32)
    width = np.array([len(its) for its in nodes_of], np.int32)
    begins, many = (np.cumsum(width) - width)[lists.codes], width[lists.codes]
    bad = np.array([name in FAILED for name in state.names])[state.codes]
    when = np.stack([start // _WEEK, start // _QUARTER % 4])
    stem = _stems(job_name)
    kind, _ = told_apart(user, np.where(_once(user, stem), -1, stem), queue, many, gpus, *when)
    group = groups(kind, start)
    del kind, when, stem
    order = np.argsort(end, kind="stable").astype(np.int32)
    widths = many[order]
    run = np.repeat(order, widths)
    nth = np.arange(len(run)) - np.repeat(np.cumsum(widths) - widths, widths)
    node = flat[begins[run] + nth]
    del nth, begins, order
    used = np.where(gpus > 0, used, -used)
    return list(known), Pairs(run, node, group[run], user.codes[run], many[run], _hour(end)[run], bad[run], used[run])


def _hour(at: NDArray[Any]) -> NDArray[Any]:
    import numpy as np

    return (at // HOUR).astype(np.int32)


def _stems(job_name: Texts) -> NDArray[Any]:
    """A number for each run, the same where names differ only in their numbers: fit-17, fit-18."""
    import numpy as np

    known: dict[str, int] = {}
    stems = [known.setdefault(_DIGITS.sub("#", name or ""), len(known)) for name in job_name.names]
    numbers: NDArray[Any] = np.array(stems, np.int64)[job_name.codes]
    return numbers


def _once(user: Texts, stem: NDArray[Any]) -> NDArray[Any]:
    """Whether no other run of its user has a name like this one: such runs of a user count as alike."""
    import numpy as np

    names = user.codes.astype(np.int64) * (1 + stem.max(initial=0)) + stem
    _, place, many = np.unique(names, return_inverse=True, return_counts=True)
    once: NDArray[Any] = many[place] == 1
    return once


def groups(kind: NDArray[Any], start: NDArray[Any]) -> NDArray[Any]:
    """A number for each run, the same for those of one kind that are among GROUP that began one after the other."""
    import numpy as np

    order = np.lexsort((start, kind))
    ordered = kind[order]
    first = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if len(ordered) else np.zeros(0, np.int64)
    place = np.arange(len(ordered)) - np.repeat(first, np.diff(np.r_[first, len(ordered)]))
    found = np.empty(len(kind), np.int32)
    found[order] = np.cumsum(place % GROUP == 0) - 1
    return found
