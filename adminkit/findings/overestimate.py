"""Whether a run that has ended asked for so much more than it used that its user should be told."""

from __future__ import annotations

from dataclasses import dataclass

from adminkit.stats.due import Ended, Habit


@dataclass(frozen=True, slots=True)
class Limits:
    """A share alone would write about minutes, a floor alone about every long job: both have to be met."""

    used_share: float = 0.5  # used less than this share of what was reserved
    unused: float = 4 * 3600.0  # GPU-seconds left unused; node-seconds without GPUs
    min_elapsed: int = 600  # seconds
    well: float = 0.7  # of all that the user reserved lately: who does this well needs no letter per job
    habit_runs: int = 5  # fewer say nothing about a habit


#: Why no letter is due, in the order in which it is asked.
REASONS = ("open", "state", "interactive", "checkpoint", "limit", "short", "used_share", "unused", "well")


def check(run: Ended, habit: Habit | None, limits: Limits) -> str | None:
    """None where a letter is due, else one of REASONS."""
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
    if run.used >= limits.used_share * run.reserved:
        return "used_share"
    if run.reserved - run.used < limits.unused:
        return "unused"
    if habit is not None and habit.runs >= limits.habit_runs and habit.used_share >= limits.well:
        return "well"
    return None
