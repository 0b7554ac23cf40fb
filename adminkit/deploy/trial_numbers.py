"""What the guards count of one day: waits, waits of the widest, jobs that were cut."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from adminkit.deploy.soft_guard_plan import Records
from adminkit.deploy.trial import Side
from adminkit.deploy.trial_state import Numbers
from adminkit.slurm import day_jobs, switching
from adminkit.slurm.day_jobs import DayJob
from adminkit.slurm.switching import Cycles
from adminkit.stats.switchback import Day

#: The widest jobs are those of the smallest number of units that no more than a tenth of jobs have or exceed.
_WIDEST: Final = 0.1
#: Seconds by which a run may end before its limit and count as ended by it: slurmctld looks twice a minute.
_SLACK: Final = 60


def widest_of(jobs: Iterable[DayJob]) -> int | None:
    """From how many units a job is one of the widest; None without a job."""
    units = sorted(job.units for job in jobs)
    if not units:
        return None
    most = int(_WIDEST * len(units))
    first = units[len(units) - most] if most else units[-1]
    fitting = [one for one in units if one >= first]
    if len(fitting) > most and fitting[-1] > first:  # many have just as many: those that have more
        fitting = [one for one in units if one > first]
    return fitting[0]


def numbers_of(
    jobs: Iterable[DayJob],
    day: Day,
    carry_over: int,
    side: Side,
    widest: int | None,
    now: int,
    lowered: Mapping[str, int],
) -> Numbers:
    """The counts of a day's jobs, without those of its first `carry_over` seconds. One that waits counts with its wait
    so far.

    `lowered`: maxima of queues, in seconds, that are lower on B's side.
    """
    counted = [job for job in jobs if day.since + carry_over <= job.eligible_time < day.until]
    waits, wide = [], []
    for job in counted:
        if job.start_time is None and job.end_time is not None:
            continue  # it was cancelled before it started
        wait = max(0, (now if job.start_time is None else job.start_time) - job.eligible_time)
        waits.append(wait)
        if widest is not None and job.units >= widest:
            wide.append(wait)
    records = Records()
    return Numbers(
        day.since,
        side,
        jobs=len(waits),
        p95_wait=float(sorted(waits)[max(0, -(-95 * len(waits) // 100) - 1)]) if waits else None,
        widest_jobs=len(wide),
        widest_wait=sum(wide) / len(wide) if wide else None,
        cut=sum(is_cut(job, records, lowered) for job in counted),
    )


def is_cut(job: DayJob, records: Records, lowered: Mapping[str, int]) -> bool:
    """Whether the job ended at a limit that A would not have given it: a soft limit below what it asked for, or a
    queue's maximum that only B has.
    """
    if job.state != "TIMEOUT" or job.time_limit is None:
        return False
    asked, _ = records.limits(job.comment)
    if asked is not None and job.elapsed + _SLACK < asked:
        return True
    return job.queue in lowered and job.time_limit == lowered[job.queue]


def history(
    cluster: str, days: Sequence[Day], carry_over: int, now: int, lowered: Mapping[str, int]
) -> tuple[list[Numbers], int | None]:
    """What is known of A before a trial: the numbers of `days`, and from how many units a job is one of the widest.

    slurmctld's cycles since its counters began are of A, too: they go with the last day.
    """
    jobs = day_jobs.day_jobs(cluster, days[0].since, days[-1].until)
    widest = widest_of(jobs)
    found = baseline(jobs, days, carry_over, widest, now, lowered)
    if found:
        found[-1] = with_cycles(found[-1], switching.cycles())
    return found, widest


def with_cycles(one: Numbers, more: Cycles) -> Numbers:
    return replace(
        one,
        main_cycles=one.main_cycles + more.main,
        main_us=one.main_us + more.main_us,
        backfill_cycles=one.backfill_cycles + more.backfill,
        backfill_us=one.backfill_us + more.backfill_us,
    )


def baseline(
    jobs: Sequence[DayJob],
    days: Sequence[Day],
    carry_over: int,
    widest: int | None,
    now: int,
    lowered: Mapping[str, int],
) -> list[Numbers]:
    """The days before a trial, which are A's; those without a job are left out."""
    found = [numbers_of(jobs, day, carry_over, "a", widest, now, lowered) for day in days]
    return [one for one in found if one.jobs]
