"""The page of what reading slurmdbd's database costs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.bench import slurmdbd_page
from tests.bench.pairs import Ratio
from tests.bench.slurmdbd_page import Found, Memory, page

ONE = Found("reading, wall time", 7.0, 6.5, 8.0, 6.0, False, 3.0, 21.0, 7, "slurm 22.05")
MOST = Found("a pass", 1.2, 1.1, 2.1, 2.0, True, 12.0, 10.0, 7, "slurm 22.05")


@pytest.mark.parametrize(
    ("one", "changes", "row"),
    [
        (ONE, {}, "| reading, wall time | 7.00 | 6.50 to 8.00 | ≥ 6 | yes | 3.0 s | 21.0 s | 7 |"),
        (ONE, {"low": 5.9}, "| 5.90 to 8.00 | ≥ 6 | no |"),
        (MOST, {}, "| 1.10 to 2.10 | ≤ 2 | no |"),
        (MOST, {"high": 2.0}, "| 1.10 to 2.00 | ≤ 2 | yes |"),
    ],
    ids=["met", "an interval that begins below", "an interval that ends above", "at the bound"],
)
def test_a_ratio_is_met_only_with_its_whole_interval(one: Found, changes: dict[str, Any], row: str) -> None:
    assert row in page([replace(one, **changes)], [])


@pytest.mark.parametrize(("peak", "said"), [(150_000_000, "yes"), (150_000_001, "no")])
def test_memory_is_met_up_to_its_bound(peak: int, said: str) -> None:
    assert f"| 300,000 | 150 MB | ≤ 150 MB | {said} | 9 s |" in page([], [Memory(300_000, peak, 150e6, 9.0, "x")])


def test_a_ratio_of_few_rounds_has_the_whole_range_as_its_interval() -> None:
    found = Found.of(Ratio("x", [1.0, 1.0, 1.0], [4.0, 2.0, 3.0], 2.0), "x")
    assert (found.middle, found.low, found.high, found.rounds) == (3.0, 2.0, 4.0, 3)


def test_the_page_is_that_of_the_results() -> None:
    assert slurmdbd_page.PAGE.read_text() == page(*slurmdbd_page.read())
