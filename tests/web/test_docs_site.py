"""The pages as a site: whole, alone on its host, and found by a search."""

from __future__ import annotations

import http.server
import subprocess
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.web.browser import Browser

pytestmark = pytest.mark.web

ROOT = Path(__file__).resolve().parents[2]


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Of a server of the site, as `make docs-site` builds it."""
    done = subprocess.run(["make", "-s", "docs-site"], cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    handler = partial(Quiet, directory=str(ROOT / "build/site"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://localhost:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_reader_finds_a_page_by_its_words(browser: Browser, address: str) -> None:
    from selenium.webdriver.support.ui import WebDriverWait

    driver = browser.driver
    driver.get(f"{address}/index.html")
    assert "adminkit" in driver.title
    driver.get(f"{address}/docs/first-week.html?q=walltime+accuracy")
    WebDriverWait(driver, 60).until(lambda one: "reports/accuracy" in one.page_source)


def test_every_page_of_the_docs_is_a_page_of_the_site(address: str) -> None:
    pages = {path.relative_to(ROOT).with_suffix(".html") for path in (ROOT / "docs").rglob("*.md")}
    there = {path.relative_to(ROOT / "build/site") for path in (ROOT / "build/site").rglob("*.html")}
    missing = {page for page in pages if page.name != "README.html"} - there
    assert missing == set()
