"""What backfill may plan with: quantiles of similar runs, learnt in the pass that learns hints."""

from __future__ import annotations

from dataclasses import replace

import pytest

from adminkit.economy.points_file import dumped, parsed
from adminkit.economy.tables import lua, soft_table
from adminkit.errors import AdminkitError
from adminkit.lua.runtime import Lua
from adminkit.policy.soft_settings import SoftLimits
from adminkit.recommend.curve import kaplan_meier
from adminkit.recommend.hints import learn
from adminkit.recommend.menu import Offer
from adminkit.recommend.needs import ANY_NAME, QUANTILES, Cautions, Need, Outcomes, newest, quantiles
from adminkit.stats.runs import Kind, Run

NOW = 1_800_000_000
NEED = Need("alpha", 1001, "ada", "train", "gq", (600, 1800, 3600), NOW)


def test_quantiles_are_of_the_curve() -> None:
    curve = kaplan_meier([(need, False, 1.0) for need in range(100, 2100, 100)], 0.5)
    found = quantiles(curve)
    assert found is not None
    for percent, seconds in zip(QUANTILES, found, strict=True):
        assert sum(need > seconds for need in range(100, 2100, 100)) / 20.5 <= (100 - percent) / 100 < 0.6


def test_what_no_run_shows_is_stretched_and_never_shorter() -> None:
    runs = [(100, False, 1.0), (200, False, 1.0), (300, False, 1.0), (400, True, 1.0), (500, True, 1.0)]
    found = quantiles(kaplan_meier(runs, 0.5))
    assert found is not None and found == tuple(sorted(found)) and found[-1] > 300


@pytest.mark.parametrize("runs", [[], [(100, True, 1.0)] * 9, [(100, False, 1.0)] + [(90, True, 1.0)] * 2])
def test_too_few_that_ended_by_themselves_show_nothing(runs: list[tuple[int, bool, float]]) -> None:
    curve = kaplan_meier(runs, 5.0)
    assert quantiles(curve) is None


def test_nobody_is_learnt_of_nothing() -> None:
    assert learn([], NOW, Offer()).needs == []


def test_the_newest_stay() -> None:
    older = replace(NEED, job_name="old", last=NOW - 9)
    assert newest([older, NEED], 1) == [NEED]
    table = soft_table([older, NEED], SoftLimits(enabled=True, max_entries=1, outlived=60), (), NOW)
    assert table["users"] == {1001: {"train": {"gq": "600-1800-3600"}}}
    assert soft_table([NEED], SoftLimits(enabled=True), {1001}, NOW)["users"] == {}, "who opted out"
    assert soft_table([NEED], SoftLimits(), (), NOW)["users"] == {}, "switched off"


def test_one_user_does_not_fill_the_table() -> None:
    """Who submits under a thousand names would slow down the submissions of others."""
    many = [replace(NEED, job_name=f"run-{i}", last=NOW - i) for i in range(1000)]
    other = replace(NEED, uid=1002, last=NOW - 5000)
    users = soft_table([*many, other], SoftLimits(enabled=True, outlived=60), (), NOW)["users"]
    assert sorted(users[1001]) == sorted(f"run-{i}" for i in range(200)), "the newest stay"
    assert list(users[1002]) == ["train"]


@pytest.mark.parametrize("version", ["lua51", "lua54"])
def test_a_table_goes_through_json_to_lua(version: str) -> None:
    needs = [replace(NEED, job_name='a"]\n', queue=queue) for queue in ("", "gq-b.c")]
    table = soft_table(needs, SoftLimits(enabled=True), (), NOW)
    again = parsed("soft_limits", dumped(table).encode(), "it")
    assert again == table
    runtime = Lua("lua54" if version == "lua54" else "lua51")
    there = runtime.table(lua(again).encode(), "soft_limits.lua")
    assert runtime.call(runtime.module("validate").soft_limits, there) is None
    assert runtime.out(there)["rows"] == ["..1001-.a_22_5d_0a_--1800-1800-3600_-gq_2db_2ec-1800-1800-3600.."]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"format": 1, "made_at": 1, "quantiles": [50], "users": {}}', "its quantiles are not those of this release"),
        (
            '{"format": 1, "made_at": 1, "quantiles": [50, 75, 90], "users": {"1": {"a": {"b": "1-2"}}}}',
            "not 3 numbers",
        ),
        ('{"format": 1, "made_at": 1, "quantiles": [50, 75, 90], "users": {"x": {}}}', "a key that is not a uid"),
        ('{"format": 1, "made_at": 1, "users": {}}', "has no quantiles"),
    ],
)
def test_what_adminkit_would_not_write_is_refused(text: str, why: str) -> None:
    with pytest.raises(AdminkitError, match=why):
        parsed("soft_limits", text.encode(), "it")


