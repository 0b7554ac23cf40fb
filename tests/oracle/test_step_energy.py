"""A run's energy from its steps is that of its nodes while any step ran, or unknown: on nodes whose power is known."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from adminkit.trace.step_sums import Metered, energy_of_steps

#: Seconds that a run lasts.
LENGTH = 400


def some_steps(rng: random.Random, nodes: int) -> list[tuple[int, int, frozenset[int]]]:
    """(start, end, nodes of it): batch and extern as Slurm has them, and others anywhere or in turn."""
    every = frozenset(range(nodes))
    found = []
    if rng.random() < 0.7:
        found.append((0, LENGTH, frozenset({0})))
    if rng.random() < 0.5:
        found.append((0, LENGTH - rng.randint(0, 1), every))
    if rng.random() < 0.5:
        cuts = sorted(rng.sample(range(LENGTH), 4))
        found += [(a, b, frozenset(rng.sample(sorted(every), rng.randint(1, nodes)))) for a, b in pairwise(cuts)]
    for _ in range(rng.randint(0, 3)):
        start, end = sorted(rng.sample(range(0, LENGTH, rng.choice((1, 50))), 2))
        found.append((start, end, frozenset(rng.sample(sorted(every), rng.randint(1, nodes)))))
    return found


@pytest.mark.parametrize("seed", [*range(4), *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(4, 100))])
def test_the_energy_of_steps_is_that_of_their_nodes_or_unknown(seed: int) -> None:
    for part in range(500):
        assert_right_or_unknown(random.Random(500 * seed + part))


def assert_right_or_unknown(rng: random.Random) -> None:
    nodes = rng.randint(1, 3)
    watts = [[rng.randint(90, 400) for _ in range(LENGTH)] for _ in range(nodes)]
    steps = some_steps(rng, nodes)
    metered = [
        Metered(start, end, len(which), sum(sum(watts[node][start:end]) for node in which))
        for start, end, which in steps
    ]
    seconds = {(node, second) for start, end, which in steps for node in which for second in range(start, end)}
    truth = sum(watts[node][second] for node, second in seconds)
    found = energy_of_steps(metered, nodes)
    # A step that ran up to a second, or a hundredth of the time, beyond another one counts as within it.
    beyond = 2 * (1 + LENGTH // 100) * 400 * nodes
    assert found is None or (steps and abs(found - truth) <= beyond)


def test_most_of_what_slurm_makes_is_known() -> None:
    known = tried = 0
    for seed in range(2000):
        rng = random.Random(seed)
        steps = some_steps(rng, 1)
        if steps:
            tried += 1
            known += energy_of_steps([Metered(a, b, 1, 1) for a, b, _ in steps], 1) is not None
    assert known / tried > 0.7
