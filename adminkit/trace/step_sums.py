"""What a run used, from its steps: CPU time, peak memory, disk, energy. A sum of which a part is unknown is unknown.

Trap: the joules of a step are those of its nodes while it ran, whoever used them (sacct(1), ConsumedEnergy). So batch,
extern and step 0 of one node each have the same joules, and their sum has them three times.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from adminkit.sqlite import sqlite3

#: SQL: how many steps of a group do not say `column`; the step extern has nothing to say where nobody came by ssh.
_SILENT: Final = "count(*) FILTER (WHERE step.{column} IS NULL AND step.step <> 'extern')"


def _whole(column: str) -> str:
    """SQL: the sum of `column` over a run's steps; NULL where one of them does not say it."""
    silent = _SILENT.format(column=column)
    return f"CASE WHEN {silent} = 0 THEN sum(step.{column}) END AS {column}"


#: Fills the runs of cluster ?1 that ended in [?2, ?3], and touches no other row; needs step_functions().
FROM_STEPS: Final = f"""
UPDATE job SET cpu_time = coalesce(s.cpu_time, job.cpu_time), max_rss = coalesce(s.max_rss, job.max_rss),
    disk_read = coalesce(s.disk_read, job.disk_read), disk_write = coalesce(s.disk_write, job.disk_write),
    energy = coalesce(job.energy, s.energy)
FROM (SELECT step.cluster, step.job_id_raw, step.submit_time, {_whole("cpu_time")},
             max(step.max_rss) AS max_rss, {_whole("disk_read")}, {_whole("disk_write")},
             energy_of_steps(
                 step.start_time, step.end_time, step.nodes, step.energy, coalesce(job.nodes, job.req_nodes)
             ) FILTER (WHERE step.energy > 0) AS energy
      FROM job JOIN step USING (cluster, job_id_raw, submit_time, source)
      WHERE job.cluster = ?1 AND job.end_time BETWEEN ?2 AND ?3
      GROUP BY step.cluster, step.job_id_raw, step.submit_time) AS s
WHERE job.cluster = s.cluster AND job.job_id_raw = s.job_id_raw AND job.submit_time = s.submit_time
    AND (job.cpu_time, job.max_rss, job.disk_read, job.disk_write, job.energy) IS NOT (
        coalesce(s.cpu_time, job.cpu_time), coalesce(s.max_rss, job.max_rss), coalesce(s.disk_read, job.disk_read),
        coalesce(s.disk_write, job.disk_write), coalesce(job.energy, s.energy))
"""


class Metered(NamedTuple):
    """A step with joules. Times are epoch seconds; None for unknown."""

    start_time: int | None
    end_time: int | None
    nodes: int | None
    energy: int


class _Stretch(NamedTuple):
    """A time of which the joules are known. `whole`: of all nodes of the run."""

    start: int
    end: int
    whole: bool
    energy: int

    def holds(self, other: _Stretch) -> bool:
        """Whether the joules of `other` are among these: but for a second, and a hundredth of the time."""
        slack = 1 + (self.end - self.start) // 100
        inside = self.start - slack <= other.start and other.end <= self.end + slack
        return self.whole and inside and self.meets(other)

    def meets(self, other: _Stretch) -> bool:
        return self.start < other.end and other.start < self.end

    def with_(self, other: _Stretch) -> _Stretch:
        return self._replace(energy=max(self.energy, other.energy))


def energy_of_steps(steps: Sequence[Metered], nodes: int | None) -> int | None:
    """The joules of a run on `nodes`, from those of its steps; None where it is not known which are the same.

    Steps that ran one after the other add up. Where several ran at one time, the longest on all nodes has the joules of
    the others. What else overlaps may or may not have been on the same nodes.
    """
    if len(steps) <= 1:
        return steps[0].energy if steps else None
    stretches = []
    for step in steps:
        if step.start_time is None or step.end_time is None:
            return None
        whole = nodes == 1 or (nodes is not None and step.nodes is not None and step.nodes >= nodes)
        stretches.append(_Stretch(step.start_time, max(step.end_time, step.start_time + 1), whole, step.energy))
    stretches.sort(key=lambda one: (one.whole, one.end - one.start), reverse=True)
    longest = stretches[0]
    rest: list[_Stretch] = []
    for one in stretches[1:]:
        if longest.holds(one):
            longest = longest.with_(one)
        else:
            rest.append(one)
    return _one_after_the_other(sorted([longest, *rest]))


def _one_after_the_other(stretches: Sequence[_Stretch]) -> int | None:
    """Their sum, where each is over before the next begins, or is among the joules of another one."""
    apart: list[_Stretch] = []
    for one in stretches:
        while apart and one.holds(apart[-1]):
            one = one.with_(apart.pop())
        if apart and apart[-1].holds(one):
            apart[-1] = apart[-1].with_(one)
        elif apart and apart[-1].meets(one):
            return None
        else:
            apart.append(one)
    return sum(one.energy for one in apart)


class _Energy:
    """energy_of_steps() as an aggregate of SQLite's."""

    def __init__(self) -> None:
        self._steps: list[Metered] = []
        self._nodes: int | None = None

    def step(self, *given: Any) -> None:
        self._steps.append(Metered(*given[:4]))
        self._nodes = given[4]

    def finalize(self) -> Any:
        return energy_of_steps(self._steps, self._nodes)


def step_functions(db: sqlite3.Connection) -> None:
    """Let SQL of this connection run FROM_STEPS."""
    db.create_aggregate("energy_of_steps", 5, _Energy)
