"""What is held out: the search cannot see it, and it is not counted before its time."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from adminkit.errors import AdminkitError
from adminkit.simulate.core import Request, Schedule, simulate
from adminkit.simulate.outcome import summary
from adminkit.tune.race import Goal
from tests.simulate.cases import case
from tests.tune.months import DAY, asked, later_changed, months

THIRD = 60 * DAY


def test_the_cut_is_a_whole_day_and_the_last_third_comes_after_it() -> None:
    found = asked()
    train, held = found.train.sources.case, found.held
    assert train.column("submit").max() < THIRD == held.window[0]
    assert held.sources.case.count == months().count
    assert (found.train.frame.days, held.frame.days) == (60, 31)
    assert found.train.window[1] == THIRD


@pytest.mark.parametrize(("share", "days"), [(Fraction(1, 2), 45), (Fraction(2, 5), 54)])
def test_the_share_is_that_of_the_file(share: Fraction, days: int) -> None:
    assert asked(held_out=share).held.window[0] == days * DAY


def test_a_job_that_was_submitted_later_changes_nothing_of_what_is_searched() -> None:
    one, other = (asked(found).train for found in (months(), later_changed(months(), THIRD)))
    assert list(one.sources.case.request.to_bytes()) == list(other.sources.case.request.to_bytes())
    assert one.groups.to_bytes() == other.groups.to_bytes()
    assert list(asked(later_changed(months(), THIRD)).held.sources.case.request.to_bytes()) != list(
        asked().held.sources.case.request.to_bytes()
    )


def test_only_the_jobs_of_the_last_days_are_counted_and_the_machine_is_not_empty_when_they_come() -> None:
    held = asked().held
    jobs, schedule = held.sources.case, simulate(held.sources.case.request)
    made = summary((jobs, schedule), (jobs, schedule), held.groups, held.window)
    late = jobs.column("submit") >= THIRD
    wait = (schedule.start - jobs.column("submit"))[late]
    sums = made["parts"]["all"]
    assert (sums["jobs"], sums["wait"]) == ([late.sum()], [wait.sum()])
    alone = simulate(replace(jobs.request, jobs={name: column[late] for name, column in jobs.request.jobs.items()}))
    assert (alone.start - jobs.column("submit")[late]).sum() < wait.sum()


def test_the_days_add_up_to_the_whole() -> None:
    train = asked().train
    jobs, schedule = train.sources.case, simulate(train.sources.case.request)
    made = summary((jobs, schedule), (jobs, schedule), train.groups, train.window)
    assert set(made["days"]) == {"all", *train.frame.parts}
    for part in train.frame.parts:
        assert sum(made["days"][part]["wait"]) == pytest.approx(sum(made["parts"][part]["wait"]))
    first = jobs.column("submit") < DAY
    assert made["days"]["all"]["jobs"][0] == first.sum()


def test_users_are_in_groups_of_ten_by_hours() -> None:
    codes, names = asked().train.groups.parts["decile"]
    jobs = asked().train.sources.case
    hours = np.bincount(jobs.facts["user"], jobs.facts["needs"] * jobs.column("procs"))
    assert names[0] == "1 of 10" and len(names) == 10
    few, most = (hours[jobs.facts["user"][codes == place]] for place in (0, 9))
    assert few.max() < most.min()


def test_promised_starts_are_those_of_today_on_both_sides() -> None:
    """A change that delays jobs beyond what today promised them is seen, whatever it promises itself."""
    train = asked().train
    jobs = train.sources.case
    today = simulate(jobs.request)
    assert today.promised is not None

    def late(shift: int, promise: int) -> list[int]:
        then = replace(today, start=today.start + shift, promised=today.promised + promise)
        found: list[int] = summary((jobs, today), (jobs, then), train.groups, train.window)["late"]
        return found

    promised = int((today.promised != -1).sum())
    assert promised > 50
    assert late(0, 0) == [0, 0], "with their own limits, nobody starts later than promised"
    assert late(10 * DAY, 20 * DAY) == [0, promised]


def test_a_trace_too_short_to_hold_out_a_month_is_refused_unless_it_is_forced() -> None:
    short = months(300, 30)
    with pytest.raises(AdminkitError, match="the trace has 30 days, of which 10 would be held out; 28 are needed"):
        asked(short)
    assert asked(short, force=True).held.frame.days == 11
    hours = asked(months(300, 3), force=True)
    assert (hours.train.frame.days, hours.held.frame.days) == (10, 10), "parts stand for days"


def test_a_trace_without_jobs_on_one_side_is_refused() -> None:
    with pytest.raises(AdminkitError, match="no job was submitted on one side of the cut"):
        asked(case([0, 0], [9, 9], [9, 9], [1, 1]), force=True)


def test_waits_are_counted_by_day_only_for_a_quantile() -> None:
    def run(goal: Goal) -> dict[str, object]:
        train = asked(goal=goal).train
        done: tuple[Request, Schedule] = (train.sources.case.request, simulate(train.sources.case.request))
        found: dict[str, object] = summary(
            (train.sources.case, done[1]), (train.sources.case, done[1]), train.groups, train.window
        )["days"]
        return found

    assert "tail" not in run(Goal())
    assert "tail" in run(Goal("p95_wait"))
