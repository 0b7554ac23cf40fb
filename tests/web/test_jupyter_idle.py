"""An idle server is warned in its pages, which save, and ends; while anything runs in it, it stays. All of it is real:
JupyterLab, kernels, terminals, a browser."""

from __future__ import annotations

import json
import os
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cluster.harness.cluster import Cluster
from tests.web import hub as harness
from tests.web.hub import hub_on, lab_environment, login
from tests.web.lab import TOKEN, Lab, lab

if TYPE_CHECKING:
    from tests.web.browser import Browser

pytestmark = pytest.mark.web

IDLE, WARN = 13, 10
LEFT = 20
#: Runs code in a kernel, whose file is the first argument, and waits until the kernel has taken it.
RUN = """
import sys, jupyter_client
client = jupyter_client.BlockingKernelClient(connection_file=sys.argv[1])
client.load_connection_file()
client.start_channels()
client.wait_for_ready(timeout=30)
client.execute(sys.argv[2])
while client.get_iopub_msg(timeout=30)["content"].get("execution_state") != "busy": pass
"""
#: Types a line into the first terminal, as the page does.
TYPE = """const done = arguments[arguments.length - 1];
const socket = new WebSocket(location.origin.replace("http", "ws") + "/terminals/websocket/1");
const line = JSON.stringify(["stdin", arguments[0] + "\\n"]);
socket.onopen = () => setTimeout(() => { socket.send(line); done(true); }, 1000);
socket.onerror = () => done(false);"""
EDITED = "return (document.querySelector('.cm-content') || {}).innerText || ''"
SAID = "return (document.querySelector('#adminkit-idle') || {}).innerText || ''"


@pytest.fixture(scope="module")
def made() -> Iterator[Path]:
    with lab_environment() as one:
        yield one


@contextmanager
def server(made: Path, tmp_path: Path, **env: str) -> Iterator[Lab]:
    with lab(made, tmp_path / "server", {"ADMINKIT_IDLE": str(IDLE), "ADMINKIT_WARN": str(WARN), **env}) as one:
        yield one


