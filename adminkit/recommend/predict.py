"""The predictor: fed with runs in the order in which they ended, it says how long the next one will take.

Runs are kept in groups, one per level of likeness. In a group, runs submitted together are one batch: a thousand tasks
of an array are one decision of a person, and the first of them to end are its shortest. Only the last batches of a
group are kept, and the last runs of each, so a group has a bounded size however many jobs there are.

A run that was cut off (at its limit, cancelled, preempted) needed more than it got: it counts as longer than it ran,
and by how much is not known (a censored observation, in the words of survival analysis). A run that failed ended by
itself, so its limit was long enough; but a crash within the first minute says nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Final

from adminkit.recommend.curve import Curve, kaplan_meier
from adminkit.recommend.menu import RISK
from adminkit.stats.runs import Kind, Run
from adminkit.trace.run_view import STUDY_MIN_ELAPSED

#: States of runs that ended by themselves. Every other end came from outside.
BY_ITSELF: Final = ("COMPLETED", "FAILED", "OUT_OF_MEMORY")
#: What makes runs alike, the most alike first. A level that has too few runs gives way to the next.
LEVELS: Final = (
    ("cluster", "user", "job_name", "queue", "nodes", "cpus", "gpus", "req_limit"),
    ("cluster", "user", "job_name", "req_limit"),
    ("cluster", "user", "req_limit"),
    ("cluster", "user"),
)


@dataclass(frozen=True, slots=True)
class Rule:
    """The parameters, all of them. docs/recommend.md has the reason and the effect of each."""

    risk: float = RISK  # share of runs that may need more than the safe limit
    margin: float = 1.1  # safe limit / the longest need that it has to cover
    unseen: float = 0.5  # weight of the run that no history shows: longer than all of them
    batches: int = 20  # kept per group
    half_life: float = 10.0  # batches after which a batch counts half
    batch_runs: int = 16  # kept per batch
    batch_gap: int = 10  # seconds between submissions that are still one batch
    groups: int = 50_000  # kept in all; the one without a new run for longest goes first

    @property
    def least_weight(self) -> float:
        """A group with less weight cannot show so small a risk: 4.5 for one in ten."""
        return self.unseen * (1 - self.risk) / self.risk

    @property
    def least_runs(self) -> int:
        """How many runs, each submitted by itself, have that weight: 6 for one in ten."""
        fade = 2.0 ** (-1 / self.half_life)
        return math.ceil(math.log(1 - self.least_weight * (1 - fade), fade))


@dataclass(frozen=True, slots=True)
class Recommendation:
    """`safe` is None where nothing is recommended; `runs` and `cut` then say why.

    `level` names what the runs had in common; of these `runs`, `cut` were cut off.
    """

    level: tuple[str, ...]
    runs: int = 0
    cut: int = 0
    expected: int | None = None  # half of such runs take this or less
    safe: int | None = None  # not rounded
    enough: bool = False  # whether there were runs enough to tell


class _Batch:
    """Runs submitted together, as (need, cut off) pairs."""

    __slots__ = ("array_job", "count", "submit_time", "values")

    def __init__(self, array_job: int | None, submit_time: int) -> None:
        self.array_job = array_job
        self.submit_time = submit_time
        self.count = 0
        self.values: list[tuple[int, bool]] = []


class _Group:
    """Batches, the oldest first. `curve` is forgotten when a run is added."""

    __slots__ = ("batches", "curve")

    def __init__(self) -> None:
        self.batches: list[_Batch] = []
        self.curve: Curve | None = None


class Predictor:
    """Call `ended` in the order of ends, and only for runs that had ended when `predict` is asked about a job."""

    def __init__(self, rule: Rule | None = None, levels: Sequence[tuple[str, ...]] = LEVELS) -> None:
        self.rule = rule or Rule()
        self.levels = tuple(levels)
        self._keys = [getter(level) for level in self.levels]
        self._groups: dict[tuple[Any, ...], _Group] = {}

    def ended(self, run: Run) -> None:
        """Learn from a run."""
        seen = (needed(run), was_cut(run))
        groups = self._groups
        for number, key_of in enumerate(self._keys):
            key = (number, key_of(run.kind))
            group = groups.pop(key, None) or _Group()
            groups[key] = group  # now the newest
            group.curve = None
            self._batch(group, run, seen)
        while len(groups) > self.rule.groups:
            del groups[next(iter(groups))]

    def predict(self, kind: Kind, risk: float | None = None) -> Recommendation:
        """A recommendation from the runs most like this job: those of the first level that has enough.

        The limit aims at `risk` (control.py), rule.risk if None; how many runs are enough follows from rule.risk.
        """
        rule, poorest = self.rule, Recommendation(self.levels[-1])
        for number, key_of in enumerate(self._keys):
            group = self._groups.get((number, key_of(kind)))
            if group is None:
                continue
            curve = group.curve
            if curve is None:
                curve = group.curve = _curve(group.batches, rule)
            if curve.weight >= rule.least_weight:
                return _answer(curve, self.levels[number], rule.risk if risk is None else risk, rule)
            poorest = Recommendation(self.levels[number], curve.runs, curve.cut)
        return poorest

    def curve(self, kind: Kind) -> Curve | None:
        """The curve of the runs most like this job: of the first level that has enough; None where none has."""
        for number, key_of in enumerate(self._keys):
            group = self._groups.get((number, key_of(kind)))
            if group is None:
                continue
            if group.curve is None:
                group.curve = _curve(group.batches, self.rule)
            if group.curve.weight >= self.rule.least_weight:
                return group.curve
        return None

    def _batch(self, group: _Group, run: Run, seen: tuple[int, bool]) -> None:
        rule, batches = self.rule, group.batches
        for batch in reversed(batches):
            if abs(batch.submit_time - run.submit_time) <= rule.batch_gap or (
                run.array_job is not None and batch.array_job == run.array_job
            ):
                break
        else:
            batch = _Batch(run.array_job, run.submit_time)
            batches.append(batch)
            if len(batches) > rule.batches:
                del batches[0]
        if len(batch.values) < rule.batch_runs:
            batch.values.append(seen)
        else:
            batch.values[batch.count % rule.batch_runs] = seen
        batch.count += 1


def needed(run: Run) -> int:
    """Seconds: the run time, at most the last limit, as Slurm and others kill some seconds late."""
    limit = run.limit
    return run.elapsed if limit is None or run.elapsed < limit else limit


def at_limit(run: Run) -> bool:
    """Whether its own limit ended it. Trap: not every source says TIMEOUT."""
    limit = run.limit
    return run.state == "TIMEOUT" or (limit is not None and run.elapsed >= limit)


def was_cut(run: Run) -> bool:
    """Whether it may have needed more than it got."""
    crashed = run.state != "COMPLETED" and run.elapsed <= STUDY_MIN_ELAPSED
    return crashed or run.state not in BY_ITSELF or at_limit(run)


def _curve(batches: Sequence[_Batch], rule: Rule) -> Curve:
    """A batch of n runs weighs as much as sqrt(n): more than one run, for they are n, less, for they are alike."""
    pool: list[tuple[int, bool, float]] = []
    recency, fade = 1.0, 2.0 ** (-1 / rule.half_life)
    for batch in reversed(batches):
        weight = recency / math.sqrt(len(batch.values))
        pool += [(need, cut, weight) for need, cut in batch.values]
        recency *= fade
    return kaplan_meier(pool, rule.unseen)


def _answer(curve: Curve, level: tuple[str, ...], risk: float, rule: Rule) -> Recommendation:
    """The recommendation for `risk`. Where the curve has a limit for rule.risk, a smaller risk has one, too."""
    need: float | None = curve.limit(risk)
    if need is None and risk < rule.risk and curve.limit(rule.risk) is not None:
        need = curve.beyond(risk)
    safe = None if need is None else round(need * rule.margin)
    return Recommendation(level, curve.runs, curve.cut, curve.expected, safe, True)


def getter(level: tuple[str, ...]) -> Callable[[Kind], Any]:
    """Takes from a Kind the values that the level compares."""
    return itemgetter(*(Kind._fields.index(name) for name in level))
