"""Reports and letters in a real browser: on a phone and on a desk, by day and by night."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from datetime import UTC
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from adminkit.feedback.letter import Letter
from adminkit.render.html import page
from adminkit.render.report import Report
from tests.feedback import letters
from tests.support.builders import HOUR, job
from tests.support.reports import (
    HOSTILE,
    accuracy_of,
    parallelism_of,
    pieces_of,
    restarts_of,
    some_chains,
    some_jobs,
    some_waits,
    wait_of,
)

if TYPE_CHECKING:
    from tests.web.browser import Browser, Seen

pytestmark = pytest.mark.web

PHONE, DESK = 360, 1280
VIEWS = [(PHONE, False), (PHONE, True), (DESK, False), (DESK, True)]
NAMES = ["phone by day", "phone by night", "desk by day", "desk by night"]
views = pytest.mark.parametrize(("width", "dark"), VIEWS, ids=NAMES)


def assert_well_shown(seen: Seen, width: int, dark: bool) -> None:
    assert seen.console == []
    assert seen.requests == [], "a page needs nothing but itself"
    assert seen.scripts == 0
    assert seen.width <= width, "nothing sticks out to the right"
    assert seen.paper < 0.1 if dark else seen.paper > 0.8
    assert seen.faint == []


#: What is wrong with a page -> the part of what is seen that tells.
WRONG = {
    "<script>nothing.there()</script>": ("console", "nothing is not defined"),
    "<img src='http://tracker.example/dot.png'>": ("requests", "http://tracker.example/dot.png"),
    "<style>@import 'https://fonts.example/a.css';</style>": ("requests", "https://fonts.example/a.css"),
    "<div style='width:2000px'>wide</div>": ("width", "2"),
    "<p style='position:absolute;left:1900px'>far away</p>": ("width", "19"),
    "<p style='color:#999'>grey</p>": ("faint", "grey 2.85"),
}


@pytest.mark.parametrize("html", WRONG)
def test_what_is_wrong_with_a_page_is_seen(browser: Browser, tmp_path: Path, html: str) -> None:
    (tmp_path / "page.html").write_text(f"<!DOCTYPE html><title>x</title><body>{html}")
    seen = browser.show(tmp_path / "page.html", DESK, False)
    part, expected = WRONG[html]
    assert expected in str(getattr(seen, part))
    with pytest.raises(AssertionError):
        assert_well_shown(seen, DESK, False)


# reports


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what `adminkit report` makes of the look-alike of a published trace."""
    folder = tmp_path_factory.mktemp("demo")
    adminkit("demo", "--db", folder / "demo.db", "--no-plot")
    for command in ("accuracy", "parallelism", "restarts", "wait"):
        text = adminkit("report", command, "--db", folder / "demo.db", "--format", "html")
        (folder / f"{command}.html").write_text(text)
    return folder


def adminkit(*words: str | Path) -> str:
    program = Path(sys.executable).with_name("adminkit")
    return subprocess.run([program, *map(str, words)], capture_output=True, text=True, check=True).stdout


@views
@pytest.mark.parametrize(
    ("command", "title", "pictures"),
    [
        ("accuracy", "Accuracy of time limits: elapsed / limit", 5),
        ("parallelism", "Parallelism of jobs", 4),
        ("restarts", "Jobs that ran in several pieces", 0),
        ("wait", "Waits: from Eligible to the start", 1),
    ],
)
def test_a_report_of_the_command_line(
    browser: Browser, demo: Path, command: str, title: str, pictures: int, width: int, dark: bool
) -> None:
    seen = browser.show(demo / f"{command}.html", width, dark)
    assert_well_shown(seen, width, dark)
    assert seen.title == seen.headings[0]
    assert title in seen.title
    assert len(seen.figures) == pictures
    assert all(box[0] > 250 and box[1] > 60 for box in seen.figures), seen.figures
    assert all(seen.labels)
    assert ("Charts" in seen.headings) == bool(seen.figures)
    assert "aaic-demo" in seen.text


def hostile(folder: Path) -> Report:
    """Names that are markup, and one as long as a name can be."""
    jobs = [job(n, user=HOSTILE, queue=HOSTILE, elapsed=HOUR, time_limit=3 * HOUR) for n in range(1, 9)]
    return accuracy_of(folder, [*jobs, *(job(n, queue="q" * 200, elapsed=HOUR) for n in range(9, 20))])


REPORTS: dict[str, Callable[[Path], Report]] = {
    "accuracy": lambda folder: accuracy_of(folder, some_jobs()),
    "accuracy of nothing": lambda folder: accuracy_of(folder, []),
    "parallelism": lambda folder: parallelism_of(folder, some_jobs()),
    "restarts": lambda folder: restarts_of(folder, some_chains()),
    "wait": lambda folder: wait_of(folder, some_waits()),
    "one job's pieces": lambda folder: pieces_of(folder, some_chains(), "1"),
    "hostile names": hostile,
}


@views
@pytest.mark.parametrize("name", REPORTS)
def test_a_report_whatever_is_in_it(browser: Browser, tmp_path: Path, name: str, width: int, dark: bool) -> None:
    report = REPORTS[name](tmp_path)
    (tmp_path / "report.html").write_text(page(report, UTC))
    seen = browser.show(tmp_path / "report.html", width, dark)
    assert_well_shown(seen, width, dark)
    assert seen.headings[0] == report.meta.title
    assert len(seen.figures) == (len(report.pictures.panels) if report.pictures else 0)


# letters


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Letter]:
    """Every kind of letter in every language, from one trace."""
    kinds = [(kind, language) for kind in letters.DUES for language in ("en", "ja")]
    dues = [letters.DUES[kind](language) for kind, language in kinds]  # type: ignore[no-untyped-call]
    trace = letters.trace(tmp_path_factory.mktemp("letters") / "t.db")
    return dict(zip(kinds, letters.write(trace, *dues), strict=True))


@views
@pytest.mark.parametrize("language", ["en", "ja"])
@pytest.mark.parametrize("kind", letters.DUES)
def test_a_letter(
    browser: Browser,
    written: dict[tuple[str, str], Letter],
    tmp_path: Path,
    kind: str,
    language: str,
    width: int,
    dark: bool,
) -> None:
    letter = written[kind, language]
    (tmp_path / "letter.html").write_text(letter.html)
    seen = browser.show(tmp_path / "letter.html", width, dark)
    assert_well_shown(seen, width, dark)
    assert seen.title == letter.subject
    assert len(seen.text) > 100


@pytest.fixture(scope="module")
def hostile_letters(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Letters about jobs whose names are markup, or as long as a name can be."""
    folder, found = tmp_path_factory.mktemp("hostile"), list[str]()
    for name in (HOSTILE, "n" * 250, "<style>*{width:9000px}</style><img src=http://tracker.example/x>"):
        one = letters.resnet(60, letters.NEXT_MONDAY - 6 * HOUR, job_name=name)
        trace = letters.trace(folder / f"{len(found)}.db", [*letters.JOBS[:40], one])
        found += [letter.html for letter in letters.write(trace, letters.end(one))]
    return found


@views
def test_a_letter_about_a_job_with_a_hostile_name(
    browser: Browser, hostile_letters: list[str], tmp_path: Path, width: int, dark: bool
) -> None:
    for html in hostile_letters:
        (tmp_path / "letter.html").write_text(html)
        assert_well_shown(browser.show(tmp_path / "letter.html", width, dark), width, dark)
