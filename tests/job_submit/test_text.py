"""Durations, days and placeholders in messages."""

from __future__ import annotations

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.job_submit.runtime import Lua


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0, "00:00:00"),
        (59, "00:00:59"),
        (60, "00:01:00"),
        (3 * 3600, "03:00:00"),
        (86399, "23:59:59"),
        (86400, "1-00:00:00"),
        (72 * 3600, "3-00:00:00"),
        (366 * 86400 + 61, "366-00:01:01"),
        (float("inf"), "UNLIMITED"),
        (None, "-"),
    ],
)
def test_a_duration(lua: Lua, seconds: float | None, expected: str) -> None:
    assert lua.ask("text", "duration", seconds) == expected


@given(st.integers(0, 4294967293 * 60))
def test_slurm_would_read_a_duration_back(lua: Lua, seconds: int) -> None:
    days, _, clock = lua.ask("text", "duration", seconds).rpartition("-")
    hours, minutes, rest = map(int, clock.split(":"))
    assert int(days or 0) * 86400 + hours * 3600 + minutes * 60 + rest == seconds


@given(st.dates(datetime.date(1970, 1, 2), datetime.date(2200, 1, 1)), st.integers(-12, 12))
def test_midnight_anywhere_is_that_day(lua: Lua, day: datetime.date, zone: int) -> None:
    if zone == -12:
        zone = -11
    midnight = datetime.datetime(day.year, day.month, day.day, tzinfo=datetime.UTC).timestamp() - zone * 3600
    assert lua.ask("text", "day", midnight) == day.isoformat()


@given(st.text(alphabet=" \t\nab", max_size=20))
def test_blanks_at_both_ends_go(lua: Lua, text: str) -> None:
    assert lua.ask("text", "trimmed", text) == text.strip()


def test_only_short_keys_are_kept(lua: Lua) -> None:
    counted = b"""
        local kept, made = ..., 0
        local get = kept(function(key) made = made + 1; return key end)
        local long = string.rep("b", 10000)
        return get.a .. get.a .. #get[long] .. #get[long] .. " made " .. made
    """
    assert lua.run(counted, lua.module("text").kept) == b"aa1000010000 made 3"


@pytest.mark.parametrize(
    ("template", "values", "expected"),
    [
        ("{a} and {b}", {"a": "1", "b": "2"}, "1 and 2"),
        ("{a}{a}", {"a": "x"}, "xx"),
        ("{unknown} {a}", {"a": "x"}, "{unknown} x"),
        ("{a}", {"a": "%1 %s {b}", "b": "no"}, "%1 %s {b}"),
        ("100 %", {}, "100 %"),
        ("{}{ a }", {"a": "x"}, "{}{ a }"),
        ("{time_min}", {"time_min": "x"}, "x"),
    ],
)
def test_placeholders(lua: Lua, template: str, values: dict[str, str], expected: str) -> None:
    assert lua.ask("text", "fill", template, values) == expected
