"""Who gains and who loses: paired differences of replicates, each with a 95 % interval and a verdict.

A replicate has the same chance on both sides, so its difference is free of what both have in common. The intervals are
those of Student's t over the replicates. There are many of them, and one in twenty misses; so the verdicts hold for all
rows of one measure together (Holm), and an interval without 0 may still come with "no significant change".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from adminkit.simulate.groups import FOLLOWS, GIVEN, Groups
from adminkit.simulate.outcome import Summary
from adminkit.stats.student import difference, holm

#: Verdicts are wrong with this probability at most, all of one measure together.
LEVEL: Final = 0.05
NO_CHANGE: Final = "no significant change"
LESS: Final = "less"
MORE: Final = "more"
UNKNOWN: Final = "too few jobs to say"

#: Measure -> what it is in. Those of every part first.
UNITS: Final = {
    "mean_wait": "seconds",
    "mean_slowdown": "ratio",
    "median_wait": "seconds",
    "p95_wait": "seconds",
    "mean_turnaround": "seconds",
    "utilization": "share",
    "killed": "count",
    "not_run": "count",
    "lost_hours": "hours",
    "given_hours": "hours",
}
#: Changes below these are none: a table could not show them.
SMALLEST: Final = {"seconds": 0.5, "ratio": 0.0005, "share": 0.00005, "count": 0.5, "hours": 0.05}

Pair = tuple[float | None, float | None]


@dataclass(frozen=True, slots=True)
class Row:
    """One measure of one part of the jobs. `today` and `then` are means over replicates; None: nothing to measure."""

    scenario: str
    part: str
    value: str
    measure: str
    unit: str
    jobs: int
    today: float | None
    then: float | None
    change: float | None
    low: float | None
    high: float | None
    p: float
    verdict: str

    @property
    def relative(self) -> float | None:
        """The change as a share of today's."""
        return None if self.change is None or not self.today else self.change / self.today


def compare(names: Sequence[str], summaries: Sequence[Sequence[Summary]], groups: Groups) -> list[Row]:
    """The rows of all scenarios, in their order; `summaries` has those of each scenario, one a replicate."""
    rows = [row for name, several in zip(names, summaries, strict=True) for row in _rows(name, several, groups)]
    return _judged(rows)


def _rows(scenario: str, several: Sequence[Summary], groups: Groups) -> Iterator[Row]:
    parts = {part: names for part, (_, names) in groups.parts.items()}
    if all("users" in one["parts"] for one in several):
        parts["users"] = FOLLOWS
    if all("time" in one["parts"] for one in several):
        parts["time"] = GIVEN
    for part, names in parts.items():
        for place, value in enumerate(names):
            sums = [{key: counts[place] for key, counts in one["parts"][part].items()} for one in several]
            jobs = round(sum(one["jobs"] for one in sums) / len(sums))
            if not jobs:
                continue
            for measure, key in (("mean_wait", "wait"), ("mean_slowdown", "slowdown")):
                pairs = [_means(one, key) for one in sums]
                yield _row(scenario, part, value, measure, jobs, pairs)
            if part == "all":
                yield from _whole(scenario, value, jobs, several)


def _whole(scenario: str, value: str, jobs: int, several: Sequence[Summary]) -> Iterator[Row]:
    """What is measured of all jobs only."""
    measures: dict[str, Callable[[Summary], Pair]] = {
        "median_wait": lambda one: tuple(one["median_wait"]),
        "p95_wait": lambda one: tuple(one["p95_wait"]),
        "mean_turnaround": lambda one: tuple(one["turnaround"]),
        "utilization": lambda one: tuple(one["utilization"]),
        "killed": lambda one: tuple(one["killed"]),
        "not_run": lambda one: tuple(one["not_run"]),
        "lost_hours": lambda one: tuple(one["lost_hours"]),
        "given_hours": lambda one: tuple(one["given_hours"]),
    }
    for measure, of in measures.items():
        yield _row(scenario, "all", value, measure, jobs, [of(one) for one in several])


def _means(sums: dict[str, float], key: str) -> Pair:
    jobs = sums["jobs"]
    return (sums[f"{key}_today"] / jobs, sums[key] / jobs) if jobs else (None, None)


def _row(scenario: str, part: str, value: str, measure: str, jobs: int, pairs: Sequence[Pair]) -> Row:
    known = [(before, after) for before, after in pairs if before is not None and after is not None]
    bare = Row(scenario, part, value, measure, UNITS[measure], jobs, None, None, None, None, None, 1.0, UNKNOWN)
    found = difference([after - before for before, after in known])
    if found is None:
        return bare
    today, then = (sum(side) / len(known) for side in zip(*known, strict=True))
    return replace(
        bare, today=today, then=then, change=found.mean, low=found.low, high=found.high, p=found.p, verdict=NO_CHANGE
    )


def _judged(rows: Sequence[Row]) -> list[Row]:
    """Give verdicts that hold together for all rows of a measure."""
    judged = list(rows)
    for measure in UNITS:
        family = [place for place, row in enumerate(rows) if row.measure == measure and row.change is not None]
        for place, p in zip(family, holm([rows[place].p for place in family]), strict=True):
            change = rows[place].change or 0.0
            if p < LEVEL and abs(change) >= SMALLEST[rows[place].unit]:
                judged[place] = replace(rows[place], verdict=LESS if change < 0 else MORE)
    return judged
