"""From runs to points: what holds whatever the runs are, and the tables that come out."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from pydantic import ValidationError

from adminkit.economy.build import as_table
from adminkit.economy.score import bare_name, earned
from adminkit.economy.tables import Hint, Points, hints_table, incentives_table, lua, points
from adminkit.errors import AdminkitError
from adminkit.installed import data_file
from adminkit.job import Job
from adminkit.lua.runtime import Lua, LuaVersion
from adminkit.policy.incentive_settings import Hints, Incentives
from tests.economy.incentive_cases import MENU, NOW, PER_HOUR, ada, everybody, good, run
from tests.support.builders import HOUR

#: So that the minimum of runs, days and hours does not hide what the score does.
OPEN: dict[str, Any] = {"min_jobs": 1, "min_days": 1, "min_share": 0, "from_score": 0, "name_day_hours": 48}
LIMITS = (15 * 60, HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, 24 * HOUR, 72 * HOUR)


@some.composite
def runs(draw: some.DrawFn) -> list[Job]:
    """Some runs of ada and bob, of all kinds."""
    found = []
    for number in range(draw(some.integers(1, 12))):
        elapsed = draw(some.integers(0, 80 * HOUR))
        found.append(
            run(
                number + 1,
                draw(some.integers(0, 200)),
                elapsed=elapsed,
                time_limit=draw(some.sampled_from(LIMITS)),
                limit_original=draw(some.none() | some.sampled_from(LIMITS)),
                state=draw(some.sampled_from(("COMPLETED", "COMPLETED", "TIMEOUT", "FAILED"))),
                limit_source=draw(some.sampled_from(("explicit", "explicit", "default"))),
                gpus=draw(some.sampled_from((0, 1, 8))),
                nodes=draw(some.sampled_from((1, 2))),
                job_name=draw(some.sampled_from(("a", "b_1", "b_2", None))),
                user="ada" if (mine := draw(some.booleans())) else "bob",
                uid=1001 if mine else 1002,
            )
        )
    return found


def score(jobs: Sequence[Job]) -> float:
    found = everybody(jobs, **OPEN).standings
    return next((one.score or 0.0 for one in found if one.uid == 1001), 0.0)


@given(runs())
@settings(max_examples=30, deadline=None)
def test_points_are_never_negative_and_never_above_the_cap(jobs: list[Job]) -> None:
    for given_settings in (OPEN, {}):
        found = everybody(jobs, **given_settings)
        for one in found.standings:
            assert 0 <= found.worth.points.of(one.hours) <= found.worth.points.cap
            assert one.score is None or 0 <= one.score <= 1
            assert 0 <= one.share <= 1
            inside = sum(job.uid == one.uid and (job.end_time or 0) >= found.window[0] for job in jobs)
            assert one.runs + sum(one.left_out.values()) == inside
        assert 0 <= found.largest <= found.worth.points.cap


@given(runs(), some.randoms(use_true_random=False))
@settings(max_examples=20, deadline=None)
def test_the_order_of_rows_changes_nothing(jobs: list[Job], random: Any) -> None:
    shuffled = list(jobs)
    random.shuffle(shuffled)
    one, other = everybody(jobs, **OPEN), everybody(shuffled, **OPEN)
    assert one == other
    assert incentives_table(one.standings, one.worth.points, NOW) == incentives_table(
        other.standings, other.worth.points, NOW
    )


@given(runs(), some.integers(0, 11), some.sampled_from(LIMITS))
@settings(max_examples=40, deadline=None)
def test_a_longer_limit_never_raises_a_score(jobs: list[Job], which: int, limit: int) -> None:
    place = which % len(jobs)
    job = jobs[place]
    before = score(jobs)
    for column in ("time_limit", "limit_original"):
        longer = max(limit, getattr(job, column) or 0)
        padded = [*jobs[:place], replace(job, **{column: longer}), *jobs[place + 1 :]]
        assert score(padded) <= before + 1e-12


@given(runs(), some.integers(1, 40), some.integers(2, 50))
@settings(max_examples=30, deadline=None)
def test_cutting_a_job_into_many_gains_no_more_than_its_name_and_day_may_weigh(
    jobs: list[Job], hours: int, parts: int
) -> None:
    """The best that one name can do on one day is its cap, in full merit."""
    others = [job for job in jobs if job.uid == 1001]
    elapsed = max(61, hours * HOUR // parts)
    pieces = [run(100 + n, 0, elapsed=elapsed, time_limit=elapsed, job_name=f"piece_{n}") for n in range(parts)]
    found = everybody([*others, *pieces], **OPEN).standings
    bare = everybody(others, **OPEN).standings if others else []
    weight, merit = (bare[0].weight, (bare[0].score or 0) * bare[0].weight) if bare else (0.0, 0.0)
    best = (merit + 48) / (weight + 48)
    assert (found[0].score or 0) <= best + 1e-12


@pytest.mark.parametrize(
    ("score", "hours", "why"),
    [
        (0.0, 0.0, "nothing"),
        (0.5, 0.0, "up to from_score nothing"),
        (0.75, 3.0, "half way, half"),
        (1.0, 6.0, "all"),
        (1.5, 6.0, "never more"),
    ],
)
def test_a_score_earns_in_proportion(score: float, hours: float, why: str) -> None:
    assert earned(score, Incentives()) == pytest.approx(hours), why


@pytest.mark.parametrize(
    ("name", "bare", "why"),
    [
        ("train", "train", "as it is"),
        ("train_12", "train_#", "numbers make no other job"),
        ("2024-01-05 v2", "#-#-# v#", "dates neither"),
        (None, "", "no name is a name"),
    ],
)
def test_names_that_differ_in_numbers_are_one(name: str | None, bare: str, why: str) -> None:
    assert bare_name(name) == bare, why


def test_runs_are_explained_heaviest_first_with_what_the_cap_leaves() -> None:
    jobs = [*good(), run(50, 1, gpus=8, job_name="big", elapsed=20 * HOUR, time_limit=24 * HOUR)]
    heavy = ada(jobs, name_day_hours=96).heaviest
    assert heavy[0].run.job_id == "50"
    assert (heavy[0].capped, heavy[0].score) == (0.5, 1.0)
    assert heavy[0].weight == pytest.approx(96 * 0.5 ** (1 / 30))
    assert [one.weight for one in heavy] == sorted((one.weight for one in heavy), reverse=True)


def test_the_weights_of_the_runs_shown_add_up_to_the_users() -> None:
    jobs = [*good(), *good(30, 8, elapsed=3 * HOUR, time_limit=24 * HOUR, gpus=8, cpus=64, job_name="wide_1")]
    found = ada(jobs, name_day_hours=48)
    assert sum(one.weight for one in found.heaviest) == pytest.approx(found.standing.weight)
    merit = sum(one.weight * one.score for one in found.heaviest)
    assert merit / found.standing.weight == pytest.approx(found.standing.score)


def test_a_job_without_gpus_weighs_by_its_cpus() -> None:
    found = ada(good(gpus=0, cpus=16), name_day_hours=1000)
    assert found.heaviest[0].run.size == 2000
    assert ada(good(gpus=None, cpus=4)).heaviest[0].run.size == 500


def test_runs_of_nobody_and_of_other_clusters_are_not_counted() -> None:
    jobs = [*good(), run(90, uid=None), run(91, cluster="beta"), run(92, 0, end_time=NOW)]
    found = everybody(jobs)
    assert [(one.uid, one.runs) for one in found.standings] == [(1001, 12)]
    assert found.left_out["uid_unknown"] == 1


def test_somebody_without_runs_is_an_error_with_the_window() -> None:
    with pytest.raises(AdminkitError, match="no run of ada ended on aaic in the last 180 days"):
        ada([run(1, 200)])


@pytest.mark.parametrize(
    ("given_settings", "clash", "why"),
    [
        ({"accuracy_hours": 20}, "accuracy_hours = 20 is above cap_hours = 12", "the cap would hide it"),
        ({"multi_node_hours": 13}, "multi_node_hours = 13 is above cap_hours = 12", "the cap would hide it"),
        ({"size_hours": {"9": 13}}, "size_hours has 13, which is above cap_hours = 12", "the cap would hide it"),
        ({"size_hours": {"1": 3}}, "a size is from 2 to 100000 GPUs, and 1 is not", "a job of one GPU is not wide"),
        ({"size_hours": {"9.5": 3}}, "'9.5' is not a number of GPUs", "half a GPU"),
        ({"size_hours": {"09": 3}}, "'09' is not a number of GPUs", "two ways to write nine"),
        ({"size_hours": {"9": 3, "65": 3}}, "65 GPUs or more must have more than 9: 3 is not above 3", "no more"),
        ({"size_hours": {"9": -1}}, "greater than or equal to 0", "below zero"),
        ({"size_hours": {str(size): size / 10 for size in range(2, 20)}}, "18 sizes; at most 16", "too many"),
        ({"accuracy_hours": -1}, "greater than or equal to 0", "a bonus below zero"),
        ({"min_days": 20}, "min_days = 20 needs more jobs than min_jobs = 10", "cannot be reached"),
        ({"bundle_days": 200}, "bundle_days = 200 is above window_days = 180", "not looked at"),
        ({"half_life_days": float("nan")}, "finite number", "no number"),
        ({"min_elapsed": 60}, 'write "60m" or "60s"', "minutes or seconds?"),
        ({"min_elapsed": "soon"}, "not a duration: soon", "no duration"),
        ({"accuracy": 3}, "Extra inputs are not permitted", "no such key"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(given_settings: dict[str, Any], clash: str, why: str) -> None:
    with pytest.raises(ValidationError) as error:
        Incentives.model_validate(given_settings)
    assert clash in str(error.value), why


def test_durations_are_written_with_their_unit() -> None:
    assert Incentives.model_validate({"min_elapsed": "5m"}).min_elapsed == 300
    assert Hints.model_validate({"floor": "01:00:00"}).floor == 3600


@pytest.mark.parametrize(
    ("per_hour", "given_settings", "error", "why"),
    [
        (0.0, {}, "age does not count", "no ageing, no unit"),
        (0.01, {}, "a cap is from 1", "less than a point"),
        (1e9, {}, "a cap is from 1", "more than a priority holds"),
    ],
)
def test_a_worth_that_makes_no_points_is_refused(
    per_hour: float, given_settings: dict[str, Any], error: str, why: str
) -> None:
    with pytest.raises(AdminkitError) as found:
        points(Incentives(**given_settings), per_hour)
    assert error in f"{found.value.message} {found.value.hint}", why


def test_the_table_of_points_is_what_decide_lua_reads() -> None:
    rich, bundler = good(), good(100, 12, uid=1002, user="bob", time_limit=3 * HOUR)
    plain = good(200, 12, uid=1003, user="eve", time_limit=3 * HOUR)
    found = everybody([*rich, *bundler, *plain])
    standings = [replace(one, earns_class=one.uid != 1002) for one in found.standings]
    table = read(lua(incentives_table(standings, found.worth.points, NOW)))
    assert (table["format"], table["made_at"], table["cap"]) == (1, NOW, 720)
    assert dict(table["class_points"]) == {"multi-node": 240, "multi-gpu": 120}
    users = table["users"]
    assert users == {1001: {"points": 360, "class": True}, 1002: {"points": 0, "class": False}}


def test_points_by_size_are_in_the_table_only_where_there_are_some() -> None:
    assert "size_points" not in incentives_table([], points(Incentives(), 60), NOW)
    worth = points(Incentives(size_hours={"65": 10, "9": 2.5}), 60)
    table = incentives_table([], worth, NOW)
    assert table["size_points"] == {9: 150, 65: 600}
    assert dict(read(lua(table))["size_points"]) == {9: 150, 65: 600}
    assert (worth.largest(0), worth.largest(700)) == (600, 720)


def test_the_same_standings_have_the_same_generation_whenever_they_are_computed() -> None:
    found = everybody(good())
    one, later = (lua(incentives_table(found.standings, found.worth.points, at)) for at in (NOW, NOW + 60))
    assert one != later
    assert one.splitlines()[4:-2] == later.splitlines()[4:-2]
    assert read(one)["generation"] == read(later)["generation"]


def read(text: str, version: LuaVersion = "lua51") -> Any:
    runtime = Lua(version)
    return runtime.out(runtime.table(text.encode(), "table.lua"))


def hint(uid: int = 1001, name: str = "train", queue: str = "gq", excess: float = 1.0, **changes: int) -> Hint:
    given_values = {"expected": 1800, "safe": 3600, "risk_percent": 5, "runs": 20, **changes}
    return Hint(uid, name, queue, excess_gpu_seconds=excess, **given_values)


def test_the_table_of_hints_is_what_decide_lua_reads() -> None:
    rows = [hint(), hint(queue=""), hint(name="", queue=""), hint(1002, 'a" .. os.exit() .. "', "gq")]
    table = read(lua(hints_table(rows, Hints(accounts_off=("A b",)), (), NOW)))
    assert (table["ratio"], table["floor"]) == (3.0, 7200)
    assert dict(table["accounts_off"]) == {"a b": True}
    users = table["users"]
    assert users[1001]["train"]["gq"] == [1800, 3600, 5, 20]
    assert sorted(users[1001]["train"]) == ["", "gq"]
    assert list(users[1001][""]) == [""]
    assert list(users[1002]) == ['a" .. os.exit() .. "']


@pytest.mark.parametrize(
    ("given_settings", "opted_out", "uids", "why"),
    [
        ({}, (), [11, 12, 13], "everybody"),
        ({}, (12,), [11, 13], "a user's own switch"),
        ({"enabled": False}, (), [], "the site's switch"),
        ({"max_entries": 1}, (), [12], "the largest excess first"),
        ({"max_entries": 2}, (12,), [11, 13], "those who opted out take no room"),
    ],
)
def test_hints_are_for_those_who_want_and_waste_most(
    given_settings: dict[str, Any], opted_out: tuple[int, ...], uids: list[int], why: str
) -> None:
    rows = [hint(11, excess=5), hint(12, excess=9), hint(13, excess=7)]
    table = read(lua(hints_table(rows, Hints(**given_settings), opted_out, NOW)))
    assert sorted(table["users"]) == uids, why


def test_the_largest_table_of_hints_loads_in_lua_51_and_54() -> None:
    """Trap: one Lua 5.1 function holds 262,143 constants, and here every number and name is another."""
    rows = (
        hint(100_000 + n, f"name {n}", f"q{n}", float(n), expected=200_000 + n, safe=300_000 + n, runs=400_000 + n)
        for n in range(60_000)
    )
    table = as_table("hints", hints_table(rows, Hints(), (), NOW))
    assert 30_000 < table.rows <= 50_000
    assert table.size > 1_000_000
    kept = read(table.text, "lua54")["users"]
    assert 159_999 in list(kept), "the largest excess stays"


def test_points_are_whole_and_capped() -> None:
    worth = points(Incentives(), PER_HOUR / 7)
    assert (worth.cap, worth.of(6.0), worth.of(0.05), worth.of(0.06)) == (103, 51, 0, 1)
    assert worth.largest(90) == 103
    assert Points(1.0, 10, {}).largest(3) == 3


def test_the_menu_of_the_tests_is_that_of_the_cases() -> None:
    assert len(MENU) == len(LIMITS)


def test_the_example_has_every_setting_with_its_default() -> None:
    raw = tomllib.loads(data_file("etc", "policy.toml").read_text())
    assert Incentives.model_validate(raw["incentives"]) == Incentives()
    assert Hints.model_validate(raw["hints"]) == Hints()
    assert {*raw["incentives"], "points_per_hour"} == set(Incentives.model_fields)
    assert set(raw["hints"]) == set(Hints.model_fields)
