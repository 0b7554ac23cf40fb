"""The table of what more time for running jobs saves, in the simulator."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.bench import extend_table
from tests.bench.extend_table import MARKS, SOURCES, UPTAKES, Line, page, read, rows

ONE = Line("ricc", 0.25, 9_000, 6120.0, 4433.2, 5167.1, (0.166, 0.16, 0.17), (-82.4, -153.0, -11.0))


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({}, "| 25 % | 1.7 h | 4,433 | 5,167 | +17 % (+16 to +17) | -82 s (-153 to -11) |"),
        ({"wait": 474.0}, "| 25 % | 7.9 min |"),
        ({"uptake": 0.0, "estimates": 0.0, "extend": 0.0, "change": None}, "| 0 % | 1.7 h | 0 | 0 | - | -82 s"),
    ],
)
def test_a_line_is_a_row(changes: dict[str, Any], text: str) -> None:
    assert text in rows([replace(ONE, **changes)])


def test_every_share_of_each_trace_is_there() -> None:
    assert [(one.trace, one.uptake) for one in read()] == [(name, share) for name in SOURCES for share in UPTAKES]


def test_only_what_is_between_the_marks_is_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(extend_table, "RESULTS", tmp_path / "none.json")
    assert page(f"a\n{MARKS[0]}\nold\n{MARKS[1]}\nb\n") == f"a\n{MARKS[0]}\n\n{rows([])}\n\n{MARKS[1]}\nb\n"


def test_the_page_is_that_of_the_results() -> None:
    text = extend_table.PAGE.read_text()
    assert MARKS[0] in text and text == page(text), "write it again: python -m tests.bench.extend_table page"
