"""An idle server is warned in its pages, which save, and ends, and its job gives back its GPU. All of it is real:
JupyterLab, a hub, a browser."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cluster.harness.cluster import Cluster
from tests.web import hub as harness
from tests.web.hub import hub_on, login
from tests.web.lab import IDLE, WARN, idle_lab

if TYPE_CHECKING:
    from tests.web.browser import Browser

pytestmark = pytest.mark.web

LEFT = 20
EDITED = "return (document.querySelector('.cm-content') || {}).innerText || ''"
SAID = "return (document.querySelector('#adminkit-idle') || {}).innerText || ''"


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
    with idle_lab(made, tmp_path, ADMINKIT_IDLE=str(12 + LEFT), ADMINKIT_WARN=str(LEFT)) as one:
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

    with idle_lab(made, tmp_path) as one:
        one.ask("POST", "/api/kernels", {})
        browser.driver.get(one.page("/lab"))
        one.until("the warning", lambda: said(browser), 40)
        browser.driver.find_element(By.CSS_SELECTOR, "#adminkit-idle button").click()
        one.until("the warning to go", lambda: not said(browser), 5)
        assert one.phase == "idle"
        again = one.until("the next warning", lambda: said(browser), 30)
        assert again > IDLE - WARN - 3, "it counts from the click"


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
