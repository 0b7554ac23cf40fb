"""The race: what is better is found, what harms somebody is not picked, and noise is not taken for a gain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import NormalDist

import pytest

from adminkit.tune.candidates import Choice
from adminkit.tune.measured import Change
from adminkit.tune.race import (
    LEAST,
    SEEDS,
    Goal,
    Standing,
    best,
    distinct,
    frontier,
    going_on,
    race,
    rounds_of,
    standing_of,
)
from tests.tune.outcomes import FRAME, Effect, Nothing, World, outcomes

GOAL = Goal(parts=("size",))
GRID = ((1, 2, 3, 4), (1, 2, 3, 4), (1, 2), (1, 2))


def always(choice: Choice) -> bool:
    return True


def ran(effect: Effect, evaluations: int = 300, seed: int = 1, noise: float = 0.01) -> list[Standing]:
    world = World(effect, noise)
    found = race(GRID, always, GOAL, rounds_of(evaluations), seed, FRAME, world.evaluate, Nothing())
    assert world.evaluations <= evaluations
    return found


def stands(share: tuple[float, float], choice: Choice = (1, None, None, None), many: int = 20) -> Standing:
    return standing_of(choice, outcomes(share, many), GOAL, FRAME)


@pytest.mark.parametrize("evaluations", [LEAST, 150, 333, 500, 1000, 1200, 5000])
def test_the_rounds_need_no_more_than_what_was_asked_for(evaluations: int) -> None:
    """With as many combinations in each as may go on."""
    needed = running = before = 0
    for one in rounds_of(evaluations):
        if one.keep:
            assert one.keep <= running
            needed, running, before = needed + one.keep * (one.seeds - before), one.keep, one.seeds
        needed, running, before = needed + one.new * one.seeds, running + one.new, one.seeds
    assert evaluations * 0.9 <= needed <= evaluations
    assert before == SEEDS[-1] == 20


def by_levers(choice: Choice) -> tuple[float, float]:
    """The second lever at 3 makes all waits shorter; the first makes those of wide jobs longer."""
    small = 0.8 if choice[1] == 3 else 1.0
    return (small * 0.5, small * 1.4) if choice[0] is not None else (small, small)


def test_the_best_that_harms_nobody_is_picked_with_no_lever_that_does_nothing() -> None:
    pick = best(ran(by_levers))
    assert pick is not None
    assert pick.choice == (None, 3, None, None)
    assert pick.replicates == 20


def mixed(choice: Choice) -> tuple[float, float]:
    """The first lever harms wide jobs; with the third one nobody is harmed."""
    if choice[0] == 4:
        return (0.5, 0.7) if choice[2] == 2 else (0.6, 1.3)
    return (1.0, 0.98) if choice[2] == 2 else (1.0, 1.0)


def test_what_only_two_levers_together_bring_is_found() -> None:
    pick = best(ran(mixed))
    assert pick is not None and pick.choice == (4, None, 2, None)


@pytest.mark.parametrize("seed", range(5))
def test_where_nothing_is_better_nothing_is_picked(seed: int) -> None:
    assert best(ran(lambda choice: (1.0, 1.0), seed=seed, noise=0.2)) is None


def test_where_everything_harms_somebody_nothing_is_picked() -> None:
    assert best(ran(lambda choice: (0.5, 1.3))) is None


def test_the_same_seed_tries_the_same() -> None:
    first, again, other = (ran(by_levers, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert [one.choice for one in first] != [one.choice for one in other]


def test_what_contradicts_itself_is_never_tried() -> None:
    def fits(choice: Choice) -> bool:
        return choice[0] is None or choice[1] is None

    found = race(GRID, fits, GOAL, rounds_of(300), 1, FRAME, World(by_levers).evaluate, Nothing())
    assert all(fits(one.choice) for one in found)


def test_a_round_that_was_kept_is_not_evaluated_again() -> None:
    class Memory:
        def __init__(self) -> None:
            self.found: dict[object, Sequence[Standing]] = {}

        def recall(self, number: int, choices: Sequence[Choice], seeds: int) -> Sequence[Standing] | None:
            return self.found.get((number, tuple(choices), seeds))

        def keep(self, number: int, standings: Sequence[Standing], seeds: int) -> None:
            self.found[number, tuple(one.choice for one in standings), seeds] = standings

    memory, first, second = Memory(), World(by_levers), World(by_levers)
    rounds = rounds_of(300)
    whole = race(GRID, always, GOAL, rounds, 1, FRAME, first.evaluate, memory)
    memory.found = dict(list(memory.found.items())[:-1])  # killed before its last round
    assert race(GRID, always, GOAL, rounds, 1, FRAME, second.evaluate, memory) == whole
    assert [number for number, _, _ in second.asked] == [first.asked[-1][0]]


def test_what_is_beaten_or_harms_somebody_clearly_does_not_go_on() -> None:
    good, worse_, harmful = stands((0.5, 0.5)), stands((0.8, 0.8)), stands((0.3, 1.5))
    assert going_on([worse_, harmful, good], 3) == [good]


def test_of_what_is_unsure_those_go_on_that_break_nothing() -> None:
    """A third of the places is for those that may break something, and do not so clearly."""
    sure = [stands((1 - step / 1000, 1.0), (step + 1, None, None, None), 1) for step in range(4)]
    assert {one.choice for one in going_on(sure, 3)} <= {one.choice for one in sure}
    assert len(going_on(sure, 3)) == 3
    assert going_on(sure, 0) == []


def test_one_of_those_with_the_same_schedules_stays_with_the_fewest_levers() -> None:
    several = [stands((0.5, 0.5), choice) for choice in ((1, 2, None, None), (1, None, None, None), (1, 3, 2, None))]
    assert [one.choice for one in distinct([*several, stands((0.6, 0.6), (4, 4, 4, 4))])] == [
        (1, None, None, None), (4, 4, 4, 4),
    ]  # fmt: skip


def test_the_frontier_has_what_nothing_beats_in_both() -> None:
    low, middle, high = stands((0.3, 1.2)), stands((0.6, 0.9)), stands((0.8, 0.8))
    beaten, young = stands((0.7, 0.95)), stands((0.1, 0.1), many=3)
    assert frontier([beaten, high, young, low, middle]) == [middle, high]
    wide = stands((0.01, 0.95))
    assert frontier([middle, wide]) == [wide, middle]


def test_of_those_as_good_the_one_with_the_fewest_levers_is_picked() -> None:
    two, one = stands((0.500, 0.500), (1, 2, None, None)), stands((0.505, 0.505), (1, None, None, None))
    far = stands((0.6, 0.6), (None, 1, None, None))
    assert best([two, far, one]) == one
    assert best([two, far]) == two


def test_less_use_of_the_machine_is_harm() -> None:
    base = outcomes((0.5, 0.5), 20)
    assert not standing_of((1, 1, 1, 1), base, Goal(), FRAME).broken
    import numpy as np

    idle = [replace(one, busy=np.array([np.full(120, 0.8), np.full(120, 0.7)]), whole={**one.whole, "utilization":
            (0.8, 0.7)}) for one in base]  # fmt: skip
    broken = standing_of((1, 1, 1, 1), idle, Goal(), FRAME).broken
    assert [one.measure for one in broken] == ["utilization"]
    assert not standing_of((1, 1, 1, 1), idle, Goal(keeps=()), FRAME).broken


@pytest.mark.parametrize("constraints", [16, 40])
def test_chance_breaks_a_constraint_of_a_pick_in_at_most_one_search_of_twenty(constraints: int) -> None:
    """No constraint is touched: each has a p-value that is drawn evenly, and the interval that goes with it."""
    import numpy as np

    rng, searches = np.random.default_rng(44), 1000
    good = stands((0.5, 0.5))
    dropped = alone = 0
    for _ in range(searches):
        one = replace(good, others=tuple(untouched(float(p)) for p in rng.uniform(-1, 1, constraints)))
        dropped += best([one]) is None
        alone += bool(one.broken)
    assert alone > 0.3 * searches, "by their own intervals many would be dropped"
    assert dropped <= 0.05 * searches


def untouched(p: float) -> Change:
    """A wait of half an hour that seems to grow (p above 0) or to shrink; its normal error is 60 s."""
    change = 60 * NormalDist().inv_cdf(1 - abs(p) / 2) * (1 if p > 0 else -1)
    reach = 60 * NormalDist().inv_cdf(0.975)
    return Change("size", "1", "mean_wait", "seconds", 100, 1800.0, 1800.0 + change, change, change - reach,
                  change + reach, abs(p))  # fmt: skip


@pytest.mark.parametrize(
    ("ps", "kept", "why"),
    [
        ([0.04] + [-0.5] * 15, True, "0.04 of sixteen is chance"),
        ([0.04], False, "0.04 of one is not"),
        ([0.002] + [-0.5] * 15, False, "0.002 of sixteen is not"),
        ([-0.002] + [-0.5] * 15, True, "a group waits less"),
        ([0.003] * 2 + [0.002] + [-0.5] * 13, False, "one that is broken suffices"),
    ],
)
def test_a_pick_breaks_no_constraint_where_all_are_judged_together(ps: Sequence[float], kept: bool, why: str) -> None:
    one = replace(stands((0.5, 0.5)), others=tuple(map(untouched, ps)))
    assert (best([one]) == one) is kept, why
