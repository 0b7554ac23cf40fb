"""What a request of each number of GPUs would wait: by what jobs of its queue, with about its limit, have waited."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from adminkit.sqlite import sqlite3
from adminkit.stats.progress import Habit
from adminkit.stats.select import Filter
from adminkit.stats.wait_given_limit import MIN_DAYS, MIN_JOBS, Expected, wait_given_limit
from adminkit.units import show_short

#: Days of waits that count, as for `adminkit fit`.
DAYS: Final = 90


@dataclass(frozen=True, slots=True)
class GpuWaits:
    """Waits by number of GPUs, without unknown ones. `note`: what they are made of, or why there is none."""

    by_gpus: Mapping[int, Expected] = field(default_factory=dict)
    note: str = ""


def gpu_waits(
    db: sqlite3.Connection, habit: Habit | None, numbers: Iterable[int], now: int, checkpoint_code: int
) -> GpuWaits:
    """The waits of everybody's jobs that this connection shows."""
    if habit is None:
        return GpuWaits(note="wait: not known, because no run of this job shows which queue and limit it asks for")
    chosen = Filter([habit.cluster], now - DAYS * 86_400, queues=[habit.queue], checkpoint_code=checkpoint_code)
    found: dict[int, Expected] = {}
    for gpus in numbers:
        given = next(iter(wait_given_limit(db, chosen, habit.req_limit, gpus).queues), None)
        if given is not None and given.expected is not None:
            found[gpus] = given.expected
    jobs = f"jobs of {habit.queue} with about {show_short(habit.req_limit)} and as many GPUs"
    if not found:
        return GpuWaits(
            note=f"wait: not known from history, which needs {MIN_JOBS} {jobs} on {MIN_DAYS} days of the last {DAYS}"
        )
    return GpuWaits(
        found, f"wait by history: the median of {jobs} in the last {DAYS} days, with the limit of its last run"
    )
