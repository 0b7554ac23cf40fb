"""The panel Trend: its axes and its drawings."""

from __future__ import annotations

from zoneinfo import ZoneInfo

import pytest

from adminkit.render.figure import panels
from adminkit.render.report import Pictures, Trend
from adminkit.render.terminal import plot
from adminkit.render.trend import grid, sampled, ticks, top, value_label
from tests.support.builders import HOUR, MONDAY

DAY = 24 * HOUR
UTC = ZoneInfo("UTC")


def trend(*values: float | None, **changes: object) -> Trend:
    given = {"unit": "share", "marks": [("<b>\x1b[31m", MONDAY + DAY)], **changes}
    edges = [MONDAY + n * DAY for n in range(len(values) + 1)]
    return Trend("T", "s", edges, [("$x$<i>", values), ("b", values)], **given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("length", "texts", "why"),
    [
        (DAY, ["00:00", "06:00", "12:00", "18:00", "00:00"], "hours"),
        (4 * DAY, ["01-05", "01-06", "01-07", "01-08", "01-09"], "days"),
        (200 * DAY, ["2026-02", "2026-03", "2026-04", "2026-05", "2026-06", "2026-07"], "months"),
        (3000 * DAY, ["2028", "2030", "2032", "2034"], "years"),
    ],
)
def test_ticks_are_moments_of_the_calendar(length: int, texts: list[str], why: str) -> None:
    assert [text for _, text in ticks(MONDAY, MONDAY + length, 7, UTC)] == texts, why


def test_a_column_is_the_mean_of_its_time_and_unknown_stays_unknown() -> None:
    panel = trend(0.0, 1.0, None, 0.5)
    assert sampled(panel, panel.lines[0][1], 2) == [0.5, 0.5]
    assert sampled(panel, panel.lines[0][1], 4) == [0.0, 1.0, None, 0.5]
    assert (top(panel), top(trend(2300.0, unit="count")), top(trend(None))) == (1.0, 3000.0, 1.0)
    assert [value_label(at, trend(1.0, unit="count")) for at in (0, 950.0, 25_000, 3e6)] == ["0", "950", "25k", "3M"]


@pytest.mark.parametrize(
    ("most", "labels"),
    [
        (1.0, ["0", "0.25", "0.5", "0.75", "1"]),
        (1.5, ["0", "0.5", "1", "1.5"]),
        (3000.0, ["0", "1000", "2000", "3000"]),
        (0.005, ["0", "0.001", "0.002", "0.003", "0.004", "0.005"]),
        (80.0, ["0", "20", "40", "60", "80"]),
    ],
)
def test_lines_to_read_values_by_are_round(most: float, labels: list[str]) -> None:
    assert [value_label(value, trend(most, unit="count")) for value in grid(most)] == labels
    assert top(trend(most, unit="count")) == most


@pytest.mark.parametrize("values", [(0.5,), (None,), (0.0, 1.0, None, 1.7)])
def test_hostile_names_and_unknown_values_are_drawn(values: tuple[float | None, ...]) -> None:
    pictures = Pictures("P", "", [trend(*values)])
    said = plot(pictures, 80, colour=False, ascii_only=True)
    assert "\x1b" not in said
    assert "# $x$<i>" in said
    (svg,) = panels(pictures)
    assert "<b>" not in svg and "$x$&lt;i&gt;" in svg
