"""What came of one replicate: a scenario beside today, job by job, as sums that can be kept and added up.

Only jobs that ran on both sides count for waits. A job in several pieces waited as long as its pieces together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from adminkit.simulate.case import Case, Column, Mask
from adminkit.simulate.core import KILLED, NONE, Request, Schedule
from adminkit.simulate.groups import FOLLOWS, GIVEN, Groups, sizes
from adminkit.simulate.jobs import NAMED
from adminkit.simulate.metrics import TAU, used

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

#: Parts of the time for which the machine's use is kept.
BINS: Final = 120
#: Seconds up to which waits are counted: ten in each power of ten, to a year.
EDGES: Final = (0, *sorted({round(10 ** (step / 10)) for step in range(76)}))

HOUR: Final = 3600

#: A replicate, as JSON keeps it.
Summary = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Side:
    """What became of today's jobs, each a row; NONE and NaN where a job did not run."""

    ran: Mask
    there: Mask  # whether it was in the case at all
    wait: Column
    slowdown: Floats
    turnaround: Column
    killed: Mask  # a run of it was ended at its limit


def side(case: Case, schedule: Schedule, jobs: int) -> Side:
    """The outcome for `jobs` jobs of today; what a scenario adds does not count."""
    import numpy as np

    origin, known = case.facts["origin"], case.facts["origin"] != NONE
    ready = case.column("submit").copy()
    after = case.column("after")
    later = np.flatnonzero(after != NONE)
    ready[later] = np.maximum(ready[later], schedule.end[after[later]] + case.column("delay", 0)[later])
    ran = schedule.start != NONE
    rows = origin[known]
    there = np.bincount(rows, minlength=jobs) > 0
    failed = np.bincount(rows, (~ran & _needed(case, schedule))[known], jobs) > 0
    wait = np.bincount(rows, np.where(ran, schedule.start - ready, 0)[known], jobs)
    killed = np.bincount(rows, (schedule.outcome == KILLED)[known], jobs) > 0
    begin = np.full(jobs, np.iinfo(np.int64).max)
    np.minimum.at(begin, rows, case.column("submit")[known])
    end = np.full(jobs, NONE, np.int64)
    np.maximum.at(end, rows, schedule.end[known])
    needs = np.zeros(jobs, np.int64)
    needs[rows] = case.facts["needs"][known]
    turnaround = np.where(there & ~failed, end - begin, NONE)
    slowdown = np.maximum(1.0, turnaround / np.maximum(needs, TAU))
    return Side(there & ~failed, there, wait.astype(np.int64), slowdown, turnaround, killed)


def _needed(case: Case, schedule: Schedule) -> Mask:
    """Whether a run had to come: not what comes only if the one before is ended at its limit, where that ended well."""
    import numpy as np

    needed = np.ones(case.count, bool)
    after, only = case.column("after"), case.column("if_killed", 0) == 1
    for place in np.flatnonzero(only & (after != NONE)).tolist():  # who is followed comes first
        before = after[place]
        ended_well = schedule.start[before] != NONE and schedule.outcome[before] != KILLED
        needed[place] = needed[before] and not ended_well
    return needed


def lost_seconds(case: Case, schedule: Schedule, unit: str, jobs: int) -> Floats:
    """Unit-seconds of each of today's jobs that its runs did in vain, as they were ended at their limit."""
    import numpy as np

    again = np.where(schedule.outcome == KILLED, schedule.end - schedule.start, 0)
    after, kept = case.column("after"), case.column("resume")
    resumed = np.flatnonzero((kept != NONE) & (after != NONE) & (schedule.start != NONE))
    again[after[resumed]] = np.minimum(again[after[resumed]], kept[resumed])
    known = case.facts["origin"] != NONE
    total: Floats = np.bincount(case.facts["origin"][known], (again * sizes(case, unit))[known], jobs).astype(
        np.float64
    )
    return total


