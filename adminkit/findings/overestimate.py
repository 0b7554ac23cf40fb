"""Whether a run that has ended asked for far more than it used, so its user should be told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from adminkit.findings.finding import Finding, Kind, Number, Stake, Subject, Verdict, of_resource
from adminkit.messages import message
from adminkit.stats.due import Ended, Habit


@dataclass(frozen=True, slots=True)
class Limits:
    """Both have to be met: only a share would write about minutes, only a floor about every long job."""

    used_fraction: float = 0.5  # used less than this share of what was reserved
    unused: float = 4 * 3600.0  # GPU-seconds left unused; without GPUs, 16 CPU-seconds for one
    min_elapsed: int = 600  # seconds
    well: float = 0.7  # of all that the user reserved lately: users who do this well need no letter per job
    habit_runs: int = 5  # fewer say nothing about a habit


@dataclass(frozen=True, slots=True)
class Measure:
    """A run, or an array as a whole, of a cluster, and what its user did lately; None where nothing is known."""

    cluster: str
    run: Ended
    habit: Habit | None = None


KIND: Final = Kind(
    "overestimate",
    "a run, or an array, that used little of what it reserved",
    {
        "overestimated": Verdict(
            "warn", message("ask for a shorter limit next time: adminkit recommend walltime suggests one")
        )
    },
    {
        "tasks": Number("the number of runs in the array; 1 for a single run"),
        "elapsed": Number("the run time of the longest task", "seconds"),
        "req_limit": Number("the longest limit that was asked for", "seconds"),
        "used": Number("used by the run", "GPU-seconds"),
        "reserved": Number("reserved by its limits", "GPU-seconds"),
        "unused": Number("reserved - used", "GPU-seconds"),
        "cpu_used": Number("used by a run without GPUs", "CPU-seconds"),
        "cpu_reserved": Number("reserved by its limits", "CPU-seconds"),
        "cpu_unused": Number("cpu_reserved - cpu_used", "CPU-seconds"),
        "used_fraction": Number("used / reserved", "share"),
    },
)

#: Why there is no finding, in the order in which it is asked.
REASONS: Final = ("open", "state", "interactive", "checkpoint", "limit", "short", "used_fraction", "unused", "well")


def check(measure: Measure, limits: Limits) -> list[Finding]:
    """One finding where the user should be told, else none; `why_not` says why."""
    if why_not(measure, limits) is not None:
        return []
    run = measure.run
    subject = Subject(
        cluster=measure.cluster, user=run.user, name=run.job_name, run=f"{run.job_id_raw}@{run.submit_time}"
    )
    evidence = {
        "tasks": run.tasks, "elapsed": run.elapsed, "req_limit": run.req_limit,
        **of_resource(run.resource, used=run.used, reserved=run.reserved, unused=run.reserved - run.used),
        "used_fraction": run.used / run.reserved,
    }  # fmt: skip
    return [KIND.finding("overestimated", subject, evidence, Stake.of(run.reserved - run.used, run.resource))]


def why_not(measure: Measure, limits: Limits) -> str | None:
    """None where there is a finding, else the first of REASONS that holds."""
    run, habit = measure.run, measure.habit
    if run.open:
        return "open"  # an array is told of once, when it is over
    if run.completed == 0 or 2 * run.completed < run.tasks:
        return "state"  # cancelled, failed or cut off: how long it would have needed is not known
    if run.interactive:
        return "interactive"
    if run.checkpoint:
        return "checkpoint"
    if run.bounded == 0:
        return "limit"
    if run.elapsed < limits.min_elapsed:
        return "short"
    if run.used >= limits.used_fraction * run.reserved:
        return "used_fraction"
    if run.unused_weight < limits.unused:
        return "unused"
    if habit is not None and habit.runs >= limits.habit_runs and habit.used_fraction >= limits.well:
        return "well"
    return None
