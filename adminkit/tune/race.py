"""The race: many combinations with one replicate each, the better ones with more, the last ones with twenty.

Successive halving: Jamieson, Talwalkar: Non-stochastic best arm identification and hyperparameter optimization, AISTATS
2016. What the leader beats beyond the interval of the paired differences is dropped as well, as in F-Race (Birattari et
al., GECCO 2002). Everything follows from the seed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Protocol

from adminkit.simulate.calibrate import LEAST_JOBS, SHORT_WAIT
from adminkit.simulate.compare import LEVEL
from adminkit.stats.student import difference, holm
from adminkit.tune import candidates
from adminkit.tune.candidates import Choice, Grid, changed
from adminkit.tune.measured import LATE, OBJECTIVES, Change, Frame, Outcome, each_of, waits_of, whole_of

#: Replicates of a combination in the rounds after the first one; the last is what an answer is made of.
SEEDS: Final = (1, 3, 8, 20)
#: The fewest evaluations (replicates of combinations) that a race is made of.
LEAST: Final = 130
#: Combinations in the last round, at most, and how many more are in each round before it.
_LAST, _MORE = 6, 3
#: Evaluations for each combination of the last round.
_FOR_EACH: Final = 150
#: A combination that is this close to the best, as a share of today's value, and changes fewer levers, is picked.
_CLOSE: Final = 0.01
#: The share of a round's survivors that break nothing at all, where there are as many.
_SURE: Final = 2 / 3


@dataclass(frozen=True, slots=True)
class Goal:
    """What is wanted, and what may not become worse: waits of the groups of `parts` that have `least` jobs or more, and
    the measures of `keeps`.
    """

    objective: str = "mean_wait"
    parts: tuple[str, ...] = ("size", "queue", "decile")
    keeps: tuple[str, ...] = ("utilization", LATE, "lost_hours")
    least: int = LEAST_JOBS

    def __post_init__(self) -> None:
        assert self.objective in OBJECTIVES


@dataclass(frozen=True, slots=True)
class Round:
    """The best `keep` of those before stay, `new` ones are drawn, and all have replicates up to `seeds`."""

    keep: int
    new: int
    seeds: int


@dataclass(frozen=True, slots=True)
class Standing:
    """What is known of a combination. `each`: the objective in each replicate; `others`: groups, then `keeps`."""

    choice: Choice
    each: tuple[float, ...]
    objective: Change
    others: tuple[Change, ...]

    @property
    def replicates(self) -> int:
        """How many."""
        return len(self.each)

    @property
    def broken(self) -> list[Change]:
        """What becomes worse beyond its own interval."""
        return [one for one in self.others if worse(one)]

    @property
    def clearly_broken(self) -> list[Change]:
        """What becomes worse where all groups and measures are judged together (Holm, 5 %)."""
        adjusted = holm([one.p for one in self.others])
        return [one for one, p in zip(self.others, adjusted, strict=True) if p < LEVEL and worse(one)]

    @property
    def worst(self) -> Change | None:
        """The group whose mean wait grows most, or shrinks least, as a share of today's."""
        groups = [one for one in self.others if one.measure == "mean_wait"]
        return max(groups, key=lambda one: one.change / max(one.today, SHORT_WAIT), default=None)


#: (round, combinations each with how many replicates it has, replicates wanted of each) -> all outcomes of each.
Evaluate = Callable[[int, Sequence[tuple[Choice, int]], int], Sequence[Sequence[Outcome]]]


class Memory(Protocol):
    """Where the standings of finished rounds are kept."""

    def recall(self, number: int, choices: Sequence[Choice], seeds: int) -> Sequence[Standing] | None:
        """Those of this round; None where it is not finished."""

    def keep(self, number: int, standings: Sequence[Standing], seeds: int) -> None:
        """Those of a round that has just been finished."""


def worse(change: Change) -> bool:
    """Whether it is worse beyond its interval: longer waits, more hours lost, more late starts, less use."""
    return change.is_less if change.measure == "utilization" else change.is_more


