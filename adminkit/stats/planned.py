"""Jobs that backfill planned by need: their soft limits against what they needed, and what that did to other jobs.

Only the view's `soft_limit` says which jobs; what they needed is the run time of those that came to their own end.
Slurm keeps no plan, so what happened to others is read from when they started, and where: docs/reports/soft-limits.md
has what each number may have too much or too little of.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from adminkit.slurm.hostlist import hosts
from adminkit.sqlite import sqlite3
from adminkit.stats.select import Filter, Selection, clusters, select, snapshot, span
from adminkit.stats.taken import rows, taken
from adminkit.trace.run_view import STUDY_STATES

#: What a row may be about -> SQL over the view run.
PARTS: Final[Mapping[str, str]] = {"queue": "queue", "user": "user"}
#: A job that starts on a node within these seconds after another has left it waited for it: a cycle of backfill, the
#: epilog, the node's own work.
SOON: Final = 600
#: The rule that leaves out what has no soft limit, has not run, or has not ended.
RULE: Final = "not_planned"

#: Texts of a planned run, and its numbers in the order of _Run.
_TEXTS: Final = ("cluster", "{part}", "state", "flags", "node_list")
_NUMBERS: Final = ("start_time", "end_time", "eligible_time", "elapsed", "soft_limit", "req_limit")
_BACKFILLED: Final = "SchedBackfill"
#: Who waited, by their start. Trap: what waits still has no node.
_WAITED: Final = """
SELECT cluster, start_time, eligible_time, node_list FROM run
WHERE start_time > eligible_time AND node_list IS NOT NULL AND start_time >= :first AND start_time <= :last
ORDER BY start_time
"""


class _Run(NamedTuple):
    """A planned run. Times are epoch seconds, durations seconds."""

    cluster: str
    value: str | None
    start_time: int
    end_time: int
    eligible_time: int | None
    elapsed: int
    soft_limit: int
    req_limit: int | None
    state: str | None
    backfilled: int | None  # 0, 1; None: its source does not say how it started
    node_list: str | None

    @property
    def soft_end(self) -> int:
        return self.start_time + self.soft_limit


@dataclass(slots=True)
class Group:
    """The planned jobs with one value of a part (PARTS); None for unknown. Durations in seconds."""

    value: str | None
    cluster: str | None
    jobs: int = 0
    needs: list[int] = field(default_factory=list)  # of those that came to their own end
    softs: list[int] = field(default_factory=list)  # of the same
    fits: float = 0.0  # summed over the same: min(need, soft) / max(need, soft)
    uses: list[float] = field(default_factory=list)  # elapsed / limit of the same, where the limit is known
    over: list[int] = field(default_factory=list)  # how far those that outlived it ran past it
    told: int = 0  # jobs whose source says how they started
    backfilled: int = 0
    ahead: int = 0
    delays: dict[int, int] = field(default_factory=dict)  # a job that waited -> its longest delay

    def add(self, run: _Run) -> None:
        self.jobs += 1
        if run.elapsed > run.soft_limit:
            self.over.append(run.elapsed - run.soft_limit)
        if run.state in STUDY_STATES and run.elapsed > 0 and run.soft_limit > 0:
            self.needs.append(run.elapsed)
            self.softs.append(run.soft_limit)
            self.fits += min(run.elapsed, run.soft_limit) / max(run.elapsed, run.soft_limit)
            if run.req_limit:
                self.uses.append(run.elapsed / run.req_limit)
        if run.backfilled is not None:
            self.told += 1
            self.backfilled += run.backfilled


@dataclass(frozen=True, slots=True)
class Planned:
    """`groups` by number of jobs, most first."""

    groups: Sequence[Group]
    overall: Group
    unplaced: int  # jobs whose nodes are not known
    excluded: Mapping[str, int]
    clusters: Sequence[str]
    span: tuple[int | None, int | None]


class _Waiters:
    """Those who waited, node by node, in the order of their starts."""

    def __init__(self) -> None:
        self._starts: dict[tuple[str, str], array[int]] = {}
        self._others: dict[tuple[str, str], array[int]] = {}  # two numbers for each start: eligible, which job
        self._names: dict[str, list[str]] = {}
        self._jobs = 0

    def nodes(self, text: str) -> list[str]:
        found = self._names.get(text)
        if found is None:
            found = self._names[text] = hosts(text)
        return found

    def add(self, cluster: str, start: int, eligible: int, nodes: str) -> None:
        self._jobs += 1
        for node in self.nodes(nodes):
            self._starts.setdefault((cluster, node), array("q")).append(start)
            self._others.setdefault((cluster, node), array("q")).extend((eligible, self._jobs))

    def between(self, run: _Run, first: int, last: int) -> Iterator[tuple[int, int]]:
        """(eligible since, which job) of those who started on a node of `run` in [first, last]."""
        for node in self.nodes(run.node_list or ""):
            starts, others = self._starts.get((run.cluster, node)), self._others.get((run.cluster, node))
            if starts is not None and others is not None:
                for place in range(bisect_left(starts, first), bisect_right(starts, last)):
                    yield others[2 * place], others[2 * place + 1]


def planned(db: sqlite3.Connection, chosen: Filter, part: str = "queue") -> Planned:
    """Measure the jobs with a soft limit that `chosen` takes; `part` is one of PARTS."""
    selection = _with_soft_limit(select(chosen, limits=False))
    with snapshot(db):
        jobs = taken(db, selection, [one.format(part=PARTS[part]) for one in _TEXTS], _NUMBERS)
        runs = [_run(*row) for row in rows(jobs)]
        excluded = {**jobs.excluded}
        excluded[RULE] += excluded.pop("elapsed", 0)  # of those whose run time is unknown
        waiters = _waiters(db, runs)
        names, ends = tuple(chosen.clusters) or tuple(clusters(db)), span(db)
    groups: dict[tuple[str, str | None], Group] = {}
    overall = Group(None, None)
    for run in runs:
        passed, delays = _passed(run, waiters), _delays(run, waiters)
        for group in (groups.setdefault((run.cluster, run.value), Group(run.value, run.cluster)), overall):
            group.add(run)
            group.ahead += passed
            for job, seconds in delays.items():
                group.delays[job] = max(seconds, group.delays.get(job, 0))
    ordered = sorted(groups.values(), key=lambda one: (-one.jobs, one.cluster or "", one.value or ""))
    return Planned(ordered, overall, sum(run.node_list is None for run in runs), excluded, names, ends)


def _run(
    cluster: str, value: str | None, state: str | None, flags: str | None, node_list: str | None, *numbers: Any
) -> _Run:
    backfilled = None if flags is None else int(_BACKFILLED in flags)
    return _Run._make((cluster, value, *numbers, state, backfilled, node_list))


def _with_soft_limit(chosen: Selection) -> Selection:
    """`chosen`, and a last rule: it had a soft limit, ran and ended."""
    holds = "soft_limit IS NOT NULL AND start_time IS NOT NULL AND end_time IS NOT NULL AND elapsed IS NOT NULL"
    return replace(chosen, rules={**chosen.rules, RULE: holds})


def _waiters(db: sqlite3.Connection, runs: Sequence[_Run]) -> _Waiters:
    """Everybody who may have waited for one of `runs`."""
    waiters = _Waiters()
    if runs:
        first = min(run.start_time for run in runs)
        last = max(max(run.end_time + SOON, run.start_time + (run.req_limit or 0)) for run in runs)
        for row in db.execute(_WAITED, {"first": first, "last": last}):
            waiters.add(*row)
    return waiters


def _passed(run: _Run, waiters: _Waiters) -> bool:
    """Whether backfill started it before a job that had waited longer, and that got one of its nodes before the limit
    that it asked for would have been over."""
    if not run.backfilled or run.req_limit is None or run.eligible_time is None:
        return False
    since = run.eligible_time
    return any(
        eligible < since for eligible, _ in waiters.between(run, run.start_time + 1, run.start_time + run.req_limit - 1)
    )


def _delays(run: _Run, waiters: _Waiters) -> dict[int, int]:
    """Who started on its nodes as soon as it was gone, having waited while it ran past its soft limit: how long."""
    if run.elapsed <= run.soft_limit or run.end_time <= run.soft_end:
        return {}
    return {
        job: run.end_time - max(run.soft_end, eligible)
        for eligible, job in waiters.between(run, run.end_time, run.end_time + SOON)
        if eligible < run.end_time
    }
