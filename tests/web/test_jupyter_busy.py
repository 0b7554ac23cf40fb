"""A server in which anything runs stays; which settings count, what its page is told, and who may answer. A real server
with kernels and terminals.
"""

from __future__ import annotations

import json
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.web.lab import IDLE, TOKEN, Lab, idle_lab

if TYPE_CHECKING:
    from tests.web.browser import Browser

pytestmark = pytest.mark.web

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


@pytest.fixture(scope="module")
def quick(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """One for questions alone: it stays for an hour."""
    with idle_lab(made, tmp_path_factory.mktemp("quick"), ADMINKIT_IDLE="3600") as one:
        yield one


def run(one: Lab, made: Path, code: str) -> None:
    """Run code in a new kernel."""
    kernel = one.ask("POST", "/api/kernels", {})["id"]
    file = one.folder.parent / f"RUNTIME_DIR/kernel-{kernel}.json"
    subprocess.run([made / "bin/python", "-c", RUN, file, code], check=True, timeout=60)


def test_a_busy_kernel_is_never_ended(made: Path, tmp_path: Path) -> None:
    """Beside an idle one, and without a page that is open."""
    with idle_lab(made, tmp_path) as one:
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
    with idle_lab(made, tmp_path) as one:
        one.until("the warning", lambda: one.phase == "warn", 20)
        run(one, made, "1 + 1")
        one.until("the warning to go", lambda: one.phase == "idle", 5)


def test_a_terminal_with_a_program_is_never_ended(made: Path, tmp_path: Path, browser: Browser) -> None:
    """One without is idle, whatever page is open."""
    with idle_lab(made, tmp_path) as one:
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
    with idle_lab(made, tmp_path, ADMINKIT_IDLE=idle, ADMINKIT_WARN=warn) as one:
        assert one.phase == "off", why


def test_the_page_is_told_in_its_language(made: Path, tmp_path: Path) -> None:
    with idle_lab(made, tmp_path) as one:
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
