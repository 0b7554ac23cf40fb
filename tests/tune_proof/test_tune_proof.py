"""What is better is found and what is not is not recommended: four made sites here, all eighty in a soak."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from adminkit.simulate.core import simulate
from tests.tune_proof import page
from tests.tune_proof.__main__ import missing, results
from tests.tune_proof.proof import Result, searched
from tests.tune_proof.sites import EACH, FAMILIES, Family
from tests.tune_proof.truth import Effect, True_
from tests.tune_proof.workloads import DAY, Law, drawn, longer

NAMED = {family.name: family for family in FAMILIES}


@pytest.mark.parametrize("family", ["shallow backfill", "few jobs of a user"])
def test_the_setting_that_holds_backfill_back_is_found(family: str, tmp_path: Path) -> None:
    found = searched(NAMED[family].site(0), tmp_path)
    assert found.pick is not None and found.verdict is not None
    assert found.pick.choice[0] is not None, "the first lever is the one that is set badly today"
    assert found.verdict.word == "better"


@pytest.mark.parametrize(
    ("family", "why"),
    [
        ("any order", "jobs are alike, so every order has the same mean wait"),
        ("passing", "what helped for two months does nothing in the third"),
    ],
)
def test_where_nothing_is_better_nothing_is_recommended(family: str, why: str, tmp_path: Path) -> None:
    found = searched(NAMED[family].site(0), tmp_path)
    assert found.verdict is None or not found.verdict.carries_over, why


def test_there_are_forty_sites_of_each_kind_and_no_two_have_the_same_law() -> None:
    sites = [(family, site) for family in FAMILIES for site in family.sites]
    assert [sum(family.planted is planted for family, _ in sites) for planted in (True, False)] == [40, 40]
    assert len({site.law.seed for _, site in sites}) == 80
    assert len({site.name for _, site in sites}) == 80


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_a_trace_has_three_months_and_every_job_of_it_runs(family: Family) -> None:
    case = drawn(family.site(EACH - 1).law, 1)
    submit = case.column("submit")
    assert 88 <= (submit.max() - submit.min()) / DAY <= 90
    assert 1000 <= case.count <= 3000
    assert (simulate(case.request).start >= 0).all()
    assert (case.column("run") <= case.column("limit")).all(), "no job is ended at its limit"


def test_a_draw_follows_from_its_seed() -> None:
    law = Law(1)
    one, same, other = (drawn(law, seed).column("run") for seed in (1, 1, 2))
    assert (one == same).all() and (one != other).any()


def test_a_law_may_give_way_to_another_after_two_months() -> None:
    case = drawn(longer(Law(1), Law(1, whole=True)), 1)
    late = case.column("submit") >= case.column("submit").min() // DAY * DAY + 60 * DAY
    assert (case.column("nodes")[~late] > 1).any()
    assert (case.column("nodes")[late] == 1).all() and late.sum() == 1000


@pytest.mark.parametrize(
    ("changes", "less", "more", "why"),
    [
        ((-100.0, -110.0, -90.0), True, False, "ten times as much as a month varies"),
        ((100.0, 110.0, 90.0), False, True, "the same, longer"),
        ((-100.0, -150.0, -50.0), False, False, "twice as much"),
        ((0.0, 0.0, 0.0), False, False, "nothing changes"),
    ],
)
def test_more_than_noise_is_four_standard_deviations_of_a_month(
    changes: tuple[float, ...], less: bool, more: bool, why: str
) -> None:
    effect = Effect(changes, 1000.0)
    assert (effect.is_less, effect.is_more) == (less, more), why


def test_what_makes_a_group_wait_longer_is_not_planted() -> None:
    good, bad = Effect((-100.0, -110.0, -90.0), 1000.0), Effect((50.0, 55.0, 45.0), 1000.0)
    assert True_((1,), good, {("size", "1"): good}).planted
    harmful = True_((1,), good, {("size", "1"): good, ("size", "2"): bad})
    assert not harmful.planted and not harmful.right


def result(**changes: object) -> Result:
    usual = Result("f", "f 1", True, 3, True, -0.3, "better", "x 1", -0.3, -0.3, True)
    return replace(usual, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("place", "wrong", "broken", "why"),
    [
        (0, {}, 0, "38 of 40 found and 2 of 40 wrong: both bars hold"),
        (0, {"words": "no change"}, 1, "37 of 40 found"),
        (0, {"right": False}, 1, "a recommendation that harms is not a find"),
        (40, {"planted": False, "better": False}, 1, "3 of 40 wrong"),
        (39, {"better": False, "words": "no pick"}, 0, "within the noise: in no bar"),
    ],
)
def test_the_bars_break_at_their_limit(place: int, wrong: dict[str, object], broken: int, why: str) -> None:
    several = [result()] * 38 + [result(words="no pick")] * 2
    several += [result(planted=False, better=False, words="no pick")] * 38
    several += [result(planted=False, better=False)] * 2
    assert len(page.bars([*several[:place], result(**wrong), *several[place + 1 :]])) == broken, why


def test_the_page_is_that_of_the_results() -> None:
    assert page.PAGE.read_text() == page.page(page.read())


def test_the_page_says_how_many_sites_are_missing() -> None:
    assert "**Not finished: 1 of 80 sites have been searched.**" in page.page([result()])
    assert "holds" not in page.page([result()]).split("## Result")[1]
    assert "Not finished" not in page.page([result()] * 80)
    assert "95 %: holds" in page.page([result()] * 80)
    assert "95 %: **does not hold**" in page.page([result(right=False)] * 80)


def test_the_kept_results_are_of_the_sites_that_there_are_and_hold_the_bars() -> None:
    kept = [one.site for one in page.read()]
    names = [site.name for family in FAMILIES for site in family.sites]
    assert kept == [name for name in names if name in kept] and kept
    assert page.bars(page.read()) == []


@pytest.mark.parametrize(
    ("changes", "row"),
    [
        ({}, "| 1 | 1 | 1 | 1 | reached |"),
        ({"words": "no pick"}, "| 1 | 1 | 0 | 0 | **missed** |"),
        ({"better": False, "words": "no pick"}, "| 1 | 0 | 0 | 0 | - |"),
        ({"family": "idle", "planted": False, "better": False, "words": "no pick"}, "| 1 | 0 | 0 | 0 | reached |"),
        ({"family": "idle", "planted": False, "better": False, "right": False}, "| 1 | 0 | 1 | 0 | **missed** |"),
    ],
)
def test_the_page_has_the_goal_of_each_family(changes: dict[str, object], row: str) -> None:
    made = result(**{"family": "easy", **changes})
    (line,) = (line for line in page.page([made]).splitlines() if line.startswith(f"| {made.family} |"))
    assert line.endswith(row)


def test_what_is_kept_is_not_searched_again() -> None:
    first, second = (family.name for family in FAMILIES[:2])
    assert missing([first], []) == [(0, site) for site in range(EACH)]
    assert missing([first, second], [result(site=f"{first} 2")])[:3] == [(0, 0), (1, 0), (1, 1)]


@pytest.mark.soak
def test_all_sites_again() -> None:
    made = results([family.name for family in FAMILIES], 2, [], keep=False)
    assert len(made) == 80
    assert np.mean([one.better for one in made if one.planted]) > 0.5
    assert page.bars(made) == []
