"""The model elastic: the program and its plain twin say the same of any jobs, and both keep the model's promises."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import asdict, replace

import numpy as np
import pytest

from adminkit.errors import AdminkitError
from adminkit.simulate.core import Request, Schedule, simulate
from tests.simulate.twin_elastic import ELASTIC, FIFO, LAS, NONE, SRTF, Curve, Job, Rules, Twin

POLICIES = (FIFO, LAS, SRTF, ELASTIC)
#: Doubles well at first, then less; more GPUs draw more watts, less than twice as many.
CURVE = Curve({1: 100, 2: 190, 4: 300, 8: 360}, {1: 300, 2: 560, 4: 1000, 8: 1900})


def ask(rules: Rules, curves: Sequence[Curve], jobs: Sequence[Job]) -> Schedule:
    columns = {
        name: np.array([getattr(job, name) for job in jobs], np.int64)
        for name in ("submit", "run", "gpus", "curve", "priority")
    }
    settings = {name: value for name, value in asdict(rules).items() if name not in ("nodes", "gpus")}
    words = [
        {f"{name}{gpus}": value for name in ("rate", "watts") for gpus, value in getattr(curve, name).items()}
        for curve in curves
    ]
    nodes = [{"count": rules.nodes, "gpus": rules.gpus}]
    return simulate(Request("elastic", columns, settings, [{}], nodes, curves=words))


def rows_of(said: Schedule) -> list[tuple[int, ...]]:
    assert said.energy is not None and said.resizes is not None
    columns = (said.start, said.end, said.energy, said.resizes)
    return [*zip(*(column.tolist() for column in columns), strict=True)]


def any_curve(draw: random.Random) -> Curve:
    first, count = draw.choice((0, 0, 0, 1)), draw.randint(1, 4)
    sizes = [1 << i for i in range(first, first + count)]
    rates, watts = [draw.randint(50, 150)], [draw.randint(0, 400)]
    for _ in sizes[1:]:
        rates.append(max(1, rates[-1] * draw.randint(80, 210) // 100))
        watts.append(watts[-1] * draw.randint(90, 220) // 100)
    return Curve(dict(zip(sizes, rates, strict=True)), dict(zip(sizes, watts, strict=True)))


def any_workload(seed: int) -> tuple[Rules, list[Curve], list[Job]]:
    """Few values, so that submissions, ends, holds and sizes meet often."""
    draw = random.Random(seed)
    hold = draw.choice((2, 5, 30, 200))
    rules = Rules(
        0, draw.randint(1, 5), draw.choice((1, 2, 4, 8)), draw.choice((0, 1, hold - 1)), hold, draw.choice((1, 7, 60)),
        draw.choice((0, 300, 600, 800, 1000)), draw.choice((0, 55)), draw.choice((0, 7)), draw.choice((NONE, 0, 20)),
    )  # fmt: skip
    curves = [any_curve(draw) for _ in range(3)]
    jobs, scale = [], draw.choice((20, 300, 20000))
    for _ in range(draw.randint(0, 25)):
        curve = draw.choice((NONE, 0, 1, 2, 0, 1, 2))
        gpus = draw.choice((0, 1, 2, 3, 4, 6, 16)) if curve == NONE else draw.choice(list(curves[curve].rate))
        submit, run = draw.randint(0, 60) * draw.choice((1, scale // 10)), draw.randint(0, scale)
        jobs.append(Job(submit, run, gpus, curve, draw.choice((0, 0, 0, 1))))
    return rules, curves, jobs


#: Of sixteen faults that were planted every one shows within a hundred and ten workloads.
HUNDREDS = (*range(2), *(pytest.param(hundred, marks=pytest.mark.soak) for hundred in range(2, 10)))


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("hundred", HUNDREDS)
def test_the_program_and_its_twin_say_the_same_of_a_thousand_workloads(policy: int, hundred: int) -> None:
    for seed in range(100 * hundred, 100 * hundred + 100):
        rules, curves, jobs = any_workload(seed)
        rules = replace(rules, policy=policy)
        said, twin = ask(rules, curves, jobs), Twin(rules, curves, jobs)
        slowly = [(s.start, s.end, s.energy, s.resizes) for s in twin.simulate()]
        assert rows_of(said) == slowly, seed
        assert (said.facts["idle_millijoules"], said.facts["asleep_millijoules"]) == (twin.idle, twin.asleep), seed


@pytest.mark.parametrize("policy", POLICIES)
def test_they_say_the_same_where_far_more_jobs_wait_than_run(policy: int) -> None:
    for seed in range(10):
        rules, curves, _ = any_workload(seed)
        draw = random.Random(seed)
        kinds = [draw.randrange(3) for _ in range(150)]
        jobs = [
            Job(
                draw.randint(0, 300),
                draw.randint(1, 400),
                draw.choice(list(curves[kind].rate)),
                kind,
                draw.random() < 0.05,
            )
            for kind in kinds
        ]
        rules = replace(rules, policy=policy, nodes=1, gpus=8)
        twin = Twin(rules, curves, jobs)
        slowly = [(s.start, s.end, s.energy, s.resizes) for s in twin.simulate()]
        assert rows_of(ask(rules, curves, jobs)) == slowly, seed


#: A node of eight; joules are of jobs alone, and a restart takes a second.
RULES = Rules(ELASTIC, 1, 8, restart=1, hold=10, look=1)


@pytest.mark.parametrize(
    ("rules", "jobs", "start", "end", "resizes", "why"),
    [
        (RULES, [], [], [], [], "no jobs"),
        (RULES, [Job(5, 360, 1, 0)], [5], [105], [0], "alone: 8 GPUs, 3.6 times as fast"),
        (replace(RULES, efficiency=700), [Job(5, 360, 1, 0)], [5], [125], [0], "4 GPUs are used to 75 %, 8 to 45 %"),
        (replace(RULES, efficiency=1000), [Job(5, 360, 1, 0)], [5], [365], [0], "no second GPU is used in full"),
        (replace(RULES, policy=FIFO), [Job(5, 360, 1, 0)], [5], [365], [0], "what it asked for"),
        (replace(RULES, policy=FIFO), [Job(0, 10, 8, 0), Job(1, 10, 1, 0), Job(2, 10, 8)], [0, 10, 20], [10, 20, 30],
         [0] * 3, "nobody passes the first"),
        (replace(RULES, policy=FIFO), [Job(0, 10, 8), Job(1, 10, 8), Job(2, 10, 1, 0, 1)], [0, 20, 10], [10, 30, 20],
         [0] * 3, "high priority comes first"),
        (replace(RULES, policy=SRTF, hold=2), [Job(0, 100, 8, 0), Job(5, 10, 8, 0)], [0, 5], [111, 15], [1, 0],
         "the shorter one first; a restart on top"),
        (replace(RULES, policy=SRTF), [Job(0, 100, 8), Job(5, 10, 8, 0)], [0, 100], [100, 110], [0, 0],
         "without a curve nobody is stopped"),
        (replace(RULES, policy=LAS, hold=100), [Job(0, 1000, 8, 0), Job(5, 10, 8, 0)], [0, 505], [1011, 515], [1, 0],
         "after 450 s the first has had a GPU-hour; its turn ends with the next hold"),
        (RULES, [Job(0, 3600, 1, 0), Job(100, 50, 4)], [0, 100], [1011, 150], [2, 0],
         "a fixed job takes its block; the other one goes on with half, then with all"),
        (RULES, [Job(0, 50, 8), Job(1, 3600, 1, 0)], [0, 50], [50, 1050], [0, 0], "what fixed jobs leave"),
        (RULES, [Job(0, 0, 1, 0), Job(0, 9, 16), Job(0, 9, 0)], [NONE] * 3, [NONE] * 3, [0] * 3, "they never run"),
        (replace(RULES, nodes=2), [Job(0, 9, 9), Job(0, 9, 1)], [0, 9], [9, 18], [0, 0], "two whole nodes for nine"),
        (replace(RULES, policy=FIFO), [Job(0, 9, 5), Job(0, 9, 1)], [0, 9], [9, 18], [0, 0], "a block of 8 for 5"),
    ],
)  # fmt: skip
def test_a_schedule(
    rules: Rules, jobs: list[Job], start: list[int], end: list[int], resizes: list[int], why: str
) -> None:
    said = ask(rules, [CURVE], jobs)
    assert said.resizes is not None
    assert (said.start.tolist(), said.end.tolist(), said.resizes.tolist()) == (start, end, resizes), why


def test_energy_is_that_of_jobs_with_a_curve_and_of_gpus_that_nobody_held() -> None:
    """A job of 10 s on 4 of 8 GPUs; a node that nobody uses, which sleeps after 4 s; a fixed job nobody measured."""
    rules = Rules(FIFO, 2, 8, idle_watts=50, sleep_watts=5, sleep_after=4)
    said = ask(rules, [CURVE], [Job(0, 10, 4, 0), Job(0, 2, 4)])
    assert said.energy is not None and said.energy.tolist() == [10 * 1000, NONE]
    assert said.facts["idle_millijoules"] == 50 * (8 * 4 + 4 * 8)  # the node that sleeps, then half of the other
    assert said.facts["asleep_millijoules"] == 5 * 8 * 6


def test_jobs_of_high_priority_and_fixed_ones_run_as_if_nobody_were_elastic() -> None:
    for seed in range(100):
        rules, curves, jobs = any_workload(1000 + seed)
        before = rows_of(ask(replace(rules, policy=FIFO), curves, jobs))
        for policy in (LAS, SRTF, ELASTIC):
            after = rows_of(ask(replace(rules, policy=policy), curves, jobs))
            for job, was, found in zip(jobs, before, after, strict=True):
                assert was == found or not job.fixed, (policy, seed)
                ran, runs = ([at == NONE for at in one[:2]] for one in (was, found))
                assert ran == runs, ("whoever can run does, to its end", policy, seed)


@pytest.mark.parametrize(
    ("rules", "curves", "jobs", "why"),
    [
        (
            replace(RULES, gpus=6),
            [CURVE],
            [],
            "elastic: needs a single class of nodes whose number of GPUs is a power of two",
        ),
        (replace(RULES, restart=10), [CURVE], [], "elastic: a setting is out of range, or restart is not below hold"),
        (replace(RULES, policy=4), [CURVE], [], "elastic: a setting is out of range"),
        (replace(RULES, efficiency=1001), [CURVE], [], "elastic: a setting is out of range"),
        (RULES, [Curve({}, {})], [], "elastic: a curve has a gap or is empty"),
        (RULES, [Curve({1: 1, 4: 2}, {1: 1, 4: 2})], [], "elastic: a curve has a gap or is empty"),
        (RULES, [CURVE], [Job(0, 9, 3, 0)], "elastic: a curve has no entry for a job's number of GPUs"),
        (RULES, [CURVE], [Job(0, 9, 16, 0)], "elastic: a curve has no entry for a job's number of GPUs"),
        (RULES, [CURVE], [Job(0, 9, 1, 1)], "job 0: no curve of number 1"),
        (RULES, [Curve({1: 1, 2: 2**30}, {1: 0, 2: 0})], [Job(0, 2**31 - 1, 2, 0)], "elastic: the jobs run too long"),
    ],
)
def test_what_cannot_be_simulated_is_refused(rules: Rules, curves: list[Curve], jobs: list[Job], why: str) -> None:
    with pytest.raises(AdminkitError, match=why):
        ask(rules, curves, jobs)


def test_no_number_within_bounds_overflows() -> None:
    """The sanitizers run this, too."""
    curve = Curve({1: 2**30, 2: 2**30}, {1: 2**31 - 1, 2: 2**31 - 1})
    rules = Rules(ELASTIC, 1, 2, 2**31 - 2, 2**31 - 1, 2**31 - 1, 0, 2**31 - 1, 2**31 - 1, 2**53)
    jobs = [Job(at, 2**31 - 1, 1, 0) for at in (-(2**53), 2**53) for _ in range(5)]
    said = ask(rules, [curve], jobs)
    assert (said.start != NONE).all() and said.facts["idle_millijoules"] == 2**63 - 1
