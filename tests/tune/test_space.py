"""Levers on a case: what is today's there, and what a combination does to jobs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from adminkit.errors import AdminkitError
from adminkit.recommend.menu import Offer
from adminkit.simulate.case import Case
from adminkit.simulate.change import Sources
from adminkit.simulate.luck import Luck
from adminkit.simulate.scenario import prepare
from adminkit.tune.space import Space, space_of
from tests.simulate.cases import case, many
from tests.tune.files import H, tune


def on_site(**settings: int) -> Case:
    weights = {"bf_window": 86400, "priority_weight_age": 1000, "priority_max_age": 10 * H, **settings}
    columns = {"gpus": [1, 9], "nodes": [1, 2]}
    nodes = [{"count": 4, "gpus": 8}]
    return case([0, 1], [H, H], [9 * H, 2 * H], [1, 9], model="slurm", columns=columns, settings=weights,
                site=([{"max_limit": 72 * H}], nodes))  # fmt: skip


def made(levers: str, one: Case | None = None, release: Any = None, force: bool = False) -> Space:
    return space_of(tune(levers), Sources(one or on_site(), Path(), Offer()), release, force)


def after(one: Case, levers: str, *values: Any) -> Case:
    scenario = made(levers, one).scenario(values)
    (given,) = prepare([scenario], Sources(one, Path(), Offer()))
    return scenario.apply(one, given, Luck(1))


def test_points_go_to_the_site_factor_of_wide_jobs() -> None:
    changed = after(on_site(), '"points.size_9" = ["12h"]', "12h")
    assert changed.column("site_factor").tolist() == [0, 1200], "an hour of age is worth 100 points"


def test_points_are_in_hours_of_the_age_weight_that_is_tried() -> None:
    changed = after(on_site(), 'PriorityWeightAge = [2000]\n"points.size_9" = ["12h"]', 2000, "12h")
    assert changed.column("site_factor").tolist() == [0, 2400]
    assert changed.request.settings["priority_weight_age"] == 2000


def test_a_queues_longest_limit_lowers_longer_ones() -> None:
    changed = after(on_site(), '"queue.gq.max_limit" = ["3h"]', "3h")
    assert changed.column("limit").tolist() == [3 * H, 2 * H]
    assert changed.request.queues[0]["max_limit"] == 3 * H


def test_the_combination_of_today_is_not_a_scenario() -> None:
    with pytest.raises(ValueError, match="as today"):
        made('"points.size_9" = ["12h"]').scenario((None,))


@pytest.mark.parametrize(
    ("levers", "left", "why"),
    [
        ('"SchedulerParameters.bf_window" = ["1d", "2d"]', ("2d",), "a day is the window of this case"),
        ('"queue.gq.max_limit" = ["3d", "1d"]', ("1d",), "72 h is the longest limit of this case"),
        ('"queue.gq.default_limit" = ["3d"]', ("3d",), "the queue has no default limit"),
    ],
)
def test_values_of_today_are_left_out(levers: str, left: tuple[Any, ...], why: str) -> None:
    assert made(levers).levers[0].values == left, why


@pytest.mark.parametrize(
    ("levers", "one", "message"),
    [
        ('"queue.gr.max_limit" = ["1d"]', None, "the site has no queue gr"),
        ('"points.size_9" = ["1h"]', on_site(priority_weight_age=0), "age weighs nothing"),
        ('"points.class.multi-gpu" = ["1h"]', None, "no job is of the class multi-gpu"),
        ('"extend.most" = [2.0]', many(), "the fcfs model does not have it"),
    ],
)
def test_what_the_case_lacks_is_refused(levers: str, one: Case | None, message: str) -> None:
    with pytest.raises(AdminkitError, match=message):
        made(levers, one)


@pytest.mark.parametrize(
    ("release", "refused", "why"),
    [
        ((22, 5, 8), True, "the oldest release"),
        ((25, 5, 5), True, "before the first that is safe"),
        ((25, 5, 0), False, "the site says 25.05 only"),
        ((25, 11, 0), False, "the site says 25.11 only"),
        ((26, 5, 5), False, "a new release"),
        (None, False, "nobody knows the release"),
    ],
)
def test_soft_limits_need_a_release_on_which_they_are_safe(release: Any, refused: bool, why: str) -> None:
    levers = '"soft_limits.quantile" = [75]'
    if not refused:
        assert made(levers, release=release).notes == (), why
        return
    with pytest.raises(AdminkitError, match="soft limits are refused on Slurm 2"):
        made(levers, release=release)
    assert made(levers, release=release, force=True).notes[0].startswith("soft_limits.quantile is forced")
