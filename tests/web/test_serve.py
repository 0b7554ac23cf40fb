"""adminkit serve as it is run: on a socket and on a port, in Chromium, and for another user of the host."""

from __future__ import annotations

import os
import re
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("datasette", reason="not run: no datasette (pip install -e '.[serve]')")

from adminkit.trace.connect import writer
from tests.support.builders import HOUR, MONDAY, job, make_trace
from tests.support.others import GROUP, OUTSIDE, READER, as_user, gives_files_away

if TYPE_CHECKING:
    from tests.web.browser import Browser

pytestmark = pytest.mark.web

JOBS = [job(n, queue="gq" if n % 3 else "short", elapsed=HOUR + n * 200, eligible_time=MONDAY) for n in range(1, 60)]
ADMINKIT = Path(sys.executable).with_name("adminkit")
#: Whether the chart is there, and has a size.
DRAWN = "const one = document.querySelector('figure img'); return one.complete && one.naturalWidth > 100"


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """Of a path that is short enough for a socket, and that others may enter: the mode of the socket is what counts."""
    made = Path(tempfile.mkdtemp(prefix="adminkit-serve-", dir="/tmp"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)


@pytest.fixture(scope="module")
def trace(folder: Path) -> Path:
    path = folder / "trace.db"
    make_trace(path, JOBS)
    with writer(path):
        pass  # it gets its -wal and -shm
    return path


@contextmanager
def serving(trace: Path, log: Path, *words: object) -> Iterator[str]:
    """What it says once it listens; it is ended by its pid, and ends in good order."""
    command = [ADMINKIT, "serve", "--db", trace, *words]
    env = {"PATH": "/usr/bin:/bin", "HOME": str(log.parent), "ADMINKIT_CONFIG": "/dev/null"}
    with log.open("wb") as to:
        process = subprocess.Popen(list(map(str, command)), stdout=to, stderr=subprocess.STDOUT, env=env)
    try:
        deadline = time.monotonic() + 60
        while "is served" not in (said := log.read_text()) or not _is_up(said):
            assert process.poll() is None and time.monotonic() < deadline, said
            time.sleep(0.1)
        yield said
    finally:
        process.terminate()
        assert process.wait(30) == 0, log.read_text()


def _is_up(said: str) -> bool:
    port = re.search(r"http://127.0.0.1:(\d+)/", said)
    place = re.search(r"served on (\S+\.sock)", said)
    kind, address = (socket.AF_INET, ("127.0.0.1", int(port[1]))) if port else (socket.AF_UNIX, place and place[1])
    with socket.socket(kind) as probe:
        probe.settimeout(5)
        return probe.connect_ex(address) == 0  # type: ignore[arg-type]


@gives_files_away
def test_another_user_of_the_host_cannot_reach_the_socket(trace: Path, folder: Path) -> None:
    place = folder / "adminkit.sock"

    def connect() -> str:
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(10)
            try:
                client.connect(str(place))
            except OSError as error:
                return os.strerror(error.errno or 0)
        return "connected"

    os.chown(trace, 0, GROUP)
    with serving(trace, folder / "socket.log", "--socket", place):
        assert as_user(READER, OUTSIDE, connect) == "Permission denied"
        assert as_user(READER, GROUP, connect) == "connected", "the group of the trace"
    assert not place.exists()


@pytest.fixture(scope="module")
def address(trace: Path, folder: Path) -> Iterator[tuple[str, str]]:
    with serving(trace, folder / "tcp.log", "--tcp", 0, "--token-file", folder / "token") as said:
        yield re.findall(r"http://\S+(?=;)", said)[0], (folder / "token").read_text().strip()


def test_a_port_wants_the_token(address: tuple[str, str]) -> None:
    where, token = address
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    for path in ("", "trace", "-/static/app.css", "trace/accuracy.json"):
        with pytest.raises(urllib.error.HTTPError) as refused:
            opener.open(where + path, timeout=30)
        assert refused.value.code == 401
        asked = urllib.request.Request(where + path, headers={"Authorization": f"Bearer {token}"})
        with opener.open(asked, timeout=30) as answer:
            assert answer.status == 200


@pytest.mark.parametrize(
    "half",
    [
        "GET / HTTP/1.1\r\nHost: localhost\r\nX: ",
        "POST /-/adminkit-login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\ntoken=",
        "",
    ],
)
def test_who_connects_and_asks_nothing_keeps_nobody_out(trace: Path, folder: Path, half: str) -> None:
    """800 connections from four threads, each with half a request, to a server that may have 320 files open."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (320, before[1]))
    log = folder / "half.log"
    with ExitStack() as held:
        try:
            said = held.enter_context(serving(trace, log, "--tcp", 0, "--token-file", folder / "token"))
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, before)
        where = re.findall(r"http://\S+(?=;)", said)[0]
        port = int(where.split(":")[2].rstrip("/"))
        with ThreadPoolExecutor(4) as clients:
            for one in clients.map(lambda _: _half_a_request(port, half), range(800)):
                held.enter_context(one)
        token = (folder / "token").read_text().strip()
        asked = urllib.request.Request(f"{where}trace.json", headers={"Authorization": f"Bearer {token}"})
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(asked, timeout=60) as answer:
            assert answer.status == 200
    assert "Traceback" not in log.read_text()


def _half_a_request(port: int, half: str) -> socket.socket:
    one = socket.create_connection(("127.0.0.1", port), 30)
    with suppress(ConnectionError):
        one.sendall(half.encode())
    return one


def test_a_reader_logs_in_and_sees_a_saved_query_with_its_chart(browser: Browser, address: tuple[str, str]) -> None:
    where, token = address[0].replace("127.0.0.1", "localhost"), address[1]
    driver = browser.driver
    driver.set_page_load_timeout(60)
    driver.get(where)
    field = driver.find_element("name", "token")
    assert field.get_attribute("type") == "password"
    driver.execute_script("arguments[0].value = arguments[1]; arguments[0].form.submit()", field, token)  # type: ignore[no-untyped-call]
    until(driver, "return document.title.startsWith('adminkit: trace') || document.title == 'adminkit'")
    _console(browser)  # a 401 is an error to it
    for path in ("trace", "trace/run", "trace?sql=select+count(*)+from+run"):
        driver.get(where + path)
        assert _console(browser) == []
    for name in ("accuracy", "limits", "wait", "states"):
        driver.get(f"{where}trace/{name}?since=2026-01-01")
        until(driver, "const one = document.querySelector('figure img'); return one.complete && one.naturalWidth > 100")
        assert driver.execute_script("return document.querySelectorAll('table.rows-and-columns tbody tr').length") > 0  # type: ignore[no-untyped-call]
        assert _console(browser) == []
        if pictures := os.environ.get("ADMINKIT_SCREENSHOTS"):
            driver.set_window_size(1200, 1200)
            driver.save_screenshot(f"{pictures}/serve-{name}.png")


def until(driver: Any, condition: str) -> None:
    deadline = time.monotonic() + 30
    while not driver.execute_script(condition):
        assert time.monotonic() < deadline, driver.page_source[:2000]
        time.sleep(0.1)


def _console(browser: Browser) -> list[str]:
    return [str(one["message"]) for one in browser.driver.get_log("browser")]  # type: ignore[no-untyped-call]
