"""The page of all reports in a real browser: at three widths, by day and by night, in print, with the keyboard."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.builders import HOUR, MONDAY, job, make_trace
from tests.support.reports import HOSTILE
from tests.web.test_pages import assert_well_shown

if TYPE_CHECKING:
    from tests.web.browser import Browser

pytestmark = pytest.mark.web

WIDTHS = (360, 768, 1440)
LANGUAGES = ("en", "ja")
#: The largest page of the look-alike that is worth sending to a phone, in bytes.
MOST = 1_500_000


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the page of the look-alike in every language, and one of a trace whose names are markup."""
    folder = tmp_path_factory.mktemp("page")
    adminkit("demo", "--db", folder / "demo.db", "--no-plot")
    for language in LANGUAGES:
        write(folder / f"{language}.html", folder / "demo.db", "2018-01-01", language)
    queues = [("c", HOSTILE, 0, HOUR, 72 * HOUR), ("c", HOSTILE, MONDAY, 60, HOUR)]
    jobs = [
        job(n, cluster="c", user=HOSTILE, queue=HOSTILE, job_name="n" * 250 if n % 2 else HOSTILE, gpus=4,
            elapsed=60 * n, time_limit=72 * HOUR, eligible_time=MONDAY)
        for n in range(1, 150)
    ]  # fmt: skip
    path = make_trace(folder / "hostile.db", jobs, queues)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("INSERT INTO action (at, what, line) VALUES (?, 'policy install', '<i>')", (MONDAY + HOUR,))
    write(folder / "hostile.html", path, "2026-01-20", "ja")
    return folder


def adminkit(*words: str | Path) -> None:
    program = Path(sys.executable).with_name("adminkit")
    subprocess.run([program, *map(str, words)], capture_output=True, check=True)


def write(target: Path, db: Path, day: str, language: str) -> None:
    adminkit("report", "all", "--html", target, "--db", db, "--as-of", day, "--lang", language)


@pytest.mark.parametrize("dark", [False, True], ids=["by day", "by night"])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", [*LANGUAGES, "hostile"])
def test_the_page(browser: Browser, pages: Path, name: str, width: int, dark: bool) -> None:
    path = pages / f"{name}.html"
    seen = browser.show(path, width, dark)
    assert_well_shown(seen, width, dark)
    assert path.stat().st_size < MOST
    assert len(seen.figures) > 10 and all(seen.labels)
    assert all(box[0] > 250 and box[1] > 60 for box in seen.figures), seen.figures
    browser.driver.execute_script("for (const one of document.querySelectorAll('details')) one.open = true;")
    assert browser.accessibility() == []
    wide = browser.driver.execute_script("return document.documentElement.scrollWidth")
    assert wide <= width, "with everything open, too"


def test_what_axe_would_find_is_found(browser: Browser, tmp_path: Path) -> None:
    """Else the test above could not fail."""
    (tmp_path / "page.html").write_text("<!DOCTYPE html><title>x</title><body><img src='data:,'><p>x</p>")
    browser.show(tmp_path / "page.html", 768, False)
    assert {one.partition(":")[0] for one in browser.accessibility()} == {"html-has-lang", "image-alt"}


def test_a_keyboard_opens_the_numbers_of_a_picture_and_scrolls_them(browser: Browser, pages: Path) -> None:
    browser.show(pages / "en.html", 360, False)
    opened = browser.driver.execute_script(
        """const one = document.querySelector("figure details"), summary = one.querySelector("summary");
        summary.focus(); const focused = document.activeElement === summary; summary.click();
        const box = one.querySelector(".scroll"); box.focus();
        return [focused, one.open, document.activeElement === box, box.innerText.length > 20];"""
    )
    assert opened == [True, True, True, True]


def test_the_policy_of_the_page_keeps_out_what_a_name_might_bring_in(
    browser: Browser, pages: Path, tmp_path: Path
) -> None:
    """What would run if a name were not escaped."""
    bad = (
        "<script>document.title = 'ran'</script><img src='http://tracker.example/x' onerror=\"document.title = 'ran'\">"
    )
    text = (pages / "en.html").read_text().replace("</main>", bad + "</main>")
    (tmp_path / "bad.html").write_text(text)
    seen = browser.show(tmp_path / "bad.html", 768, False)
    assert seen.title == "Report on aaic-demo"
    assert sum("Content Security Policy" in said for said in seen.console) >= 2
    assert not [url for url in seen.requests if "tracker" in url] or "blocked" in " ".join(seen.console).lower()


def test_in_print_it_is_light_and_some_pages_long(browser: Browser, pages: Path) -> None:
    browser.show(pages / "en.html", 1440, True)
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    paper = browser.driver.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert paper == "rgb(255, 255, 255)"
    printed = browser.printed()
    assert printed.startswith(b"%PDF") and 3 < printed.count(b"/Type /Page\n") < 40
