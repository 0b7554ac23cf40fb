"""Heat maps: a value and a number of jobs in each cell, in every form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from adminkit.render.figure import OPACITY, panels, picture
from adminkit.render.format import LEVELS, levels
from adminkit.render.html import page
from adminkit.render.report import Heat, Meta, Pictures, Report
from adminkit.render.terminal import plot
from tests.render.test_pictures import PNG, Page, svg_text
from tests.support.reports import HOSTILE

HEAT = Heat(
    "Waits",
    "two sizes",
    "GPUs",
    "limit",
    ["1", "2-4"],
    ["1 h", "4 h", "> 168 h"],
    [[5.0, 600.0, None], [7200.0, 90.0, 36_000.0]],
    [[1200, 30, 0], [4, 9, 77]],
    few=5,
)


def shown(*found: Heat) -> Report:
    meta = Meta("Waits", "", (None, None), (), {}, 5, {})
    return Report(meta, (), [], (), Pictures("T", "", list(found)))


@pytest.mark.parametrize(
    ("values", "counts", "style", "dark", "why"),
    [
        ([[5, 60, 61]], [[9, 9, 9]], "duration", [[0, 0, 0]], "what starts within a minute is light"),
        ([[60, 3599, 3600]], [[9, 9, 9]], "duration", [[0, 5, 5]], "an hour is dark where nothing is longer"),
        ([[60, 3700, 216_000]], [[9, 9, 9]], "duration", [[0, 3, 5]], "by the logarithm"),
        ([[60, 1e6]], [[9, 4]], "duration", [[0, None]], "a few jobs have no colour and set no scale"),
        ([[None, 0]], [[0, 9]], "duration", [[None, 0]], "no job"),
        ([[0.0, 0.5, 1.0]], [[9, 9, 9]], "share", [[0, 3, 5]], "shares, from the least to the greatest"),
        ([[3, 3]], [[9, 9]], "count", [[0, 0]], "all alike"),
        ([], [], "duration", [], "nothing"),
    ],
)
def test_darkness_goes_by_value(
    values: list[list[float | None]], counts: list[list[int]], style: str, dark: list[list[int | None]], why: str
) -> None:
    assert levels(replace(HEAT, values=values, counts=counts, style=style)) == dark, why


def test_each_level_is_darker_than_the_one_before() -> None:
    assert list(OPACITY) == sorted(OPACITY)
    assert len(set(OPACITY)) == LEVELS


def test_a_picture_has_every_value_and_its_jobs() -> None:
    said = svg_text(picture(shown(HEAT), "svg"))
    for words in ("Waits", "GPUs", "limit", "2-4", "> 168 h", "5 s", "1,200", "10 min", "2 h", "4", "10 h", "·"):
        assert words in said
    assert picture(shown(HEAT), "png").startswith(PNG)


def test_only_cells_of_enough_jobs_are_coloured() -> None:
    (svg,) = panels(Pictures("T", "", [HEAT]))
    assert svg.count("fill: #0072b2") == 4


def test_a_page_has_the_numbers_as_a_table_too() -> None:
    text = page(shown(HEAT), None)
    found = Page(text)
    assert [tag for tag, _ in found.tags].count("details") == 1
    table = text[text.index("<details>") :]
    for words in ('<th scope="row">2-4</th>', "5 s<br>1,200 jobs", "2 h<br>4 jobs", '<td class="n"></td>'):
        assert words in table
    assert "var(--ran)" in text[text.index("<body>") :]


def test_hostile_names_stay_text() -> None:
    evil = replace(HEAT, title=HOSTILE, subtitle=HOSTILE, rows=[HOSTILE, "2"], columns=["1 h", HOSTILE, "4 h"])
    text = page(shown(evil), None)
    assert "script" not in {tag for tag, _ in Page(text).tags}
    drawn = plot(Pictures("T", "", [evil]), 80, colour=False, ascii_only=False)
    assert "\x1b" not in text + drawn
    assert picture(shown(evil), "png").startswith(PNG)


@pytest.mark.parametrize("width", [24, 40, 80])
@pytest.mark.parametrize("ascii_only", [False, True])
def test_a_plot_keeps_to_the_terminal_and_loses_no_cell(width: int, ascii_only: bool) -> None:
    drawn = plot(Pictures("T", "", [HEAT]), width, colour=False, ascii_only=ascii_only)
    assert max(map(len, drawn.splitlines())) <= width
    assert drawn.isascii() or not ascii_only
    for words in ("1,200", "10 min", "2 h", "1.5 min", "10 h", "77"):
        assert words in drawn


def test_a_plot_is_as_reviewed(golden: Callable[[str, str], None]) -> None:
    pictures = Pictures("Half start at once", "The darker, the longer.", [HEAT])
    golden("heat-plot.txt", plot(pictures, 80, colour=False, ascii_only=False))
    golden("heat-plot-ascii.txt", plot(pictures, 26, colour=False, ascii_only=True))