@pytest.fixture(scope="module")
def quick(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """One for questions alone: it stays for an hour."""
    with server(made, tmp_path_factory.mktemp("quick"), ADMINKIT_IDLE="3600") as one:
        yield one


def run(one: Lab, made: Path, code: str) -> None:
    """Run code in a new kernel."""
    kernel = one.ask("POST", "/api/kernels", {})["id"]
    file = one.folder.parent / f"RUNTIME_DIR/kernel-{kernel}.json"
    subprocess.run([made / "bin/python", "-c", RUN, file, code], check=True, timeout=60)


def said(browser: Browser) -> str:
    return str(browser.driver.execute_script(SAID))


def type_in(browser: Browser, text: str) -> None:
    """At the end of the editor's file."""
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    chain = ActionChains(browser.driver).click(browser.driver.find_element("css selector", ".cm-content"))
    chain.key_down(Keys.CONTROL).send_keys(Keys.END).key_up(Keys.CONTROL).send_keys(text).perform()


@pytest.mark.parametrize("path", ["/lab/tree/notes.txt", "/edit/notes.txt"], ids=["JupyterLab", "Notebook 7"])
def test_a_page_is_warned_and_saves_and_then_the_server_ends(
    made: Path, tmp_path: Path, browser: Browser, path: str
) -> None:
    # Long enough for a busy machine: twelve seconds until the warning, and as long as LEFT to save in.
    with server(made, tmp_path, ADMINKIT_IDLE=str(12 + LEFT), ADMINKIT_WARN=str(LEFT)) as one:
        one.ask("POST", "/api/kernels", {})
        notes = one.folder / "notes.txt"
        notes.write_text("saved")
        browser.driver.get(one.page(path))
        # Trap: the editor stands before the file is in it, and what is typed until then is lost.
        one.until("the file in the editor", lambda: browser.driver.execute_script(EDITED) == "saved", 25)
        type_in(browser, ", not yet")
        assert notes.read_text() == "saved"
        one.until("the warning", lambda: "is lost" in said(browser), 40)
        warned = time.monotonic()
        assert one.runs
        assert "Keep it running" in said(browser)
        if pictures := os.environ.get("ADMINKIT_SCREENSHOTS"):
            browser.driver.save_screenshot(f"{pictures}/jupyter-idle-{path.split('/')[1]}.png")
        one.until("the file to be saved", lambda: notes.read_text().strip() == "saved, not yet", LEFT - 2)
        assert [found for found in browser.accessibility() if "adminkit-idle" in found] == []
        type_in(browser, ", and more")
        one.until("the server to end", lambda: not one.runs, 30 + LEFT)
        assert time.monotonic() - warned > LEFT - 3
        assert notes.read_text().strip() == "saved, not yet, and more", "what was typed after the warning"
        assert one.process.returncode == 0
        one.until("the page to say so", lambda: "has ended" in said(browser), 40)


def test_the_button_keeps_the_server(made: Path, tmp_path: Path, browser: Browser) -> None:
    from selenium.webdriver.common.by import By

    with server(made, tmp_path) as one:
        one.ask("POST", "/api/kernels", {})
        browser.driver.get(one.page("/lab"))
        one.until("the warning", lambda: said(browser), 40)
        browser.driver.find_element(By.CSS_SELECTOR, "#adminkit-idle button").click()
        one.until("the warning to go", lambda: not said(browser), 5)
        assert one.phase == "idle"
        again = one.until("the next warning", lambda: said(browser), 30)
        assert again > IDLE - WARN - 3, "it counts from the click"


def test_a_busy_kernel_is_never_ended(made: Path, tmp_path: Path) -> None:
    """Beside an idle one, and without a page that is open."""
    with server(made, tmp_path) as one:
        one.ask("POST", "/api/kernels", {})
        run(one, made, "import time; time.sleep(18)")
        started = time.monotonic()
        while time.monotonic() - started < 17:
            assert one.phase == "idle"
            time.sleep(1)
        one.until("the server to end when the kernel has", lambda: not one.runs, 30)
        assert time.monotonic() - started > 18 + IDLE - 3
        assert "what it has in memory is lost" in one.said()


def test_a_kernel_that_goes_on_is_warned_no_more(made: Path, tmp_path: Path) -> None:
    with server(made, tmp_path) as one:
        one.until("the warning", lambda: one.phase == "warn", 20)
        run(one, made, "1 + 1")
        one.until("the warning to go", lambda: one.phase == "idle", 5)


def test_a_terminal_with_a_program_is_never_ended(made: Path, tmp_path: Path, browser: Browser) -> None:
    """One without is idle, whatever page is open."""
    with server(made, tmp_path) as one:
        one.ask("POST", "/api/terminals")
        browser.driver.get(one.page("/lab"))
        assert browser.driver.execute_async_script(TYPE, "sleep 18 &"), "the terminal could not be reached"
        started = time.monotonic()
        while time.monotonic() - started < 16:
            assert one.phase == "idle"
            time.sleep(1)
        one.until("the server to end when the program has", lambda: not one.runs, 30)


@pytest.mark.parametrize(
    ("idle", "warn", "why"),
    [("", "", "off by default"), ("10", "60", "a warning that is longer"), ("-1", "$(id)", "no numbers")],
)
def test_a_server_without_settings_stays(made: Path, tmp_path: Path, idle: str, warn: str, why: str) -> None:
    with server(made, tmp_path, ADMINKIT_IDLE=idle, ADMINKIT_WARN=warn) as one:
        assert one.phase == "off", why


def test_the_page_is_told_in_its_language(made: Path, tmp_path: Path) -> None:
    with server(made, tmp_path) as one:
        one.until("the warning", lambda: one.phase == "warn", 20)
        told = one.ask("GET", "/adminkit/idle", language="ja,en;q=0.5")
        assert "失われます" in told["text"]
        assert told["keep"] == "終了しない"
        one.until("the server to end", lambda: not one.runs, 20)


@pytest.mark.parametrize(
    ("body", "token", "status", "why"),
    [
        ({"page": "a", "what": "keep"}, "", 403, "nobody"),
        ({"page": "a", "what": "keep"}, "0" * 32, 403, "somebody else"),
        ({"page": "a", "what": "end"}, TOKEN, 400, "there is no such word"),
        ({"page": ["a"], "what": "keep"}, TOKEN, 400, "a name is a text"),
        ([], TOKEN, 400, "no object"),
        ({"page": "a", "what": "saved"}, TOKEN, 200, "the user"),
    ],
)
def test_the_warning_is_answered_by_the_user_alone(quick: Lab, body: object, token: str, status: int, why: str) -> None:
    request = urllib.request.Request(
        f"http://127.0.0.1:{quick.port}/adminkit/idle",
        json.dumps(body).encode(),
        {"Authorization": f"token {token}"} if token else {},
    )
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request) as answer:
            found = answer.status
    except urllib.error.HTTPError as error:
        found = error.code
    assert found == status, why


def test_the_job_of_an_idle_server_ends_and_gives_back_its_gpu(
    made: Path, hub_cluster: Cluster, browser: Browser
) -> None:
    with hub_on(hub_cluster, made) as hub, hub.offering(harness.IDLE):
        hub.spawn("games", "idle")
        hub.until("the server to be ready", lambda: hub.ready("games"))
        job = hub.job("games")
        login(browser, hub, "games", page="/user/games/lab", there="#jp-main-dock-panel, #main")
        hub.until("the warning", lambda: "is lost" in said(browser))
        assert hub.ready("games")
        assert hub.cluster.wait(job)[0] == "COMPLETED"
        hub.until("the hub to notice", lambda: not hub.server("games"))
        assert "gres/gpu=1" not in hub.cluster.ask("scontrol", "show", "node", "-o").partition("AllocTRES=")[2]
        login(browser, hub, "games")
        text = browser.driver.execute_script("return document.body.innerText")
        assert "Your last server was ended after no kernel or terminal had run anything for 40 s" in text
        assert "COMPLETED" not in text and "GET /" not in text, text
