"""What the page of JupyterLab says after each series of answers, which a real server cannot be made to give at will."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.cluster.harness.processes import until

if TYPE_CHECKING:
    from tests.web.browser import Browser

pytestmark = pytest.mark.web

ROOT: Final = Path(__file__).resolve().parents[2]
SCRIPT: Final = ROOT / "adminkit/jupyter/data/share/jupyter/labextensions/adminkit-idle/static/idle.js"
#: Gives the script these answers, one a question, the last again and again. Null: nobody answers.
PAGE: Final = """<!doctype html><meta charset="utf-8"><title>page</title><body><script>
const answers = %s;
window.asked = 0;
window.saved = 0;
const timeout = window.setTimeout;  // its seconds are milliseconds here
window.setTimeout = (then, after) => timeout(then, after / 1000);
window.fetch = async (url, given) => {
  const answer = answers[Math.min(window.asked, answers.length - 1)];
  if (!(given && given.method)) window.asked += 1;
  if (answer === null) throw new TypeError("Failed to fetch");
  const status = answer.status || 200;
  return { ok: status < 300, redirected: false, status, json: async () => ({ again: 20, ...answer }) };
};
</script><script src="%s"></script><script>
const app = { serviceManager: { serverSettings: { baseUrl: "/", token: "" } },
              commands: { execute: async () => { window.saved += 1; } } };
window._JUPYTERLAB["adminkit-idle"].get().then(made => made().default.activate(app));
</script>"""
SAID: Final = "return (document.querySelector('#adminkit-idle') || {}).innerText || ''"
ENDED: Final = "The server has ended."

IDLE: Final[dict[str, Any]] = {"phase": "idle"}
END: Final[dict[str, Any]] = {"phase": "end"}


def warn(left: float = 60, text: str = "It ends soon.", phase: str = "warn") -> dict[str, Any]:
    return {"phase": phase, "left": left, "text": text, "keep": "Keep it", "ended": ENDED, "language": "en"}


WARNED: Final = "It ends soon.Keep it"
#: The answers, what the page says after the last one, why
SERIES: Final = [
    ([IDLE], "", "nothing to say"),
    ([warn()], WARNED, "the warning with its button"),
    ([warn(), IDLE], "", "somebody kept it"),
    ([warn(0), None], ENDED, "it went when it had said it would"),
    ([warn(0), END, None], ENDED, "it answered once more while it ended"),
    ([warn(phase="save"), END, END, None], ENDED, "the same after the page has saved"),
    ([warn(), END], WARNED, "it is ending, not gone"),
    ([warn(60), None], WARNED, "it cannot be reached, long before its end: who knows why"),
    ([None], "", "never warned: the page's own words say that the server is away"),
    ([warn(0), {"status": 503}], ENDED, "the hub answers in its place"),
    ([warn(0), None, IDLE], "", "it was only away"),
    ([warn(text="<img src=x onerror='document.title=1'>")], "<img src=x onerror='document.title=1'>Keep it", "no HTML"),
]  # fmt: skip


def shown(browser: Browser, tmp_path: Path, answers: list[dict[str, Any] | None], asked: int) -> str:
    """What the page says after so many questions at least; the last answer is given again and again."""
    file = tmp_path / "page.html"
    file.write_text(PAGE % (json.dumps(answers).replace("<", "\\u003c"), SCRIPT.as_uri()))
    browser.driver.get(file.as_uri())
    until("the page to ask", lambda: browser.driver.execute_script("return window.asked") >= asked, 20)
    return str(browser.driver.execute_script(SAID)).replace("\n", "")


@pytest.mark.parametrize(("answers", "said", "why"), SERIES, ids=[case[2] for case in SERIES])
def test_what_the_page_says(
    tmp_path: Path, browser: Browser, answers: list[dict[str, Any] | None], said: str, why: str
) -> None:
    assert shown(browser, tmp_path, answers, len(answers) + 2) == said, why
    assert browser.driver.title == "page"


def test_a_server_without_the_extension_is_asked_once(tmp_path: Path, browser: Browser) -> None:
    assert shown(browser, tmp_path, [{"status": 404}, warn()], 1) == ""
    time.sleep(0.5)
    assert browser.driver.execute_script("return window.asked") == 1


def test_a_warning_saves_once(tmp_path: Path, browser: Browser) -> None:
    assert shown(browser, tmp_path, [warn()], 8) == WARNED
    assert browser.driver.execute_script("return window.saved") == 1
