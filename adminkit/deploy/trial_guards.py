"""The guards of a trial: limits on the harm of B's days, by numbers of slurmctld and slurmdbd.

A day's waits vary a lot without any trial. So a B day is compared with the worst of A's days, and B's days together,
once there are three, with the mean of A's. What cannot be counted for an hour of a B day ends the trial as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from adminkit.deploy.trial_file import Guards
from adminkit.deploy.trial_numbers import numbers_of, widest_of, with_cycles
from adminkit.deploy.trial_sides import Pair
from adminkit.deploy.trial_state import Numbers
from adminkit.deploy.trial_work import Work
from adminkit.errors import AdminkitError
from adminkit.slurm import day_jobs, switching
from adminkit.slurm.switching import Cycles
from adminkit.stats.switchback import Day
from adminkit.units import parse_duration, show_short

#: Seconds between two questions to slurmdbd, and after which not to know is a reason to end the trial.
EVERY: Final = 600
UNCOUNTED: Final = 3600
#: Days of A that a comparison needs, and days of B that are taken together.
LEAST_A: Final = 2
_TOGETHER: Final = 3
#: Jobs, and cycles, of a day below which its number says nothing.
_LEAST_JOBS: Final = 20
_LEAST_WIDE: Final = 5
#: Jobs of a day of A by which it is known which are the widest, where no day before the trial says so.
_KNOWN: Final = 100
_LEAST_CYCLES: Final = 30
#: A wait, and a cycle, that harms nobody: seconds.
_SHORT: Final = 600.0
_QUICK: Final = 0.5


def guard(work: Work) -> str:
    """Count, keep the counts, and say why the trial has to end; "" where it may continue."""
    today = work.trial.day(work.now)
    if today is None or work.now < today[1].since + work.trial.carry_over:
        return ""
    day, machine = today[1], work.machine
    problem = _count(work, day)
    if not day.on:
        return ""
    measured = work.machine.measured_at if work.machine.measured_at <= work.now else 0  # by a clock that was ahead
    counted_from = max(measured, day.since + work.trial.carry_over)
    if problem and work.now - counted_from > UNCOUNTED:
        return f"the guards could not count for {show_short(work.now - counted_from)}: {problem}"
    if problem:
        work.said.append(f"the guards could not count: {problem}")
    a = [one for one in work.machine.numbers if one.side == "a" and one.since != day.since]
    b = [one for one in work.machine.numbers if one.side == "b"]
    if len(a) < LEAST_A:
        work.said.append(f"the guards wait: they need {LEAST_A} days of A, and there are {len(a)}")
    return judge(a, b, machine.guards)


def _count(work: Work, day: Day) -> str:
    """Today's numbers, as far as they can be had: cycles each round, jobs every ten minutes. Why they could not be."""
    machine, side = work.machine, work.trial.side(work.now)
    there = next((one for one in machine.numbers if one.since == day.since), None)
    before = there or Numbers(day.since, side)
    problem, found, asked, measured = "", before, machine.asked_at, machine.measured_at
    widest = machine.widest
    last = None if there is None else machine.cycles  # cycles before this day's count are not this side's
    try:
        now = switching.cycles()
        found = with_cycles(found, now.since(last)) if last is not None else found
        last = now
        if not asked <= work.now < asked + EVERY or there is None:
            asked = work.now
            jobs = day_jobs.day_jobs(work.trial.cluster, day.since, min(day.until, work.now + 1))
            lowered = lowered_by(work.pair)
            if widest is None and side == "a" and len(jobs) >= _KNOWN:
                widest = widest_of(jobs)
            fresh = numbers_of(jobs, day, work.trial.carry_over, side, widest, work.now, lowered)
            found = _merged(found, fresh)
            measured = work.now
    except AdminkitError as error:
        problem = error.message
    others = [one for one in machine.numbers if one.since != day.since]
    kept = work.whole.with_machine(numbers=[*others, found], cycles=last, asked_at=asked, measured_at=measured)
    work.keep(replace(kept, machine=replace(kept.machine, widest=widest)))
    return problem


