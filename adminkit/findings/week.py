"""How a user's week went: against the weeks before, which job name did best, which is worth a better limit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal

from adminkit.findings.estimate import WELL
from adminkit.stats.weeks import Name, Week

Trend = Literal["better", "same", "worse", "unknown"]

#: A share of the time asked for that moved by less is no news.
MOVED: Final = 0.05
#: Fewer runs, of a week or a job name, are an accident.
LEAST_RUNS: Final = 3
#: Seconds of GPUs, or nodes, that were reserved and not used; with less there is nothing to advise.
LEAST_UNUSED: Final = 3600


def trend(this: Week, before: Week) -> Trend:
    """This week's share of used time against that of the weeks before, taken together."""
    if this.share is None or before.share is None or min(this.runs, before.runs) < LEAST_RUNS:
        return "unknown"
    moved = this.share - before.share
    return "same" if abs(moved) < MOVED else "better" if moved > 0 else "worse"


def does_well(this: Week) -> bool:
    """Whether this user deserves praise: half of the time asked for, or more, was used."""
    return this.runs >= LEAST_RUNS and this.share is not None and this.share >= WELL


def best(names: Mapping[str | None, Name]) -> str | None:
    """The job name that used most of what it asked for, if that is a good part; None for none."""
    good = {
        name: one.week.share
        for name, one in names.items()
        if name and one.week.runs >= LEAST_RUNS and one.week.share is not None and one.week.share >= WELL
    }
    return max(good, key=lambda name: (good[name], name), default=None)


def worst(names: Mapping[str | None, Name], most: int = 3) -> Sequence[str]:
    """The job names that left most unused and used less than a good part, the worst first; at most `most`."""

    def unused(name: str | None) -> float:
        return sum(names[name].week.unused)

    bad = [
        name
        for name, one in names.items()
        if name and one.week.share is not None and one.week.share < WELL and unused(name) >= LEAST_UNUSED
    ]
    return sorted(bad, key=lambda name: (-unused(name), name))[:most]
