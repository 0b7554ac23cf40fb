"""Jobs of GPUs that shrink and grow, under four policies: how long they take, what they draw, and how sure that is.

The core's model `elastic` schedules; docs/simulate-elastic.md has its rules. Every policy gets the same jobs, and in a
replicate the same shaken submissions.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal, get_args

from adminkit.errors import AdminkitError
from adminkit.simulate.core import NONE, Request, simulate
from adminkit.simulate.elastic_input import Workload
from adminkit.simulate.luck import SHAKE, Luck
from adminkit.stats.student import Difference, difference, holm

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Column = NDArray[np.int64]

Policy = Literal["fifo", "las", "srtf", "elastic"]
#: In the order of the core's numbers.
POLICIES: Final[tuple[Policy, ...]] = get_args(Policy)
#: The share of GPU-hours that must be able to change.
LEAST_ELASTIC: Final = 0.1
#: Thousandths of parallel efficiency that are tried before the bisection.
GRID: Final = range(0, 1001, 100)
LEVEL: Final = 0.05
#: Changes of the mean completion time below this are none, seconds.
SMALLEST: Final = 0.5
NO_DIFFERENCE: Final = "no difference"
SHORTER: Final = "shorter"
LONGER: Final = "longer"


@dataclass(frozen=True, slots=True)
class Machine:
    """Nodes that are alike, each with the same power of two of GPUs."""

    nodes: int
    gpus: int

    @property
    def name(self) -> str:
        """The policy as it is typed."""
        return f"{self.nodes}x{self.gpus}"

    @property
    def size(self) -> int:
        """All its GPUs."""
        return self.nodes * self.gpus


@dataclass(frozen=True, slots=True)
class Rules:
    """What every policy is bound to: seconds, and watts of one GPU."""

    restart: int = 120
    hold: int = 3600
    look: int = 60
    idle_watts: float = 55.0
    sleep_watts: float = 10.0
    sleep_after: int | None = None


@dataclass(frozen=True, slots=True)
class Measures:
    """One schedule's measures. Seconds, joules; None without such a job. Energy is that of jobs with a curve and of
    GPUs that nobody held, from the first submission to the last end.
    """

    jobs: int
    mean: float
    p95: float
    changing: float | None  # the mean of jobs whose GPUs may change
    energy: float
    idle: float
    makespan: int
    resizes: int
    high_wait: float | None  # the mean, of high priority
    high_later: int | None  # of them, who started later than under fifo


@dataclass(frozen=True, slots=True)
class Against:
    """The mean completion time beside that of another policy, over the replicates. `times`: that one's / this one's."""

    other: Policy
    times: float
    found: Difference
    verdict: str


@dataclass(frozen=True, slots=True)
class Row:
    """One policy on one machine. `whole`: on the submissions as they were; `against`: the policies before it."""

    machine: Machine
    policy: Policy
    efficiency: float | None
    whole: Measures
    against: Sequence[Against] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """What came out. `tried`: for each machine the efficiencies that were tried, with what they gave."""

    rows: Sequence[Row]
    tried: Mapping[Machine, Mapping[int, Measures]]
    budget: Mapping[Machine, float]  # joules
    kept: Mapping[Machine, bool]  # whether some efficiency keeps the budget


def refuse_rigid(jobs: Workload) -> float:
    """The share of GPU-hours of jobs whose GPUs may change. AdminkitError where that is too little to answer."""
    every = changing = 0
    for job in range(len(jobs)):
        work = jobs.run[job] * jobs.gpus[job]
        every += work
        changing += work if jobs.changes(job) else 0
    share = changing / every
    if share < LEAST_ELASTIC:
        raise AdminkitError(
            f"{share:.1%} of the GPU-hours are elastic, less than {LEAST_ELASTIC:.0%}: there is nothing to compare",
            "map more names to curves with --map-names; a job is elastic if its curve includes the job's GPUs",
        )
    return share


def load(jobs: Workload, machine: Machine) -> float | None:
    """GPU-seconds that are asked for, as a share of what the machine has from the first to the last submission."""
    span = max(jobs.submit_time) - min(jobs.submit_time)
    asked = sum(run * gpus for run, gpus in zip(jobs.run, jobs.gpus, strict=True))
    return asked / (span * machine.size) if span else None


class Runs:
    """Schedules of one workload on one machine, each made once."""

    def __init__(self, jobs: Workload, machine: Machine, rules: Rules) -> None:
        import numpy as np

        self.jobs, self.machine, self.rules = jobs, machine, rules
        self.high = np.array(jobs.high, bool)
        self.changing = np.array([jobs.changes(job) for job in range(len(jobs))], bool)
        self.curve = np.array(jobs.curve, np.int64)
        self.size, self.run = np.array(jobs.gpus, np.int64), np.array(jobs.run, np.int64)
        self._fifo: Column | None = None

    def submit(self, seed: int) -> Column:
        """The submissions as they were for the seed 0; else moved by up to a minute."""
        import numpy as np

        submit = np.array(self.jobs.submit_time, np.int64)
        return submit + Luck(seed).draw("shake").integers(0, SHAKE + 1, len(submit)) if seed else submit

    def measures(self, policy: Policy, efficiency: int = 0, seed: int = 0) -> Measures:
        """Measure the schedule of `policy`; `high_later` is known once fifo's was made, and only for the seed 0."""
        import numpy as np

        rules, submit = self.rules, self.submit(seed)
        settings = {
            "policy": POLICIES.index(policy),
            "restart": rules.restart,
            "hold": rules.hold,
            "look": rules.look,
            "efficiency": efficiency,
            "idle_watts": round(1000 * rules.idle_watts),
            "sleep_watts": round(1000 * rules.sleep_watts),
            "sleep_after": NONE if rules.sleep_after is None else rules.sleep_after,
        }
        columns = {
            "submit": submit, "run": self.run, "gpus": self.size, "curve": self.curve,
            "priority": self.high.astype(np.int64),
        }  # fmt: skip
        nodes = [{"count": self.machine.nodes, "gpus": self.machine.gpus}]
        curves = [curve.fields() for curve in self.jobs.curves]
        made = simulate(Request("elastic", columns, settings, [{}], nodes, curves=curves))
        assert made.energy is not None and made.resizes is not None
        ran = made.start >= 0
        if not ran.any():
            raise AdminkitError(f"no job fits {self.machine.name}", "name a larger machine with --nodes")
        if policy == "fifo" and not seed:
            self._fifo = made.start
        took, high, changing = made.end - submit, ran & self.high, ran & self.changing
        drawn = int(made.energy[made.energy > 0].sum())
        idle = made.facts["idle_millijoules"] + made.facts["asleep_millijoules"]
        return Measures(
            int(ran.sum()),
            float(took[ran].mean()),
            float(np.quantile(took[ran], 0.95)),
            float(took[changing].mean()) if changing.any() else None,
            (drawn + idle) / 1000,
            idle / 1000,
            int(made.end.max() - submit[ran].min()),
            int(made.resizes.sum()),
            float((made.start - submit)[high].mean()) if high.any() else None,
            int((made.start > self._fifo)[high].sum()) if high.any() and self._fifo is not None and not seed else None,
        )