def given_seconds(case: Case, schedule: Schedule, unit: str, jobs: int) -> tuple[Floats, Mask]:
    """Unit-seconds that each of today's jobs ran beyond the limit it asked for; and whether it was given more."""
    import numpy as np

    if schedule.last_limit is None:
        return np.zeros(jobs), np.zeros(jobs, bool)
    ran, asked = schedule.end - schedule.start, case.column("limit")
    raised = schedule.last_limit > asked
    beyond = np.where(raised, np.clip(np.minimum(ran, schedule.last_limit) - asked, 0, None), 0) * sizes(case, unit)
    known = case.facts["origin"] != NONE
    rows = case.facts["origin"][known]
    total: Floats = np.bincount(rows, beyond[known], jobs).astype(np.float64)
    return total, np.bincount(rows, raised[known], jobs) > 0


def summary(
    today: tuple[Case, Schedule], then: tuple[Case, Schedule], groups: Groups, window: tuple[int, int]
) -> Summary:
    """Both sides of a replicate. `window`: from when to when use is measured, the same in all replicates."""
    import numpy as np

    jobs = today[0].count
    before, after = side(*today, jobs), side(*then, jobs)
    which = np.ones(jobs, bool) if groups.which is None else groups.which
    both = before.ran & after.ran & which
    lost = today[0].column("id")[before.ran & after.there & ~after.ran & which]
    parts: dict[str, tuple[Column, Any]] = dict(groups.parts)
    follows = np.full(jobs, NONE, np.int64)
    known = then[0].facts["origin"] != NONE
    follows[then[0].facts["origin"][known]] = then[0].facts["follows"][known]
    if (follows != NONE).any():
        parts["users"] = (follows, FOLLOWS)
    beyond, more = given_seconds(*then, groups.unit, jobs)
    if then[1].last_limit is not None:
        parts["time"] = (more.astype(np.int64), GIVEN)
    asked = today[0].column("limit")
    enough = which & ((asked <= 0) | (today[0].column("run") < asked))
    in_vain = [np.where(enough, lost_seconds(*one, groups.unit, jobs), 0.0) for one in (today, then)]
    late = late_jobs(today, then, which)
    counted = {part: _sums(codes, len(names), both, before, after) for part, (codes, names) in parts.items()}
    made: Summary = {
        "parts": counted,
        "median_wait": _both(before.wait[both], after.wait[both], np.median),
        "p95_wait": _both(before.wait[both], after.wait[both], lambda waits: np.quantile(waits, 0.95)),
        "turnaround": _both(before.turnaround[both], after.turnaround[both], np.mean),
        "killed": [int((before.killed & which).sum()), int((after.killed & which).sum())],
        "lost_hours": [
            float(one.sum()) / HOUR for one in in_vain
        ],  # of jobs whose own limit is enough: what others need nobody knows
        "given_hours": [0.0, float(beyond[which].sum()) / HOUR],
        "not_run": [int((one.there & ~one.ran & which).sum()) for one in (before, after)],
        "lost": [len(lost), lost[:NAMED].tolist()],  # who ran today: how many, and the ids of some
        "left": int((~after.there & which).sum()),
        "added": int((then[0].facts["origin"] == NONE).sum()),
        "utilization": [_use(*today, groups.unit, window), _use(*then, groups.unit, window)],
        "waits": [_curve(before.wait[both]), _curve(after.wait[both])],
        "busy": [busy(*today, groups.unit, window), busy(*then, groups.unit, window)],
    }
    if late is not None:
        made["late"] = [int(one.sum()) for one in late]
    if groups.days is not None:
        made["days"] = by_day(groups, both, (before, after), in_vain, late)
    return made


def late_jobs(today: tuple[Case, Schedule], then: tuple[Case, Schedule], which: Mask) -> list[Mask] | None:
    """Today's jobs that start after the start that today's backfill promised them first, on both sides.

    None where the request does not ask for promises. Trap: one promise for both sides. A scenario that plans with
    other limits makes other promises, and one that is made too late is easily kept.
    """
    import numpy as np

    if today[1].promised is None:
        return None
    jobs, promised = today[0].count, today[1].promised
    last = np.full(jobs, NONE, np.int64)
    known = then[0].facts["origin"] != NONE
    np.maximum.at(last, then[0].facts["origin"][known], then[1].start[known])
    due = which & (promised != NONE)
    return [due & (start > promised) for start in (today[1].start, last)]


def _both(before: Any, after: Any, measure: Any) -> list[float | None]:
    return [float(measure(waits)) if len(waits) else None for waits in (before, after)]