def _merged(cycles: Numbers, jobs: Numbers) -> Numbers:
    """The counts of jobs from one, of cycles from the other."""
    return with_cycles(jobs, Cycles(cycles.main_cycles, cycles.main_us, cycles.backfill_cycles, cycles.backfill_us))


def lowered_by(pair: Pair) -> dict[str, int]:
    """Maxima of queues that B lowers, in seconds."""
    found: dict[str, int] = {}
    for queue, keys in pair.b.queues.items():
        value, before = keys.get("MaxTime"), pair.a.queues[queue].get("MaxTime")
        if value is not None and value != "UNLIMITED":
            seconds = _seconds(value)
            if before == "UNLIMITED" or before is None or seconds < _seconds(before):
                found[queue] = seconds
    return found


def _seconds(text: str) -> int:
    return 60 * int(text) if text.isdigit() else parse_duration(text)


#: What a guard compares -> the jobs or cycles behind it, its value in seconds, the least behind, what harms nobody.
_Number = tuple[Callable[[Numbers], int], Callable[[Numbers], float | None], int, float]
_NUMBERS: Final[Mapping[str, _Number]] = {
    "widest_wait": (lambda one: one.widest_jobs, lambda one: one.widest_wait, _LEAST_WIDE, _SHORT),
    "p95_wait": (lambda one: one.jobs, lambda one: one.p95_wait, _LEAST_JOBS, _SHORT),
    "main cycle": (
        lambda one: one.main_cycles,
        lambda one: one.main_us / one.main_cycles / 1e6 if one.main_cycles else None,
        _LEAST_CYCLES,
        _QUICK,
    ),
    "backfill cycle": (
        lambda one: one.backfill_cycles,
        lambda one: one.backfill_us / one.backfill_cycles / 1e6 if one.backfill_cycles else None,
        _LEAST_CYCLES,
        _QUICK,
    ),
}


def judge(a: Sequence[Numbers], b: Sequence[Numbers], guards: Guards) -> str:
    """Why the last of B's days, or all of them, did more harm than the guards allow; "" where they did not."""
    if not b:
        return ""
    today = max(b, key=lambda one: one.since)
    # Trap: under soft limits of A's own, and where users ask for what is B's maximum, such jobs end on A's days too.
    usual = max((one.cut for one in a), default=0)
    if guards.cut is not None and today.cut > guards.cut + usual:
        return (
            f"guard cut: {today.cut} jobs ended at B's limits; allowed: {guards.cut}, and {usual} as on the worst of"
            f" {len(a)} days of A"
        )
    limits = {"widest_wait": guards.widest_wait, "p95_wait": guards.p95_wait}
    limits |= {"main cycle": guards.cycle, "backfill cycle": guards.cycle}
    for name, limit in limits.items():
        many, value, least, harmless = _NUMBERS[name]
        known = [found for one in a if many(one) >= least and (found := value(one)) is not None]
        theirs = [found for one in b if many(one) >= least and (found := value(one)) is not None]
        now = value(today) if many(today) >= least else None
        if limit is None or len(known) < LEAST_A:
            continue
        if now is not None and now > max(limit * max(known), harmless):
            return (
                f"guard {name}: {now:.1f} s on this B day, more than {limit:g} times the {max(known):.1f} s of the"
                f" worst of {len(known)} days of A"
            )
        means = sum(theirs) / len(theirs) if theirs else 0.0, sum(known) / len(known)
        if len(theirs) >= _TOGETHER and means[0] > max(limit * means[1], harmless):
            return (
                f"guard {name}: {means[0]:.1f} s on {len(theirs)} B days, more than {limit:g} times the"
                f" {means[1]:.1f} s of {len(known)} days of A"
            )
    return ""
