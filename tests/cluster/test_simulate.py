"""The simulator beside this host's slurmctld: half a minute of jobs, and in `make soak` all six workloads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.cluster.harness.listing import Listing
from tests.cluster.harness.machine import release
from tests.simulate_real import compare, page
from tests.simulate_real.cluster import shaped
from tests.simulate_real.compare import Outcome, outcome, simulated_outcomes, tau
from tests.simulate_real.drive import drive
from tests.simulate_real.runs import Run
from tests.simulate_real.workloads import SHORT, WORKLOADS, Workload

pytestmark = pytest.mark.cluster

#: Clusters side by side: their jobs sleep.
AT_ONCE = 5
TIMES = 3


def run(what: Workload) -> Run:
    with shaped(what.shape) as cluster:
        said = cluster.ask("slurmctld", "-V").split()[-1]
        head = {"workload": what.name, "digest": what.digest, "release": said, "commit": "", "date": ""}
        return drive(cluster, what, head)


@pytest.fixture(scope="module")
def short(outside: Listing) -> Run:
    return run(SHORT)


def near(real: Outcome, simulated: Outcome) -> bool:
    """The bars of one run of forty jobs, where a second is much. Six runs were within half of them."""
    return (
        abs(simulated.makespan - real.makespan) <= 0.25 * real.makespan
        and abs(simulated.wait - real.wait) <= 0.33 * real.wait
        and tau(real.start, simulated.start, compare.TIED) >= 0.75
    )


def test_half_a_minute_of_jobs_starts_as_the_simulator_says(short: Run) -> None:
    real, (simulated,) = outcome(short), simulated_outcomes(short, times=1)
    said = f"{real.makespan} s, mean wait {real.wait:.1f} s; simulated {simulated.makespan} s, {simulated.wait:.1f} s"
    print(said, f"tau {tau(real.start, simulated.start, compare.TIED):.3f}")
    assert near(real, simulated), said


def test_a_simulator_without_backfill_would_not_pass(short: Run) -> None:
    (without,) = simulated_outcomes(short, times=1, backfill=0)
    assert not near(outcome(short), without)


@pytest.mark.soak
def test_all_workloads_are_as_near_as_real_runs_are_to_each_other() -> None:
    chosen = [what for what in WORKLOADS if what.oldest <= release()]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        runs = list(pool.map(run, chosen * TIMES))
    found = compare.compare_all(runs)
    signs = compare.signs(found)
    print(page.text(found, signs))
    assert all(one.within for one in found)
    assert all(one.right for one in signs)
