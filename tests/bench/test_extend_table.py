"""The table of what more time for running jobs saves, in the simulator."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adminkit.simulate.groups import Groups
from tests.bench import extend_table
from tests.bench.extend_table import KEYS, MARKS, SOURCES, UPTAKES, Line, _line, page, read, rows

ONE = Line("ricc", "", 0.25, 9_000, 6120.0, 4433.2, 5167.1, (0.166, 0.16, 0.17), (-82.4, -153.0, -11.0), ())


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({}, "| 25 % | 1.7 h | 4,433 | 5,167 | +17 % (+16 to +17) | -82 s (-153 to -11) | nobody |"),
        ({"longer": ("size a: +9 s", "size b: +8 s", "size c: +7 s")}, "| size a: +9 s; size b: +8 s; 1 more |"),
        ({"today": 474.0}, "| 25 % | 7.9 min |"),
        ({"uptake": 0.0, "before": 0.0, "after": 0.0, "change": None}, "| 0 % | 1.7 h | 0 | 0 | - | -82 s"),
    ],
)
def test_a_line_is_a_row(changes: dict[str, Any], text: str) -> None:
    assert text in rows([replace(ONE, **changes)], "estimates")


def test_other_keys_have_a_table_of_their_own() -> None:
    other = replace(ONE, keys="`most` 3", uptake=1.0)
    assert "| `most` 3 | 4,433 | 5,167 | +17 %" in rows([ONE, other], "keys")
    assert "25 %" not in rows([ONE, other], "keys") and "`most` 3" not in rows([ONE, other], "estimates")


def summary(lost: float, waits: list[float]) -> dict[str, Any]:
    sums = {"jobs": [10] * 2, "wait": [10 * one for one in waits], "wait_today": [50.0, 50.0]}
    return {"lost_hours": [0.0, lost], "parts": {"all": sums, "size": sums}}


def test_two_scenarios_are_paired_by_replicate() -> None:
    """As many hours are saved in each replicate, all wait 2 s longer, and only the second size by more than chance."""
    zeros = np.zeros(3, np.int64)
    groups = Groups({"all": (zeros, ["all"]), "size": (zeros, ["1", "2"])}, "gpus")
    old = [summary(lost, [60.0, 70.0]) for lost in (100.0, 200.0, 300.0)]
    new = [summary(lost - 100, [60.0 + up, 75.0]) for lost, up in ((100.0, 5.0), (200.0, -4.0), (300.0, 5.0))]
    found = _line("kth", "", 1.0, old, new, groups)
    assert (found.before, found.after, found.change, found.today) == (200.0, 100.0, (-0.5, -0.5, -0.5), 5.0)
    assert found.waited[0] == pytest.approx(2) and found.longer == ("size 2: +5 s (+5 to +5)",)


def test_every_line_of_each_trace_is_there() -> None:
    usual = [("", share) for share in UPTAKES]
    wanted = [(name, *of) for name in SOURCES for of in [*usual, *((keys, 1.0) for keys in KEYS)]]
    assert [(one.trace, one.keys, one.uptake) for one in read()] == wanted


def test_only_what_is_between_the_marks_is_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(extend_table, "RESULTS", tmp_path / "none.json")
    old = "".join(f"a\n{begin}\nold\n{end}\nb\n" for begin, end in MARKS.values())
    new = "".join(f"a\n{begin}\n\n{rows([], name)}\n\n{end}\nb\n" for name, (begin, end) in MARKS.items())
    assert page(old) == new


def test_the_page_is_that_of_the_results() -> None:
    text = extend_table.PAGE.read_text()
    assert all(mark in text for marks in MARKS.values() for mark in marks)
    assert text == page(text), "write it again: python -m tests.bench.extend_table page"
