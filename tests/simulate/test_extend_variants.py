"""What other keys of [extend] do with the days, in the simulator."""

from __future__ import annotations

import numpy as np
import pytest

from tests.extend_real import runs
from tests.extend_real.arms import DEFAULT, Group, Rule
from tests.extend_real.measure import group
from tests.extend_real.simulated import all_days, all_waits, simulated
from tests.extend_real.variants import VARIANTS, Outcome, floor, kept, outcome
from tests.extend_real.workloads import RISKS, SEEDS


def test_every_rule_was_simulated_at_every_risk() -> None:
    assert set(kept()) == {(risk, name) for risk in RISKS for name in VARIANTS}


@pytest.mark.parametrize("risk", RISKS)
def test_what_was_kept_of_the_rule_that_ran_is_what_the_simulator_says(risk: int) -> None:
    named = next(name for name, rule in VARIANTS.items() if rule == DEFAULT)
    found, made = kept()[risk, named], outcome(risk, DEFAULT)
    assert flat(found) == pytest.approx(flat(made), abs=1e-6)
    days = group(runs.load(), Group(risk, "on", SEEDS))
    assert (made.lost, made.others) == (all_days(days)[1], all_waits(days)[1])


def flat(of: Outcome) -> list[float]:
    return [*of.lost, *of.fit, *of.others, *of.everybody, of.left, of.given]


@pytest.mark.parametrize("risk", RISKS)
def test_no_rule_passes_the_bound_by_more_than_chance(risk: int) -> None:
    assert all(of.lost[0] > floor(risk) for (at, _), of in kept().items() if at == risk)


@pytest.mark.parametrize(
    ("rule", "why"),
    [(Rule(most=1.0), "no limit may grow"), (Rule(times=0), "no job may be given more time")],
)
def test_a_rule_that_gives_nothing_changes_nothing(rule: Rule, why: str) -> None:
    for old, new in zip(simulated(2, 30, None), simulated(2, 30, rule), strict=True):
        assert not new.raised.any() and new.given == 0 and new.lost == old.lost, why
        assert np.array_equal(new.waits, old.waits), why
