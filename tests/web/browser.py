"""A real Chromium without a window: opens a file as a phone or a desktop shows it, and says what a reader would see."""

from __future__ import annotations

import base64
import importlib.util
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from unittest import mock

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service

from tests.support.bounds import BOUNDS

#: Quiet, without a profile of anybody's, without a name that could be looked up. Root has no sandbox.
FLAGS: Final = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-dev-shm-usage --hide-scrollbars"
).split()
NOWHERE: Final = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost"

_PACKAGE: Final = importlib.util.find_spec("axe_playwright_python")
#: axe-core, which is read and nothing else of its package.
AXE: Final = Path(next(iter(_PACKAGE.submodule_search_locations or ()), "") if _PACKAGE else "") / "axe.min.js"

#: What is asked of the page. A width is that of the widest thing that cannot be scrolled by itself; contrast is WCAG's.
ASK: Final = """
const scrolled = one => { for (let up = one; up; up = up.parentElement)
    if (["auto", "scroll"].includes(getComputedStyle(up).overflowX)) return true; return false; };
const light = colour => { const [r, g, b] = colour.map(c => c / 255)
    .map(c => c <= 0.03928 ? c / 12.92 : Math.pow((c + 0.055) / 1.055, 2.4)); return 0.2126*r + 0.7152*g + 0.0722*b; };
const parse = text => { const found = text.match(/[\\d.]+/g).map(Number); return [found.slice(0, 3), found[3] ?? 1]; };
const paper = one => { for (let up = one; up; up = up.parentElement) {
    const [colour, alpha] = parse(getComputedStyle(up).backgroundColor); if (alpha > 0.99) return colour; }
    return matchMedia("(prefers-color-scheme: dark)").matches ? [18, 18, 18] : [255, 255, 255]; };
// Text of a picture stands on the shapes that were drawn before it, at its middle.
const behind = one => { let colour = paper(one); const svg = one.closest("svg"); if (!svg) return colour;
    const {left, right, top, bottom} = one.getBoundingClientRect(), x = (left + right) / 2, y = (top + bottom) / 2;
    for (const shape of svg.querySelectorAll("path")) {
        const box = shape.getBoundingClientRect(), style = getComputedStyle(shape);
        if (!/^rgb/.test(style.fill) || !(shape.compareDocumentPosition(one) & 4)) continue;
        if (x < box.left || x > box.right || y < box.top || y > box.bottom) continue;
        const [fill, alpha] = parse(style.fill), cover = alpha * style.opacity * style.fillOpacity;
        colour = colour.map((c, i) => c * (1 - cover) + fill[i] * cover); }
    return colour; };
const seen = one => { const box = one.getBoundingClientRect(); return box.width > 0 && box.height > 0; };
const everyone = [...document.body.querySelectorAll("*")];
let width = document.documentElement.scrollWidth, faint = [];
for (const one of everyone) {
    const box = one.getBoundingClientRect();
    if (!scrolled(one) && seen(one)) width = Math.max(width, Math.ceil(box.right));
    const text = [...one.childNodes].filter(n => n.nodeType == 3).map(n => n.data.trim()).join("");
    if (!text || !seen(one)) continue;
    const style = getComputedStyle(one);
    const ink = one.closest("svg") ? style.fill : style.color;
    if (!/^rgb/.test(ink)) continue;
    const [a, b] = [light(parse(ink)[0]), light(behind(one))].sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.5) faint.push(text.slice(0, 40) + " " + ((a + 0.05) / (b + 0.05)).toFixed(2));
}
return {
    title: document.title, width, faint, text: document.body.innerText,
    headings: [...document.querySelectorAll("h1, h2")].filter(seen).map(h => h.innerText.trim()),
    figures: [...document.querySelectorAll("figure svg")].map(s => s.getBoundingClientRect())
        .map(box => [Math.round(box.width), Math.round(box.height)]),
    labels: [...document.querySelectorAll("figure svg")].map(s => s.getAttribute("aria-label")),
    paper: light(paper(document.body)), scripts: document.scripts.length,
};
"""


@dataclass(frozen=True)
class Seen:
    """A page as it was shown."""

    title: str
    headings: list[str]
    text: str
    width: int  # pixels
    figures: list[tuple[int, int]]  # width and height of each
    labels: list[str]
    paper: float  # 0 black, 1 white
    faint: list[str]  # text that is hard to tell from what is behind it
    scripts: int
    console: list[str]
    requests: list[str]  # addresses beyond the file itself


class Browser:
    """One window."""

    def __init__(self, driver: webdriver.Chrome) -> None:
        self.driver = driver

    def show(self, path: Path, width: int, dark: bool) -> Seen:
        """The file in a window of that many pixels, with or without the reader's wish for dark pages."""
        screen = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 600}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
        for kind in ("browser", "performance"):
            self._log(kind)  # what was said of the page before
        self.driver.get(path.as_uri())
        found: dict[str, Any] = self.driver.execute_script(ASK)
        found["figures"] = [(box[0], box[1]) for box in found["figures"]]
        console = [str(entry["message"]) for entry in self._log("browser")]
        return Seen(**found, console=console, requests=self._requests(path.as_uri()))

    def accessibility(self) -> list[str]:
        """What axe-core has against the page that is shown, of what it calls serious or critical."""
        # A page with a policy runs no script of its own; the test's runs beside it.
        self.driver.execute_script(AXE.read_text())
        found = self.driver.execute_async_script(
            "const done = arguments[arguments.length - 1], what = {resultTypes: ['violations']};"
            " axe.run(what).then(done, error => done({error: String(error)}));"
        )
        assert "error" not in found, found["error"]
        assert found["passes"], "axe looked at nothing"
        return [
            f"{one['id']}: {node['target'][0]}"
            for one in found["violations"]
            if one["impact"] in ("serious", "critical")
            for node in one["nodes"]
        ]

    def printed(self) -> bytes:
        """The page that is shown as a PDF, A4."""
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
        made = self.driver.execute_cdp_cmd("Page.printToPDF", {"paperWidth": 8.27, "paperHeight": 11.69})
        return base64.b64decode(made["data"])

    def _requests(self, own: str) -> list[str]:
        sent = [json.loads(entry["message"])["message"] for entry in self._log("performance")]
        asked = [one["params"]["request"]["url"] for one in sent if one["method"] == "Network.requestWillBeSent"]
        assert own in asked, "the log of requests knows not even the page itself"
        return [url for url in asked if url != own and not url.startswith("data:")]

    def _log(self, kind: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.driver.get_log(kind)  # type: ignore[no-untyped-call]
        return found


@contextmanager
def chromium() -> Iterator[Browser]:
    """The host's Chromium with a profile of its own, gone afterwards."""
    options = Options()
    options.binary_location = shutil.which("chromium") or "chromium"
    profile = tempfile.mkdtemp(prefix="adminkit-chromium-")
    for flag in (*FLAGS, NOWHERE, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    try:
        # Python steers it through a port of this host, whatever proxy there is.
        with mock.patch.dict(os.environ, {"no_proxy": "localhost,127.0.0.1", "NO_PROXY": "localhost,127.0.0.1"}):
            driver = webdriver.Chrome(options, Service(shutil.which("chromedriver")))
            driver.set_script_timeout(BOUNDS["web"])  # how long axe takes says how busy the machine is
            try:
                yield Browser(driver)
            finally:
                driver.quit()
    finally:
        shutil.rmtree(profile, ignore_errors=True)
