"""How a search proposes what to try: by what its pick does to the mean wait of the held-out days, from as many runs.

Plain random search gives every combination twenty replicates. Successive halving, which is what `adminkit tune` does,
draws at random, too, and gives replicates to the better ones. Optuna's TPE proposes each combination after the results
of those before, with two replicates each; its three best get twenty. Each has the same evaluations, and its pick is
what adminkit.tune.race.best says. Where there is no pick, the effect is 0: nothing is changed. No ratio is judged: what
is printed is why `adminkit tune` proposes as it does. Sides are compared by the differences of their effects on the
same site (Student's t over sites).
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from adminkit.recommend.menu import Offer
from adminkit.simulate.answer import Effort
from adminkit.simulate.change import Sources
from adminkit.stats.student import difference
from adminkit.tune.candidates import Choice
from adminkit.tune.engine import Engine
from adminkit.tune.race import SEEDS, Goal, Round, Standing, best, rounds_of, standing_of
from adminkit.tune.search import Question, question, search
from tests.bench import pairs, rival_tune
from tests.simulate.cases import case
from tests.tune.spaces import space

EVALUATIONS = 240
OURS = "successive halving"
RANDOM = "plain random search"
#: Sites, each with a search of its own seed by each side.
SITES = 16
DAY = 86_400
LEVERS = space(
    ("scheduler.bf_window", (DAY // 2, DAY, 2 * DAY, 4 * DAY)),
    ("scheduler.bf_max_job_test", (20, 50, 100, 500)),
    ("scheduler.bf_max_job_user", (1, 3, 10)),
    ("scheduler.bf_resolution", (60, 300, 600)),
    ("scheduler.bf_min_age_reserve", (3600, 6 * 3600)),
    ("scheduler.priority_weight_age", (100, 10_000)),
    ("scheduler.priority_weight_job_size", (100, 1000, 10_000)),
    ("scheduler.priority_favor_small", (1,)),
)
#: Backfill sees little: there is something to be found.
TODAY = {
    "bf_window": 6 * 3600, "bf_max_job_test": 5, "priority_weight_age": 1000, "priority_max_age": 7 * DAY,
    "bf_interval": 300,
}  # fmt: skip
Pick = Callable[[Question, Effort], "Standing | None"]


def run(rows: int, folder: Path) -> list[pairs.Ratio]:
    sides: dict[str, Pick] = {
        RANDOM: _plain,
        OURS: lambda asked, effort: _searched(asked, effort, rounds_of(EVALUATIONS)),
    }
    if (python := rival_tune.install(folder / "optuna")) is not None:
        sides[f"Optuna {rival_tune.VERSION}, TPE"] = lambda asked, effort: _proposed(asked, effort, python)
    print(f"  change of the mean wait on the held-out days, {EVALUATIONS} evaluations, {SITES} made sites:", flush=True)
    effects = {name: list[float]() for name in sides}
    for number in range(1, SITES + 1):
        for name, pick in sides.items():
            effects[name].append(_effect(pick, number))
        print(
            f"  site {number}: " + ", ".join(f"{name} {found[-1]:+.1%}" for name, found in effects.items()), flush=True
        )
    for line in compared(effects):
        print(f"  {line}", flush=True)
    return []


def compared(effects: Mapping[str, Sequence[float]]) -> Iterator[str]:
    """The mean effect of each side, and its paired difference to the search that `adminkit tune` makes; last, whether
    that search beats plain random search.
    """
    for name, found in effects.items():
        line = f"{name}: {statistics.mean(found):+.1%}"
        apart = difference([one - ours for one, ours in zip(found, effects[OURS], strict=True)])
        if name != OURS and apart is not None:
            line += f"; {100 * apart.mean:+.1f} points to ours (95 % {100 * apart.low:+.1f} to {100 * apart.high:+.1f})"
        yield line
    apart = difference([one - ours for one, ours in zip(effects[RANDOM], effects[OURS], strict=True)])
    if apart is not None:
        word = "beats" if apart.low > 0 else "is worse than" if apart.high < 0 else "is not shown to beat"
        yield f"adminkit tune {word} plain random search with the same budget"


def site(seed: int, jobs: int = 1500, days: int = 90, nodes: int = 16) -> Sources:
    """Jobs of one to sixteen nodes whose limits are far above what they need, at a load of 85 %."""
    rng = np.random.default_rng(seed)
    submit = np.sort(rng.integers(0, days * DAY, jobs))
    size = rng.choice([1, 2, 4, 8, 16], jobs, p=[0.55, 0.2, 0.13, 0.08, 0.04])
    run = rng.gamma(0.7, 1.0, jobs)
    run = np.maximum(run * days * DAY * nodes * 0.85 / (run * size).sum(), 60).astype(int)
    limit = np.minimum(np.ceil(run * rng.uniform(1.2, 8, jobs) / 3600).astype(int) * 3600, 14 * DAY)
    limit = np.maximum(limit, (run // 3600 + 1) * 3600)
    columns = {"nodes": size.tolist(), "cpus": size.tolist()}
    parts = ([{"max_limit": 30 * DAY}], [{"count": nodes, "cpus": 1}])
    made = case(
        submit.tolist(), run.tolist(), limit.tolist(), size.tolist(), users=rng.integers(0, 12, jobs).tolist(),
        model="slurm", settings=dict(TODAY), columns=columns, site=parts,
    )  # fmt: skip
    return Sources(made, Path(), Offer())


def _effect(pick: Pick, seed: int) -> float:
    """What the pick does to the mean wait of the held-out days, as a share of today's; 0 where there is no pick."""
    asked, effort = question(site(seed), LEVERS, Goal()), Effort(20, seed)
    found = pick(asked, effort)
    if found is None:
        return 0.0
    engine = Engine(LEVERS, effort, asked.held, 1, first=SEEDS[-1])
    outcomes = engine.evaluate(0, [(found.choice, 0)], SEEDS[-1])[0]
    return standing_of(found.choice, outcomes, asked.goal, asked.held.frame).objective.relative or 0.0


def _searched(asked: Question, effort: Effort, rounds: Sequence[Round]) -> Standing | None:
    return search(asked, effort, rounds).pick


def _plain(asked: Question, effort: Effort) -> Standing | None:
    return _searched(asked, effort, [Round(0, EVALUATIONS // SEEDS[-1], SEEDS[-1])])


def _proposed(asked: Question, effort: Effort, python: Path) -> Standing | None:
    """The pick of what TPE proposes: two replicates each, then twenty of the three best that break nothing clearly."""
    engine = Engine(LEVERS, effort, asked.train, 1)

    def standing(choice: Choice, seeds: int) -> Standing:
        return standing_of(choice, engine.evaluate(0, [(choice, 0)], seeds)[0], asked.goal, asked.train.frame)

    tried: dict[Choice, Standing] = {}
    trials = (EVALUATIONS - 3 * (SEEDS[-1] - 2)) // 2
    with rival_tune.Proposer(python, [len(lever.values) for lever in LEVERS.levers], effort.seed, trials) as proposer:
        for places in proposer:
            choice = tuple(None if place == 0 else lever.values[place - 1]
                           for place, lever in zip(places, LEVERS.levers, strict=True))  # fmt: skip
            if all(value is None for value in choice):
                proposer.tell(0.0, 0)
                continue
            tried[choice] = standing(choice, 2)
            proposer.tell(tried[choice].objective.change, len(tried[choice].clearly_broken))
    able = sorted((one for one in tried.values() if not one.clearly_broken), key=lambda one: one.objective.change)
    return best([standing(one.choice, SEEDS[-1]) for one in able[:3]])