def best_efficiency(
    runs: Runs, budget: float, spread: Callable[..., list[Measures]]
) -> tuple[int, dict[int, Measures]]:
    """The thousandths of efficiency with the shortest mean completion time within the budget, of all that were tried:
    a grid, and the bisection of its first step that crosses the budget. Without any, the one that draws least.
    """
    tried = dict(zip(GRID, spread([("elastic", one, 0) for one in GRID]), strict=True))
    outside = [one for one in GRID if tried[one].energy > budget]
    inside = [one for one in GRID if tried[one].energy <= budget]
    crossing = next(((one - 100, one) for one in inside if one - 100 in outside), None)
    while crossing and crossing[1] - crossing[0] > 1:
        middle = sum(crossing) // 2
        tried[middle] = runs.measures("elastic", middle)
        crossing = (crossing[0], middle) if tried[middle].energy <= budget else (middle, crossing[1])
    within = [one for one in tried if tried[one].energy <= budget]
    if not within:
        return min(tried, key=lambda one: tried[one].energy), tried
    return min(within, key=lambda one: (tried[one].mean, one)), tried


def beside(other: Policy, theirs: Sequence[float], ours: Sequence[float]) -> Against:
    """Paired by the replicates, two at least; the verdict comes later."""
    found = difference([after - before for before, after in zip(theirs, ours, strict=True)])
    assert found is not None
    return Against(other, math.fsum(theirs) / math.fsum(ours), found, NO_DIFFERENCE)


def judged(rows: Sequence[Row]) -> list[Row]:
    """Give verdicts that hold together for all comparisons (Holm)."""
    ps = iter(holm([one.found.p for row in rows for one in row.against]))
    return [replace(row, against=[_verdict(one, next(ps)) for one in row.against]) for row in rows]


def _verdict(one: Against, p: float) -> Against:
    if p >= LEVEL or abs(one.found.mean) < SMALLEST:
        return one
    return replace(one, verdict=SHORTER if one.found.mean < 0 else LONGER)


def answer(
    jobs: Workload,
    machines: Sequence[Machine],
    rules: Rules,
    policies: Sequence[Policy],
    budget: float | None,
    replicates: int,
    seed: int,
    cores: int | None,
    tick: Callable[[int, int], None] = lambda done, total: None,
) -> Answer:
    """Every policy on every machine. `budget` in joules, None: what fifo draws."""
    rows: list[Row] = []
    tried: dict[Machine, Mapping[int, Measures]] = {}
    budgets, kept = {}, {}
    total = len(machines) * (replicates + 1)
    done = 0
    with ThreadPoolExecutor(cores or len(os.sched_getaffinity(0))) as pool:
        for machine in machines:
            runs = Runs(jobs, machine, rules)

            def spread(asked: Sequence[tuple[Policy, int, int]], runs: Runs = runs) -> list[Measures]:
                return list(pool.map(lambda one: runs.measures(*one), asked))

            whole: dict[Policy, Measures] = {"fifo": runs.measures("fifo")}
            budgets[machine] = whole["fifo"].energy if budget is None else budget
            efficiency = 0
            if "elastic" in policies:
                efficiency, tried[machine] = best_efficiency(runs, budgets[machine], spread)
                whole["elastic"] = tried[machine][efficiency]
                kept[machine] = whole["elastic"].energy <= budgets[machine]
            for policy in policies:
                if policy not in whole:
                    whole[policy] = runs.measures(policy)
            means: dict[Policy, list[float]] = {policy: [] for policy in whole}
            tick(done := done + 1, total)
            for number in range(seed, seed + replicates):
                asked = [(policy, efficiency, number) for policy in whole]
                for policy, made in zip(whole, spread(asked), strict=True):
                    means[policy].append(made.mean)
                tick(done := done + 1, total)
            shown = [policy for policy in POLICIES if policy in whole]
            for policy in shown:
                used = efficiency / 1000 if policy == "elastic" else None
                against = [beside(other, means[other], means[policy]) for other in shown[: shown.index(policy)]]
                rows.append(Row(machine, policy, used, whole[policy], against))
    return Answer(judged(rows), tried, budgets, kept)
