"""The numbers of pictures as text."""

from __future__ import annotations

import pytest

from adminkit.render.panel_numbers import MOST, Numbers, numbers
from adminkit.render.report import Bar, Bars, Box, Boxes, Curves, Heat, Line, Panel, Series, Trend

DAY = 86_400


@pytest.mark.parametrize(
    ("panel", "expected"),
    [
        (
            Bars("T", "4 jobs", [Bar("<a>", 1200, 0.25)]),
            Numbers("4 jobs", ("number", "share"), [("<a>", ["1,200", "25.00 %"])]),
        ),
        (
            Boxes("T", "used", [Box("gq", 0.1, 0.2, 0.3, 0.4, 0.5, 0.35)]),
            Numbers("used", ("p10", "p25", "median", "p75", "p90", "mean"),
                [("gq", ["0.100", "0.200", "0.300", "0.400", "0.500", "0.350"])]),
        ),
        (
            Heat("T", "", "GPUs", "limit", ["1"], ["1 h", "4 h"], [[60.0, None]], [[2, 0]]),
            Numbers("GPUs; limit", ["1 h", "4 h"], [("1", ["1 min\n2 jobs", ""])]),
        ),
        (
            Series("T", "", 10.0, [("ran", [0.5, 1.0])]),
            Numbers("", ["ran"], [("day 0.0", ["50.0 %"]), ("day 5.0", ["100.0 %"])]),
        ),
    ],
)  # fmt: skip
def test_each_kind_of_picture_has_its_numbers(panel: Panel, expected: Numbers) -> None:
    assert numbers(panel) == expected


def test_a_curve_is_read_at_its_quantiles() -> None:
    line = Line("ran", [60, 3600, 7200], [0.25, 0.5, 1.0])
    found = numbers(Curves("T", "", [line, Line("asked", [7200], [0.9])], [("maximum", 7200)]))
    assert found.caption == "share of the jobs that have at most; maximum 2 h"
    assert dict(found.rows) == {
        "5 %": ["1 min", "2 h"], "10 %": ["1 min", "2 h"], "25 %": ["1 min", "2 h"], "50 %": ["1 h", "2 h"],
        "75 %": ["2 h", "2 h"], "90 %": ["2 h", "2 h"], "95 %": ["2 h", "-"], "100 %": ["2 h", "-"],
    }  # fmt: skip


def test_values_over_the_calendar_stand_at_their_times_and_a_year_of_hours_stays_short() -> None:
    few = numbers(Trend("T", "", [0, DAY, 2 * DAY], [("a", [0.5, None])], "ratio", [("1", DAY)]))
    assert [cells for _, cells in few.rows] == [["0.500"], ["-"]]
    assert few.caption.startswith("ratio; 1: 1970-01-0")
    many = numbers(Trend("T", "", list(range(8761)), [("a", [1.0] * 8760)], "count"))
    assert MOST / 2 < len(many.rows) <= MOST