def _sums(codes: Column, many: int, both: Mask, before: Side, after: Side) -> Mapping[str, list[float]]:
    """Each group's jobs, and the sums of waits and slowdowns on both sides."""
    import numpy as np

    counted = both & (codes != NONE)
    here = codes[counted]

    def total(values: Any = None) -> list[float]:
        found: list[float] = np.bincount(here, None if values is None else values[counted], many).tolist()
        return found

    return {
        "jobs": total(),
        "wait_today": total(before.wait),
        "wait": total(after.wait),
        "slowdown_today": total(before.slowdown),
        "slowdown": total(after.slowdown),
    }


def by_day(
    groups: Groups, both: Mask, sides: tuple[Side, Side], in_vain: Sequence[Floats], late: Sequence[Mask] | None
) -> dict[str, Any]:
    """Sums by the day of submission: of all jobs, and for each part of `days` by group, one group after the other.

    `tail`: for each side and day, how many jobs waited each of EDGES or less.
    """
    import numpy as np

    days = groups.days
    assert days is not None
    made: dict[str, Any] = {"all": dict(_sums(days.of, days.count, both, *sides))}
    more: dict[str, Any] = dict(zip(("lost_today", "lost"), in_vain, strict=True))
    if late is not None:
        more |= zip(("late_today", "late"), late, strict=True)
    made["all"] |= {key: np.bincount(days.of, values, days.count).tolist() for key, values in more.items()}
    for part in days.parts:
        codes, names = groups.parts[part]
        crossed = np.where(codes == NONE, NONE, codes * days.count + days.of)
        sums = _sums(crossed, len(names) * days.count, both, *sides)
        made[part] = {key: sums[key] for key in ("jobs", "wait_today", "wait")}
    if days.tail:
        made["tail"] = [[_curve(one.wait[both & (days.of == day)]) for day in range(days.count)] for one in sides]
    return made


def capacity(request: Request, unit: str) -> int:
    """GPUs, CPUs or processors of the machine."""
    if unit == "processor":
        return int(request.settings.get("procs", 0))
    name = "gpus" if unit == "GPU" else "cpus"
    return sum(one.get("count", 1) * one.get(name, 0 if name == "gpus" else 1) for one in request.nodes)


def _held(case: Case, schedule: Schedule, unit: str) -> tuple[Column, Column, Column, int]:
    """Start, end and size of what ran, and the capacity in the same unit."""
    ran = schedule.start != NONE
    return schedule.start[ran], schedule.end[ran], sizes(case, unit)[ran], capacity(case.request, unit)


def _use(case: Case, schedule: Schedule, unit: str, window: tuple[int, int]) -> float | None:
    """The share of the machine that jobs held in the window."""
    start, end, size, units = _held(case, schedule, unit)
    area = units * (window[1] - window[0])
    return used(start, end, size, *window) / area if area > 0 else None


def busy(case: Case, schedule: Schedule, unit: str, window: tuple[int, int]) -> list[float]:
    """The same for BINS equal parts of the window."""
    import numpy as np

    start, end, size, units = _held(case, schedule, unit)
    edges = np.linspace(window[0], window[1], BINS + 1)
    area = units * (window[1] - window[0]) / BINS
    if area <= 0:
        return []
    done = _started(start, size, edges) - _started(end, size, edges)
    shares: list[float] = np.round(np.diff(done) / area, 6).tolist()
    return shares


def _started(moments: Column, size: Column, edges: Floats) -> Floats:
    """Unit-seconds by each edge, if everything that began at its moment never ended."""
    import numpy as np

    order = np.argsort(moments, kind="stable")
    at, units = moments[order], size[order].astype(np.float64)
    count = np.concatenate([[0.0], np.cumsum(units)])
    weighted = np.concatenate([[0.0], np.cumsum(units * (at - edges[0]))])
    place = np.searchsorted(at, edges, side="right")
    total: Floats = count[place] * (edges - edges[0]) - weighted[place]
    return total


def _curve(waits: Column) -> list[int]:
    """For each of EDGES, the number of jobs that waited that time or less."""
    import numpy as np

    found: list[int] = np.searchsorted(np.sort(waits), EDGES, side="right").tolist()
    return found