@pytest.mark.parametrize(
    ("cautions", "seconds", "outlived", "expected", "why"),
    [
        (Cautions(75), (600, 1800, 3600), (0.9, 0.9, 0.9), (600, 1800, 3600), "nothing is asked of it"),
        (Cautions(75, 3600), (600, 1800, 3600), (0.5, 0.2, 0.1), (600, 1800, 3600), "one of ten needs no more"),
        (Cautions(75, 3599), (600, 1800, 3600), (0.5, 0.2, 0.1), None, "one of ten needs more"),
        (Cautions(75, None, 0.4), (600, 1800, 3600), (0.5, 0.41, 0.1), (3600, 3600, 3600), "the next that holds"),
        (Cautions(75, None, 0.4), (600, 1800, 3600), (0.5, 0.4, 0.41), (1800, 1800, 3600), "its own holds"),
        (Cautions(90, None, 0.4), (600, 1800, 3600), (0.5, 0.4, 0.41), None, "none that is long enough holds"),
    ],
)
def test_which_needs_may_be_planned_with(
    cautions: Cautions, seconds: tuple[int, ...], outlived: tuple[float, ...], expected: object, why: str
) -> None:
    assert cautions.row(seconds, outlived) == expected, why


def ended(need: int, limit: int = 7200, state: str = "COMPLETED", user: str = "ada") -> Run:
    return Run(Kind("alpha", user, "train", "gq", req_limit=limit), 1001, None, NOW, NOW + need, need, state)


def shares(*runs: Run) -> tuple[float, ...]:
    outcomes = Outcomes()
    for run in runs:
        outcomes.submitted(run, (600, 1800, 3600))
        outcomes.ended(run)
    return outcomes.shares("alpha", "ada")


def test_a_user_of_whom_nothing_is_known_keeps_the_promise() -> None:
    assert shares() == (0.5, 0.25, 0.1)


@pytest.mark.parametrize(
    ("run", "more", "why"),
    [
        (ended(5000), (True, True, True), "longer than all"),
        (ended(1801), (True, True, False), "longer than two"),
        (ended(300), (False, False, False), "shorter"),
        (ended(700, limit=500), None, "with so short a limit there was no soft one"),
        (ended(1000, state="CANCELLED"), None, "it was cut off before it could need more"),
        (ended(4000, state="CANCELLED"), (True, True, True), "it was cut off later"),
        (ended(5000, user="bob"), None, "somebody else's"),
    ],
)
def test_runs_that_need_more_count_against_their_user(run: Run, more: tuple[bool, ...] | None, why: str) -> None:
    before, after = shares(), shares(*[run] * 3)
    if more is None:
        assert after == before, why
    else:
        assert tuple(now > then for now, then in zip(after, before, strict=True)) == more, why


def test_old_runs_are_forgotten() -> None:
    assert shares(*[ended(5000)] * 50, *[ended(300)] * 300)[0] < 0.1


def learnt(*names: str) -> list[Need]:
    runs = [
        replace(ended(900), kind=Kind("alpha", "ada", name, "gq", req_limit=7200), submit_time=at, end_time=at + 900)
        for at, name in ((NOW - 90_000 + 1000 * number, name) for number, name in enumerate(names))
    ]
    return list(learn(runs, NOW, Offer()).needs)


def test_the_runs_of_a_user_are_a_group_whatever_their_names() -> None:
    assert [(one.job_name, one.queue, one.seconds[0]) for one in learnt(*"abcdefghij")] == [(ANY_NAME, "", 900)]
    assert {one.job_name for one in learnt(*["train"] * 10)} == {"train", ANY_NAME}


def test_a_job_name_cannot_take_the_place_of_all() -> None:
    assert [one.job_name for one in learnt(*[ANY_NAME] * 10)] == [ANY_NAME]


def test_what_is_too_long_or_too_often_outlived_is_not_in_the_table() -> None:
    long, often = replace(NEED, job_name="long", seconds=(60, 60, 9999)), replace(NEED, outlived=(0.9, 0.9, 0.9))
    settings = SoftLimits(enabled=True, outlived=60)
    assert soft_table([NEED, long], settings, (), NOW)["users"] == {1001: {"train": {"gq": "600-1800-3600"}}}
    assert soft_table([often], settings, (), NOW)["users"] == {}
    kept = soft_table([often, long], settings.model_copy(update={"outlived": 100, "longest": 10_000}), (), NOW)
    assert kept["users"] == {1001: {"train": {"gq": "600-1800-3600"}, "long": {"gq": "60-60-9999"}}}
