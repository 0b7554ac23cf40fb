"""The pictures of the report on soft limits."""

from __future__ import annotations

from pathlib import Path

from adminkit.render.terminal import plot
from tests.support.reports import planned_of, some_planned


def test_the_plot_names_needs_and_soft_limits(tmp_path: Path) -> None:
    report = planned_of(tmp_path, some_planned())
    assert report.pictures is not None
    drawn = plot(report.pictures, 100, colour=False, ascii_only=False)
    assert "● needed  ○ soft limit  ◉ both" in drawn
    assert "39.1 % of the jobs outlived their soft limit" in drawn and "to twice" in drawn


def test_without_a_need_there_is_nothing_to_draw(tmp_path: Path) -> None:
    assert planned_of(tmp_path, []).pictures is None
