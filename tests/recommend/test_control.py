"""The promised risk holds on traces that nobody tuned on, and what steers it."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest

from adminkit.demo.generate import jobs
from adminkit.recommend.backtest import ROUNDED, SAFE, Backtest, Score, backtest
from adminkit.recommend.control import Control, Steered, Steering, control
from adminkit.recommend.menu import Offer
from adminkit.recommend.online import online
from adminkit.recommend.predict import Predictor, Rule, needed
from adminkit.stats.runs import Run, latest, runs
from adminkit.trace.connect import reader
from tests.recommend.histories import ADA, history, run
from tests.recommend.traces import bursty, shifted
from tests.support.builders import HOUR, MONDAY, make_trace

RULE = Rule()
RISKS = (0.05, 0.1, 0.2)
#: Seeds of drawn traces: none of them was looked at when the parameters were chosen.
FRESH = (11, 12)


def score(tested: Backtest, method: str) -> Score:
    return next(one for one in tested.scores if one.method == method)


def holds(found: list[Run], risk: float) -> None:
    """At most a point above the promise in the whole, five in each tenth; nobody loses the recommendation they had."""
    tested = backtest(found, Offer(risk=risk))
    for method in (SAFE, ROUNDED):
        one = score(tested, method)
        worst = one.worst_tenth()
        assert one.over / tested.runs <= risk + 0.01, method
        assert worst is not None and worst <= risk + 0.05, method
    assert score(tested, SAFE).given >= given_unsteered(found, risk)


def given_unsteered(found: list[Run], risk: float) -> int:
    predictor, given = Predictor(Rule(risk=risk)), 0
    for has_ended, one in online(found):
        if has_ended:
            predictor.ended(one)
        elif one.kind.req_limit is not None:
            given += predictor.predict(one.kind).safe is not None
    return given


@pytest.mark.parametrize(
    ("drawn", "seed", "risk"),
    [
        pytest.param(drawn, seed, risk, marks=() if (seed, risk) == (FRESH[0], 0.1) else pytest.mark.soak)
        for drawn in (shifted, bursty)
        for seed in FRESH
        for risk in RISKS
    ],
)
def test_the_promise_holds_on_a_drawn_trace(drawn: Callable[[int, int], list[Run]], seed: int, risk: float) -> None:
    """Trap: of a trace of 20,000 one array of 200 is a tenth of a tenth, and no controller sees it come."""
    holds(drawn(seed, 60_000), risk)


@pytest.fixture(scope="module")
def look_alike(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    path = make_trace(tmp_path_factory.mktemp("demo") / "t.db", jobs())
    with reader(path) as db:
        return list(runs(db, checkpoint_code=85))


@pytest.mark.soak
@pytest.mark.parametrize("risk", RISKS)
def test_the_promise_holds_on_the_look_alike(look_alike: list[Run], risk: float) -> None:
    holds(look_alike, risk)


def test_what_is_answered_live_holds_it_too() -> None:
    """The control of the last 20,000 runs, made afresh every 2500 runs, steers as the one that saw all."""
    found = shifted(FRESH[0], 20_000)
    predictor, before, steered = Predictor(RULE), list[Run](), Control(RULE)
    over = tried = 0
    for has_ended, one in online(found):
        if has_ended:
            predictor.ended(one)
            before.append(one)
            continue
        if tried % 2500 == 0:
            steered = control([sorted(before[-20_000:], key=lambda run: run.submit_time)], RULE)
        tried += 1
        safe = predictor.predict(one.kind, steered.risk(*one.kind[:2])).safe
        over += safe is not None and needed(one) > safe
    assert over / tried <= RULE.risk + 0.01


def outcome(steered: Control, number: int, need: int, safe: int = HOUR, state: str = "COMPLETED") -> None:
    one = run(number, need, state)
    steered.submitted(one, safe)
    steered.ended(one)


def test_a_limit_that_was_too_short_lowers_the_risk_of_that_user_most_and_of_the_others_a_little() -> None:
    steered = Control(RULE)
    outcome(steered, 0, 2 * HOUR)
    assert steered.risk("aaic", "ada") < steered.risk("aaic", "bob") < RULE.risk
    assert steered.risk("elsewhere", "ada") == RULE.risk, "another cluster"
    assert steered.risk(None, "ada") == steered.risk("aaic", "ada"), "no cluster said: the least of all"


def test_limits_that_were_long_enough_raise_it_up_to_a_bound() -> None:
    steered, seen = Control(RULE), []
    for number in range(3000):
        outcome(steered, number, HOUR - 60)
        seen.append(steered.risk("aaic", "ada"))
    assert seen == sorted(seen) and seen[0] > RULE.risk
    assert seen[-1] == pytest.approx(RULE.risk * 4)
    for number in range(3000):
        outcome(steered, number, 2 * HOUR)
    assert steered.risk("aaic", "ada") == pytest.approx(RULE.risk * 0.05)


@pytest.mark.parametrize("risk", [0.2, 0.5])
def test_no_limit_is_below_the_expected_time(risk: float) -> None:
    steered = Control(Rule(risk=risk))
    for number in range(3000):
        outcome(steered, number, HOUR - 60)
    assert steered.risk("aaic", "ada") <= 0.5 + 1e-9


def test_a_run_that_was_cut_off_before_its_limit_says_nothing() -> None:
    steered = Control(RULE)
    outcome(steered, 0, 600, state="CANCELLED")
    outcome(steered, 1, 600, state="PREEMPTED")
    assert steered.risk("aaic", "ada") == RULE.risk
    outcome(steered, 2, 2 * HOUR, state="CANCELLED")
    assert steered.risk("aaic", "ada") < RULE.risk, "one that was cut off beyond it needed more than it"


def test_nobody_is_given_more_than_they_asked_for_so_their_own_limit_is_no_failure_of_ours() -> None:
    steered, short = Control(RULE), run(0, HOUR, "TIMEOUT", ADA._replace(req_limit=HOUR))
    steered.submitted(short, 5 * HOUR)
    steered.ended(short)
    assert steered.risk("aaic", "ada") > RULE.risk


def test_what_was_submitted_before_the_first_outcome_is_one_wave_of_some_weight() -> None:
    """A thousand tasks that all fail weigh as much as 32 runs one after the other, in whatever order they end."""

    def after(waves: int, tasks: int) -> float:
        steered = Control(RULE, Steering(user_step=0.0, rate_gain=0.0, site_step=0.01))
        for wave in range(waves):
            together = [run(wave, 2 * HOUR) for _ in range(tasks)]
            for one in together:
                steered.submitted(one, HOUR)
            for one in reversed(together):
                steered.ended(one)
        return math.log(steered.risk("aaic", "ada") / RULE.risk)

    assert after(1, 1024) == pytest.approx(after(32, 1))
    assert after(2, 100) == pytest.approx(2 * after(1, 100))


def test_a_loop_over_hours_is_one_wave_as_an_array_is() -> None:
    """The second run of 50 is submitted when no outcome of the first is known: all 50 are one decision."""
    steered = Control(RULE)
    loop = [run(0, 200 * HOUR, submit_time=MONDAY + n * HOUR, kind=ADA._replace(req_limit=None)) for n in range(50)]
    for has_ended, one in online(loop):
        if has_ended:
            steered.ended(one)
        else:
            steered.submitted(one, HOUR)
    array = Control(RULE)
    together = [run(0, 200 * HOUR, kind=ADA._replace(req_limit=None)) for _ in range(50)]
    for one in together:
        array.submitted(one, HOUR)
    for one in together:
        array.ended(one)
    assert RULE.risk > steered.risk("aaic", "ada") == array.risk("aaic", "ada")


def test_a_run_without_a_recommendation_and_one_never_seen_change_nothing() -> None:
    steered, one = Control(RULE), run(0, 2 * HOUR)
    steered.submitted(one, None)
    steered.ended(one)
    steered.ended(run(1, 2 * HOUR))
    assert steered.risk("aaic", "ada") == RULE.risk


def test_a_smaller_risk_than_any_run_shows_stretches_the_longest() -> None:
    steered = Steered(RULE)
    for has_ended, one in online(history([HOUR] * 20)):
        if has_ended:
            steered.ended(one)
        else:
            steered.submitted(one)
    plain, stretched = (steered.next(ADA, risk).safe or 0 for risk in (RULE.risk, RULE.risk * 0.05))
    assert 3960 == plain < stretched <= 4 * plain


def test_the_state_is_a_function_of_the_runs() -> None:
    found = shifted(1, 2000)
    assert control([found], RULE).risk("aaic", "user1") == control([list(found)], RULE).risk("aaic", "user1")


def test_the_last_runs_of_a_cluster_are_everybodys_by_submission(tmp_path: Path) -> None:
    from tests.support.builders import job

    made = []
    for n in range(1, 31):
        at = {"submit_time": MONDAY - n * 60, "start_time": MONDAY + n * HOUR, "end_time": MONDAY + n * HOUR + 600}
        made.append(job(n, user=("ada", "bob")[n % 2], elapsed=600, cluster=("aaic", "other")[n % 3 == 0], **at))
    with reader(make_trace(tmp_path / "t.db", made)) as db:
        last = list(latest(db, "aaic", checkpoint_code=85, many=5))
        assert [one.submit_time for one in last] == sorted(one.submit_time for one in last)
        assert sorted((one.end_time - MONDAY) // HOUR for one in last) == [23, 25, 26, 28, 29]
        assert {one.kind.user for one in last} == {"ada", "bob"}
        assert len(list(latest(db, "aaic", checkpoint_code=85))) == 20
