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
from adminkit.recommend.needs import QUANTILES, Need, newest, quantiles

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
    table = soft_table([older, NEED], SoftLimits(enabled=True, max_entries=1), (), NOW)
    assert table["users"] == {1001: {"train": {"gq": "600-1800-3600"}}}
    assert soft_table([NEED], SoftLimits(enabled=True), {1001}, NOW)["users"] == {}, "who opted out"
    assert soft_table([NEED], SoftLimits(), (), NOW)["users"] == {}, "switched off"


@pytest.mark.parametrize("version", ["lua51", "lua54"])
def test_a_table_goes_through_json_to_lua(version: str) -> None:
    needs = [replace(NEED, job_name='a"]\n', queue=queue) for queue in ("", "gq-b.c")]
    table = soft_table(needs, SoftLimits(enabled=True), (), NOW)
    again = parsed("soft_limits", dumped(table).encode(), "it")
    assert again == table
    runtime = Lua("lua54" if version == "lua54" else "lua51")
    there = runtime.table(lua(again).encode(), "soft_limits.lua")
    assert runtime.call(runtime.module("validate").soft_limits, there) is None
    assert runtime.out(there)["rows"] == [".1001-a_22_5d_0a--600-1800-3600.1001-a_22_5d_0a-gq_2db_2ec-600-1800-3600."]


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
