"""The picture of backfill: it shows where the job goes, in colours that can be read by day and by night."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from itertools import pairwise

import pytest

from tools import backfill, docs

BOTH = pytest.mark.parametrize("words", [backfill.ENGLISH, backfill.JAPANESE], ids=lambda words: words.language)
#: What is written on what.
INKS = [("ink", on) for on in ("paper", "busy", "next", "limit")] + [("muted", "paper")]


@pytest.mark.parametrize(
    ("limit", "start", "why"),
    [
        (1, 0, "it is done before the next job needs the node"),
        (4, 0, "it fits to the minute"),
        (4.1, 8, "it would delay the next job"),
        (72, 8, "so would this"),
    ],
)
def test_a_job_goes_where_it_delays_nobody(limit: float, start: float, why: str) -> None:
    assert backfill.placed(limit).start == start, why


def test_the_next_job_starts_when_all_nodes_are_free_and_no_two_jobs_share_one() -> None:
    bars = [*backfill.PLANNED, backfill.placed(1)]
    for node in range(backfill.NODES):
        there = sorted((bar.start, bar.end) for bar in bars if bar.node <= node < bar.node + bar.count)
        assert all(before[1] <= after[0] for before, after in pairwise(there)), node
    assert max(bar.end for bar in bars if bar.kind == "running") == 4


@BOTH
def test_it_is_one_svg_that_loads_nothing_and_says_what_it_shows(words: backfill.Words) -> None:
    text = backfill.picture(words)
    top = ET.fromstring(text)
    space = "{http://www.w3.org/2000/svg}"
    assert (top.tag, top.attrib["lang"], top.attrib["role"]) == (f"{space}svg", words.language, "img")
    assert top.findtext(f"{space}title") == words.title
    assert top.findtext(f"{space}desc") == backfill.description(words)
    assert not re.search(r"href|url\(|@import|<script|[{}]\w+}", text.replace("http://www.w3.org/2000/svg", ""))


@BOTH
def test_everything_is_inside(words: backfill.Words) -> None:
    top = ET.fromstring(backfill.picture(words))
    _, _, width, height = map(float, top.attrib["viewBox"].split())
    for group in top.iter("{http://www.w3.org/2000/svg}g"):
        down = float(group.attrib["transform"].split()[1].rstrip(")"))
        for one in group:
            x, y = (float(one.attrib.get(name, 0)) for name in ("x", "y"))
            assert 0 <= x + float(one.attrib.get("width", 0)) <= width
            assert 0 <= down + y + float(one.attrib.get("height", 0)) <= height


@pytest.mark.parametrize("scheme", backfill.SCHEMES)
@pytest.mark.parametrize(("ink", "on"), INKS)
def test_words_can_be_read(scheme: str, ink: str, on: str) -> None:
    """4.5 is what WCAG 2 asks of small text."""
    one, other = sorted((luminance(backfill.SCHEMES[scheme][name]) for name in (ink, on)), reverse=True)
    assert (one + 0.05) / (other + 0.05) >= 4.5


def luminance(colour: str) -> float:
    """Relative luminance of #rrggbb, by WCAG 2."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_both_schemes_have_every_colour() -> None:
    assert backfill.SCHEMES["light"].keys() == backfill.SCHEMES["dark"].keys()
    used = set(re.findall(r"var\(--(\w+)\)", backfill.picture(backfill.ENGLISH)))
    assert used == backfill.SCHEMES["light"].keys()


@BOTH
def test_the_page_has_the_picture_and_its_words(words: backfill.Words) -> None:
    ending = "" if words.language == "en" else f".{words.language}"
    page = (docs.DOCS / f"users{ending}.md").read_text()
    assert f"![{backfill.description(words)}](backfill{ending}.svg)" in page