def rounds_of(evaluations: int) -> list[Round]:
    """The rounds that need at most `evaluations`, which is LEAST or more."""
    last = min(max(evaluations // _FOR_EACH, 2), _LAST)
    many = [last * _MORE**later for later in range(len(SEEDS) - 1)][::-1]  # of the rounds after the first
    steps = [after - before for before, after in pairwise(SEEDS)]
    needed = sum(count * more for count, more in zip(many, steps, strict=True))
    first = Round(0, max(evaluations - needed, many[0]), SEEDS[0])
    return [first, *(Round(count, 0, seeds) for count, seeds in zip(many, SEEDS[1:], strict=True))]


def race(
    grid: Grid,
    fits: Callable[[Choice], bool],
    goal: Goal,
    rounds: Sequence[Round],
    seed: int,
    frame: Frame,
    evaluate: Evaluate,
    memory: Memory,
) -> list[Standing]:
    """Every combination that was tried, by its last round, in the order in which they were tried."""
    tried: dict[Choice, Standing] = {}
    known: set[Choice] = set()
    choices: list[Choice] = []
    for number, one in enumerate(rounds):
        kept = [standing.choice for standing in going_on([tried[choice] for choice in choices], one.keep)]
        new = candidates.drawn(grid, one.new, fits, f"{seed} {number}", known) if one.new else []
        choices = [*kept, *new]
        found = memory.recall(number, choices, one.seeds) if choices else []
        if found is None:
            have = [(choice, tried[choice].replicates if choice in tried else 0) for choice in choices]
            outcomes = evaluate(number, have, one.seeds)
            found = [standing_of(choice, several, goal, frame)
                     for choice, several in zip(choices, outcomes, strict=True)]  # fmt: skip
            memory.keep(number, found, one.seeds)
        tried |= {standing.choice: standing for standing in found}
    return list(tried.values())


def standing_of(choice: Choice, outcomes: Sequence[Outcome], goal: Goal, frame: Frame) -> Standing:
    """What these replicates say of it."""
    objective = whole_of(goal.objective, outcomes, frame)
    assert objective is not None  # a summary has all objectives
    kept = (whole_of(measure, outcomes, frame) for measure in goal.keeps)
    others = (*waits_of(outcomes, frame, goal.least)[1:], *(one for one in kept if one is not None))
    return Standing(choice, each_of(goal.objective, outcomes), objective, others)


def going_on(standings: Sequence[Standing], many: int) -> list[Standing]:
    """The best, without those that break something clearly or are beaten: first those that break nothing at all."""
    ranked = _ranked([one for one in distinct(standings) if not one.clearly_broken])
    if not many or not ranked:
        return []
    sure = [one for one in ranked if not one.broken]
    leader = (sure or ranked)[0]
    left = [one for one in ranked if not _beaten(one, leader)]
    first = [one for one in left if not one.broken][: round(many * _SURE) or 1]
    rest = [one for one in left if one not in first]
    return _ranked([*first, *rest[: many - len(first)]])


def best(standings: Sequence[Standing]) -> Standing | None:
    """The pick: the best that has all replicates, breaks nothing and is better than today; None where none is.

    Constraints are judged together, as on the held-out days: by its own interval, one of twenty that nothing touches
    would often seem broken. Among those that are as good, within a hundredth of today's value, the pick is the one that
    changes the fewest levers.
    """
    able = _ranked([one for one in standings if one.replicates >= SEEDS[-1] and one.objective.is_less
                    and not one.clearly_broken])  # fmt: skip
    if not able:
        return None
    most = able[0].objective.change + _CLOSE * abs(able[0].objective.today)
    return min((one for one in able if one.objective.change <= most), key=lambda one: changed(one.choice))


def frontier(standings: Sequence[Standing]) -> list[Standing]:
    """Those that no other one beats in both the objective and the worst group, the best objective first.

    Of those that came to the last two rounds: one replicate of hundreds of combinations would show the luckiest.
    """
    edge: list[Standing] = []
    least = float("inf")
    able = [one for one in standings if one.replicates >= SEEDS[-2]]
    for one in sorted(able, key=lambda one: (one.objective.change, worst_share(one))):
        if worst_share(one) < least:
            least = worst_share(one)
            edge.append(one)
    return edge


def distinct(standings: Sequence[Standing]) -> list[Standing]:
    """One of those that have the same schedules, which are many where a lever does nothing: the fewest levers."""
    found: dict[tuple[float, ...], Standing] = {}
    for one in standings:
        alike = found.get(one.each)
        if alike is None or changed(one.choice) < changed(alike.choice):
            found[one.each] = one
    return list(found.values())


def worst_share(standing: Standing) -> float:
    """How much longer the worst group waits, as a share of today's; 0 where no group is judged."""
    worst = standing.worst
    return 0.0 if worst is None else worst.change / max(worst.today, SHORT_WAIT)


def _ranked(standings: Sequence[Standing]) -> list[Standing]:
    return sorted(standings, key=lambda one: one.objective.change)


def _beaten(one: Standing, leader: Standing) -> bool:
    """Whether it is worse than the leader beyond the interval of the differences of the replicates that both have."""
    both = min(one.replicates, leader.replicates)
    found = difference([own - best for own, best in zip(one.each[:both], leader.each[:both], strict=True)])
    return found is not None and found.low > 0
