"""Pictures: their structure, not their bytes."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from datetime import UTC
from html.parser import HTMLParser
from pathlib import Path

import pytest

from adminkit.errors import AdminkitError
from adminkit.render.figure import picture
from adminkit.render.html import page
from adminkit.render.report import Boxes, Curves, Report
from adminkit.render.terminal import plot
from tests.support.builders import HOUR, job
from tests.support.reports import HOSTILE, accuracy_of, parallelism_of, some_jobs

PNG = b"\x89PNG\r\n\x1a\n"
BOTH = pytest.mark.parametrize("made", [accuracy_of, parallelism_of])
#: Elements that have no end tag.
VOID = {"meta", "br", "wbr", "hr", "img", "input", "link"}


class Page(HTMLParser):
    """Collects tags and text; fails where tags do not nest."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def svg_text(data: bytes) -> str:
    return " ".join("".join(node.itertext()) for node in ET.fromstring(data).iter("{http://www.w3.org/2000/svg}text"))


@BOTH
def test_a_png_is_a_png_of_a_readable_size(tmp_path: Path, made: Callable[..., Report]) -> None:
    data = picture(made(tmp_path, some_jobs()), "png")
    assert data.startswith(PNG)
    width, height = (int.from_bytes(data[at : at + 4]) for at in (16, 20))
    assert 900 <= width <= 1600
    assert height <= 2 * width


def test_an_svg_names_queues_limits_and_axes(tmp_path: Path) -> None:
    said = svg_text(picture(accuracy_of(tmp_path, some_jobs()), "svg"))
    for words in (
        "gq: 32 jobs",
        "gq-short: 10 jobs",
        "default 1 h",
        "maximum 72 h",
        "share of jobs",
        "elapsed / limit",
    ):
        assert words in said


def test_the_same_report_makes_the_same_svg(tmp_path: Path) -> None:
    report = accuracy_of(tmp_path, some_jobs())
    assert picture(report, "svg") == picture(report, "svg")


def test_bars_say_their_shares(tmp_path: Path) -> None:
    said = svg_text(picture(parallelism_of(tmp_path, some_jobs()), "svg"))
    for words in ("All jobs by class", "Multi-GPU jobs by number of GPUs", "3 nodes", "50.00 %"):
        assert words in said


@BOTH
def test_nothing_is_drawn_of_no_job(tmp_path: Path, made: Callable[..., Report]) -> None:
    report = made(tmp_path, [])
    assert report.pictures is None
    with pytest.raises(AdminkitError):
        picture(report, "png")
    assert "<svg" not in page(report, UTC)


@BOTH
def test_a_page_is_whole_and_needs_nothing_else(tmp_path: Path, made: Callable[..., Report]) -> None:
    text = page(made(tmp_path, some_jobs()), UTC)
    found = Page(text)
    assert not {"script", "link", "iframe", "img", "object"} & {tag for tag, _ in found.tags}
    outside = [v for _, attrs in found.tags for k, v in attrs.items() if k in ("src", "href", "xlink:href") and v]
    assert all(v.startswith("#") for v in outside)
    assert "@import" not in text
    assert not re.search(r"url\((?!#)", text)
    assert ("name", "viewport") in [next(iter(a.items())) for t, a in found.tags if t == "meta" and a]
    assert "prefers-color-scheme: dark" in text
    assert "@media print" in text


def test_a_page_follows_light_and_dark_in_its_pictures_too(tmp_path: Path) -> None:
    text = page(accuracy_of(tmp_path, some_jobs()), UTC)
    body = text[text.index("<body>") :]
    assert "var(--ran)" in body
    assert "var(--ink)" in body
    assert not re.findall(r"#[0-9a-f]{6}", body)


def test_every_picture_of_a_page_is_described_for_those_who_cannot_see_it(tmp_path: Path) -> None:
    found = Page(page(accuracy_of(tmp_path, some_jobs()), UTC))
    pictures = [attrs for tag, attrs in found.tags if tag == "svg"]
    assert len(pictures) == 4
    assert all(attrs["role"] == "img" and attrs["aria-label"] for attrs in pictures)


def test_a_hostile_name_stays_text_in_every_picture(tmp_path: Path) -> None:
    report = accuracy_of(tmp_path, [job(1, queue=HOSTILE, cluster=HOSTILE), job(2, queue=HOSTILE, cluster=HOSTILE)])
    text = page(report, UTC)
    assert "script" not in {tag for tag, _ in Page(text).tags}
    assert "\x1b" not in text
    assert "$x$" in svg_text(picture(report, "svg"))
    assert picture(report, "png").startswith(PNG)
    drawn = plot(report.pictures, 80, colour=False, ascii_only=False) if report.pictures else ""
    assert "\x1b" not in drawn
    assert "\\x1b[31m" in drawn


def test_many_queues_are_cut_to_the_busiest_and_said_so(tmp_path: Path) -> None:
    jobs = [job(n, queue=f"q{n % 20:02}") for n in range(1, 101)]
    pictures = accuracy_of(tmp_path, jobs).pictures
    assert pictures is not None
    assert [type(panel) for panel in pictures.panels] == [Curves] * 12 + [Boxes]
    assert "leaves out 8" in pictures.caption


def test_a_page_of_many_jobs_stays_small(tmp_path: Path) -> None:
    jobs = [job(n, elapsed=61 + 37 * n, time_limit=72 * HOUR + n) for n in range(1, 5001)]
    assert len(page(accuracy_of(tmp_path, jobs), UTC)) < 150_000


@pytest.mark.parametrize("width", [40, 80, 119, 200])
@pytest.mark.parametrize("ascii_only", [False, True])
@BOTH
def test_a_plot_keeps_to_the_terminal(
    tmp_path: Path, made: Callable[..., Report], ascii_only: bool, width: int
) -> None:
    pictures = made(tmp_path, some_jobs()).pictures
    assert pictures is not None
    drawn = plot(pictures, width, colour=False, ascii_only=ascii_only)
    assert max(map(len, drawn.splitlines())) <= width
    assert drawn.isascii() or not ascii_only
    assert plot(pictures, width, colour=True, ascii_only=ascii_only).count("\x1b[") > 4


@BOTH
def test_plots_are_as_reviewed(tmp_path: Path, golden: Callable[[str, str], None], made: Callable[..., Report]) -> None:
    pictures = made(tmp_path, some_jobs()).pictures
    assert pictures is not None
    name = made.__name__.removesuffix("_of")
    golden(f"{name}-plot.txt", plot(pictures, 80, colour=False, ascii_only=False))
    golden(f"{name}-plot-ascii.txt", plot(pictures, 80, colour=False, ascii_only=True))
