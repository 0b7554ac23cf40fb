"""docs/measured/months.md is what its figures make."""

from __future__ import annotations

import json

import pytest

from tests.bench.bench_scale import Cost
from tests.bench.months_page import DATA, PAGE, page


def test_the_page_is_made_of_the_figures() -> None:
    assert PAGE.read_text() == page(json.loads(DATA.read_text()))


@pytest.mark.parametrize(
    ("clock", "megabytes", "met", "why"),
    [
        (30.0, 1000.0, True, "both at the target"),
        (30.1, 100.0, False, "too slow"),
        (1.0, 1001.0, False, "too much memory"),
    ],
)
def test_a_report_meets_its_target_in_time_and_memory(clock: float, megabytes: float, met: bool, why: str) -> None:
    cost = Cost(100, "accuracy", clock, 20.0, megabytes)
    assert cost.is_met is met, why
    assert ("met" if met else "MISSED") in cost.line()


def test_a_smaller_size_and_other_reports_have_no_target() -> None:
    assert "target" not in Cost(10, "accuracy", 1.0, 1.0, 100.0).line()
    assert "target" not in Cost(100, "names", 1.0, 1.0, 100.0).line()
