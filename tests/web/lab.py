"""JupyterLab with adminkit's extension, in an environment that every user can read, and servers of it without a hub."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from tests.support.bounds import BOUNDS
from tests.support.shared import shared

ROOT: Final = Path(__file__).resolve().parents[2]
#: What a user's server needs.
SERVER: Final = ("jupyterhub>=5.3,<7", "batchspawner>=1.3,<2", "jupyter_server>=2")
LAB: Final = ("jupyterlab>=4,<5", "notebook>=7,<8", "ipykernel>=6")
#: Seconds after which an idle server ends, and how long before that it warns, unless a test says so.
IDLE, WARN = 13, 10
TOKEN: Final = "fedcba9876543210fedcba9876543210"


def must(*command: object, cwd: Path | None = None) -> None:
    done = subprocess.run(list(map(str, command)), cwd=cwd, capture_output=True, text=True, timeout=BOUNDS["web"])
    assert done.returncode == 0, f"{command[0]} failed:\n{(done.stdout + done.stderr)[-2000:]}"


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def environment(folder: Path, *packages: str) -> Path:
    """A new environment of the system's Python with these packages and, without what it needs elsewhere, adminkit."""
    pip = (folder / "bin/pip", "-q", "--disable-pip-version-check")
    must("/usr/bin/python3", "-m", "venv", folder)
    must(*pip, "install", *packages)
    must(*pip, "install", "--no-deps", _wheel(folder / "wheels"))
    return folder


def _wheel(place: Path) -> Path:
    """A wheel of this checkout, in `place`. Its C programs are built once for all files of tests that run at a time."""
    build = ROOT / "build/web-wheel"
    build.mkdir(parents=True, exist_ok=True)
    ours = (sys.executable, "-m", "pip", "-q", "--disable-pip-version-check")
    with (build.with_suffix(".lock")).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        must(*ours, "wheel", "--no-deps", f"--config-settings=build-dir={build}", "-w", place, ROOT)
    (wheel,) = place.glob("adminkit-*.whl")
    return wheel


@contextmanager
def lab_environment() -> Iterator[Path]:
    """The environment of servers that are JupyterLab, which every user can read: one for all processes of a run.

    The first process makes it, and the last one removes it.
    """
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID") or secrets.token_hex(8)
    with shared(Path(f"/tmp/adminkit-lab-{run}"), lambda folder: environment(folder / "users", *SERVER, *LAB)) as one:
        yield one / "users"


class Lab:
    """One server, as this process's user."""

    def __init__(self, process: subprocess.Popen[bytes], port: int, folder: Path, log: Path) -> None:
        self.process, self.port, self.folder, self.log = process, port, folder, log

    @property
    def url(self) -> str:
        return f"http://localhost:{self.port}"

    def page(self, path: str) -> str:
        return f"{self.url}{path}?token={TOKEN}"

    def ask(self, method: str, path: str, body: Any = None, language: str = "en") -> Any:
        """The server's API."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"token {TOKEN}", "Accept-Language": language},
        )
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=30) as answer:
            return json.loads(answer.read() or b"null")

    @property
    def phase(self) -> str:
        return str(self.ask("GET", "/adminkit/idle")["phase"]) if self.runs else "ended"

    @property
    def runs(self) -> bool:
        return self.process.poll() is None

    def until(self, what: str, condition: Callable[[], Any], seconds: float = 60.0) -> float:
        """Seconds until it held."""
        started = time.monotonic()
        while not condition():
            waited = time.monotonic() - started
            assert waited < seconds, f"waited {waited:.0f} s for {what}\n{self.said()}"
            time.sleep(0.25)
        return time.monotonic() - started

    def said(self) -> str:
        return self.log.read_text("utf-8", "replace")[-4000:]


@contextmanager
def lab(made: Path, folder: Path, env: Mapping[str, str]) -> Iterator[Lab]:
    """A JupyterLab of that environment in a new folder; `env` is what its own environment has besides."""
    folder.mkdir()
    port, log = free_port(), folder / "server.log"
    root = folder / "root"
    root.mkdir()
    own = {f"JUPYTER_{name}": str(folder / name) for name in ("CONFIG_DIR", "DATA_DIR", "RUNTIME_DIR")}
    words = [
        "--no-browser", "--allow-root", f"--port={port}", "--ServerApp.port_retries=0", f"--ServerApp.root_dir={root}",
        f"--IdentityProvider.token={TOKEN}", "--LabApp.news_url=", "--LabApp.check_for_updates_class="
        "jupyterlab.handlers.announcements.NeverCheckForUpdate",
    ]  # fmt: skip
    with log.open("ab") as to:
        process = subprocess.Popen(
            [made / "bin/jupyter-lab", *words], cwd=folder, stdout=to, stderr=subprocess.STDOUT,
            env={"PATH": os.environ["PATH"], "HOME": str(folder), "SHELL": "/bin/bash", **own, **env},
        )  # fmt: skip
    try:
        one = Lab(process, port, root, log)
        one.until("the server to answer", lambda: one.runs and _answers(one))
        yield one
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
        process.wait()


@contextmanager
def idle_lab(made: Path, tmp_path: Path, **env: str) -> Iterator[Lab]:
    """One that ends when it is idle."""
    with lab(made, tmp_path / "server", {"ADMINKIT_IDLE": str(IDLE), "ADMINKIT_WARN": str(WARN), **env}) as one:
        yield one


def _answers(one: Lab) -> bool:
    try:
        return bool(one.ask("GET", "/api/status"))
    except OSError:
        return False
