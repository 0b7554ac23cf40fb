"""adminkit serve from a page of another port, in Chromium: what the page learns, and what reaches the server."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("datasette", reason="not run: no datasette (pip install -e '.[serve]')")

from tests.support.builders import HOUR, MONDAY, job, make_trace
from tests.web.test_serve import serving, until

if TYPE_CHECKING:
    from tests.web.browser import Browser

pytestmark = pytest.mark.web

#: What a queue, a user and a job may be called.
HOSTILE = [
    "<script>document.title='run'</script>", "<img src=x onerror=\"document.title='run'\">", "</title></script><b>",
    "javascript:document.title='run'", "{{ 7 * 7 }}{% raise %}", "\u202egnp.exe", "ro\u200bot",
    "'\"><svg onload=alert(1)>", "=HYPERLINK(\"http://evil.example\")", "a\nb",
]  # fmt: skip
#: Asks for a picture of rows that are there, of rows that are not, a script, a frame and by fetch.
PAGE = """<!DOCTYPE html><title>elsewhere</title><script>
const learnt = {}; let left = 5;
const tell = (name, word) => { learnt[name] = word; if (--left == 0) document.title = JSON.stringify(learnt); };
const put = (tag, name, path) => { const one = document.createElement(tag);
    one.onload = () => tell(name, tag == "iframe" ? "frame" : "there"); one.onerror = () => tell(name, "nothing");
    one.src = "ADDRESS" + path; document.documentElement.append(one); };
put("img", "rows", "trace/accuracy.svg?queue=gq"); put("img", "none", "trace/accuracy.svg?queue=nobody");
put("script", "script", "trace.json?sql=select+1"); put("iframe", "framed", "trace");
fetch("ADDRESStrace.json?sql=select+2", {mode: "no-cors"})
    .then(() => tell("fetch", "there"), () => tell("fetch", "nothing"));
</script>"""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    folder = tmp_path_factory.mktemp("elsewhere")
    jobs = [job(0, queue="gq", elapsed=HOUR, eligible_time=MONDAY)]
    for number, name in enumerate(HOSTILE, 1):
        jobs.append(job(number, queue=name, user=name, job_name=name, elapsed=HOUR, eligible_time=MONDAY))
    make_trace(folder / "trace.db", jobs)
    with serving(folder / "trace.db", folder / "log", "--tcp", 0, "--token-file", folder / "token") as said:
        port = said.partition("http://127.0.0.1:")[2].partition("/")[0]
        yield f"http://localhost:{port}/", (folder / "token").read_text().strip()


@pytest.fixture
def logged_in(browser: Browser, address: tuple[str, str]) -> str:
    where, token = address
    browser.driver.set_page_load_timeout(60)
    browser.driver.get(where)
    for field in browser.driver.find_elements("name", "token"):
        field.send_keys(token)
        field.submit()
    until(browser.driver, "return document.querySelector('h1') && !document.querySelector('[name=token]')")
    return where


@pytest.fixture
def elsewhere(logged_in: str) -> Iterator[str]:
    """The address of that page: the same host, so that the cookie is sent."""

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(PAGE.replace("ADDRESS", logged_in).encode())

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://localhost:{server.server_address[1]}/"
    server.shutdown()
    server.server_close()


def test_a_page_elsewhere_learns_nothing_and_asks_nothing(browser: Browser, elsewhere: str) -> None:
    browser.driver.get(elsewhere)
    until(browser.driver, "return document.title.startsWith('{')")
    learnt = browser.driver.execute_script("return JSON.parse(document.title)")  # type: ignore[no-untyped-call]
    assert learnt == {name: "frame" if name == "framed" else "nothing" for name in learnt} and len(learnt) == 5
    answered = browser.driver.execute_script(  # type: ignore[no-untyped-call]
        "return performance.getEntriesByType('resource').filter(one => one.responseStatus == 200).map(one => one.name)"
    )
    assert [one for one in answered if not one.startswith(elsewhere)] == []


def test_hostile_names_are_text_on_every_page(browser: Browser, logged_in: str) -> None:
    driver = browser.driver
    for path in (
        "trace/job?_facet=queue&_facet=user", "trace/run", "trace/accuracy", "trace/users", "trace/wait",
        "trace/states", "trace?sql=select+queue,user,job_name+from+run",
        "trace/job?queue=%3Cscript%3Edocument.title%3D%27run%27%3C/script%3E",
    ):  # fmt: skip
        driver.get(logged_in + path)
        found = driver.execute_script(  # type: ignore[no-untyped-call]
            "return [document.title, document.querySelectorAll('td b, td img, td script, td svg, h1 b').length, "
            "document.querySelectorAll('a[href^=\"javascript\"]').length]"
        )
        assert found[0] != "run" and found[1:] == [0, 0], path
