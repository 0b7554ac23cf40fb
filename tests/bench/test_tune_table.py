"""The table of what tuning gives on days that it has not seen."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.bench import tune_table
from tests.bench.tune_table import Line, page

ONE = Line(
    "kth", 28_000, 330, 200, 90.0, 7200.0, (-0.1, -0.15, -0.05), [], ["a lever"], (-0.2, -0.3, -0.1), [], "better"
)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({}, "| kth | 28,000 | 330 | 110 | 02:00:00 | -10 % (-15 to -5 %) | nobody | -20 % (-30 to -10 %) | nobody |"),
        ({"tuned": None, "verdict": "no pick", "pick": []}, "| nobody | - | - | no pick | - |"),
        ({"default_harm": ["size 9 to 64 processors"]}, "| size 9 to 64 processors | -20 %"),
        ({}, "Tuning is recommended on 1 of 1 traces."),
        ({"verdict": "no change"}, "Tuning is recommended on 0 of 1 traces."),
        ({"days": 23}, "A month cannot be held out of kth: that search was forced"),
    ],
)
def test_a_trace_is_a_row(changes: dict[str, Any], text: str) -> None:
    assert text in page([replace(ONE, **changes)])


def test_a_month_that_was_held_out_is_no_warning() -> None:
    assert "forced" not in page([ONE])


def test_the_page_is_that_of_the_results() -> None:
    assert tune_table.PAGE.read_text() == page(tune_table.read())
