"""A JupyterHub on a private Slurm: hub and proxy on loopback, servers as real users, everything gone afterwards.

The hub runs as root in this checkout's environment. Its users cannot read that, so their servers come from
an environment of their own below /tmp. `python -m tests.web.hub` starts one to click through.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tests.cluster.harness.cluster import Cluster
from tests.web.lab import ROOT, SERVER, environment, free_port, lab_environment, must

if TYPE_CHECKING:
    from tests.web.browser import Browser

TOKEN: Final = "0123456789abcdef0123456789abcdef"
#: Users of the private cluster, with accounts.
USERS: Final = ("games", "news", "backup", "www-data")
#: Node runs what is built of them; without it there is no proxy.
PROGRAMS: Final = ("node", "npm", "slurmctld")

PROFILES: Final = """
[one]
name = { en = "One GPU", ja = "GPU 1 枚" }
partition = "gq"
gpus = "1"
mem = "1G"
time = "10"
[two]
name = { en = "Two GPUs", ja = "GPU 2 枚" }
partition = "gq"
cpus = 2
gpus = "2"
mem = "1G"
time = "10"
[eight]
name = { en = "Eight GPUs", ja = "GPU 8 枚" }
partition = "gq"
cpus = 4
gpus = "8"
mem = "2G"
time = "10"
[nine]
name = { en = "Nine GPUs", ja = "GPU 9 枚" }
partition = "gq"
gpus = "9"
time = "10"
"""

#: One that is ended when it is idle, to be added to the file.
IDLE: Final = """
[idle]
name = { en = "One GPU, ended when idle", ja = "GPU 1 枚 (使われないと終了)" }
partition = "gq"
gpus = "1"
mem = "1G"
time = "10"
idle = "40s"
warn = "15s"
"""

#: A hub's configuration, whatever its spawner; VALUES is a mapping that is written before it.
COMMON: Final = """
c = get_config()
c.JupyterHub.spawner_class = VALUES["spawner"]
c.JupyterHub.bind_url = f"http://127.0.0.1:{VALUES['port']}"
c.JupyterHub.hub_bind_url = f"http://127.0.0.1:{VALUES['hub_port']}"
c.JupyterHub.db_url = f"sqlite:///{VALUES['private']}/hub.sqlite"
c.JupyterHub.cookie_secret_file = f"{VALUES['private']}/cookie_secret"
c.JupyterHub.authenticator_class = "dummy"
c.Authenticator.allow_all = True
c.ConfigurableHTTPProxy.command = [f"{VALUES['proxy']}/node_modules/.bin/configurable-http-proxy"]
c.ConfigurableHTTPProxy.api_url = f"http://127.0.0.1:{VALUES['proxy_port']}"
c.ConfigurableHTTPProxy.pid_file = f"{VALUES['private']}/proxy.pid"
c.JupyterHub.services = [{"name": "tester", "api_token": VALUES["token"]}]
c.JupyterHub.load_roles = [
    {"name": "tester", "services": ["tester"], "scopes": ["admin:users", "admin:servers", "servers"]}
]
homes = VALUES["homes"]
kept = {"CONFIG_DIR": "config", "DATA_DIR": "data", "RUNTIME_DIR": "runtime"}
c.Spawner.environment = {
    "SLURM_CONF": VALUES["slurm_conf"],
    **{f"JUPYTER_{name}": (lambda s, n=part: f"{homes}/{s.user.name}/{n}") for name, part in kept.items()},
}
c.Spawner.cmd = [f"{VALUES['users']}/bin/jupyterhub-singleuser"]
c.Spawner.notebook_dir = homes
c.Spawner.batchspawner_singleuser_cmd = f"{VALUES['users']}/bin/batchspawner-singleuser"
"""
#: What ours has besides.
_CONFIG: Final = f"""{COMMON}
c.Spawner.environment["ADMINKIT_TEST"] = "1"
c.Spawner.profiles = f"{{VALUES['private']}}/profiles.toml"
c.Spawner.folder = homes + "/{{username}}"
c.Spawner.address = "127.0.0.1"
for name, value in VALUES["more"].items():
    setattr(c.Spawner, name, value)
"""


#: Before sbatch on the hub's PATH: by a mark jobs are held, which Slurm's test does not foresee; by another it waits.
_SBATCH: Final = """#!/bin/sh
case " $* " in *" --test-only "*) ;; *)
    [ -e {mark} ] && set -- --hold "$@"
    while [ -e {wait} ]; do : > "{homes}/$(id -un)/asked"; sleep 0.05; done ;;
esac
exec {sbatch} "$@"
"""


@dataclass(frozen=True)
class Told:
    """The hub's answer to one question, and after how many seconds it came."""

    status: int
    body: Any
    seconds: float

    @property
    def message(self) -> str:
        return str(self.body.get("message", "")) if isinstance(self.body, dict) else ""


class Hub:
    """One hub on a cluster, with the folder of everything that it writes."""

    def __init__(self, cluster: Cluster, folder: Path, users: Path | None = None, **more: Any) -> None:
        """`users`: the environment of users' servers; None for a new one of jupyter_server alone, without Lab."""
        self.cluster, self.folder, self._more = cluster, folder, more
        self._users = users or folder / "users"
        self.private, self.homes = folder / "hub", folder / "homes"
        self.log = self.private / "hub.log"
        self.held, self.waits = self.homes / "held", self.homes / "waits"
        self.port, self._hub_port, self._proxy_port = (free_port() for _ in range(3))
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://localhost:{self.port}"

    def prepare(self) -> None:
        """Folders, the users' environment, the proxy and profiles."""
        self.folder.chmod(0o755)
        self.private.mkdir(mode=0o700)
        self.homes.mkdir(mode=0o755)
        for user in USERS:
            (self.homes / user).mkdir(mode=0o700)
            shutil.chown(self.homes / user, user)
        if not self._users.exists():
            environment(self._users, *SERVER)
        shutil.copytree(ROOT / "tests/web/proxy", self.private / "proxy")
        must("npm", "ci", "--no-audit", "--no-fund", cwd=self.private / "proxy")
        (self.private / "profiles.toml").write_text(PROFILES)
        held = self.folder / "bin/sbatch"
        held.parent.mkdir(mode=0o755)
        held.write_text(
            _SBATCH.format(mark=self.held, wait=self.waits, homes=self.homes, sbatch=shutil.which("sbatch"))
        )
        held.chmod(0o755)

    def values(self) -> dict[str, Any]:
        """What COMMON asks for, but the spawner."""
        return {
            "port": self.port, "hub_port": self._hub_port, "proxy_port": self._proxy_port, "token": TOKEN,
            "private": str(self.private), "proxy": str(self.private / "proxy"), "homes": str(self.homes),
            "users": str(self._users), "slurm_conf": str(self.cluster.home / "slurm.conf"),
        }  # fmt: skip

    def start(self) -> None:
        """The configuration, and the hub."""
        values = {**self.values(), "spawner": "adminkit", "more": self._more}
        (self.private / "config.py").write_text(f"VALUES = {values!r}\n{_CONFIG}")
        env = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        env["PATH"] = f"{self.folder}/bin:{env.get('PATH', '')}"
        env |= {"SLURM_CONF": str(self.cluster.home / "slurm.conf"), "ADMINKIT_SECRET": "of the hub's alone"}
        command = [sys.executable, "-m", "jupyterhub", "-f", self.private / "config.py"]
        with self.log.open("ab") as to:
            self._process = subprocess.Popen(command, cwd=self.private, env=env, stdout=to, stderr=subprocess.STDOUT)
        self.until("the hub to answer", lambda: self.ask("GET", "/").status == 200)

    def stop(self) -> None:
        """The servers first: they are jobs, and outlive it."""
        self.cluster.run("scancel", "--state=PENDING,RUNNING", "--name=jupyter")
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(20)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()

    def kill(self) -> None:
        """As a host that fails: nothing is written any more, and nothing is cancelled."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()
        proxy = self.private / "proxy.pid"
        with contextlib.suppress(OSError, ValueError):
            os.kill(int(proxy.read_text()), signal.SIGTERM)

    @contextmanager
    def with_settings(self, **more: Any) -> Iterator[Hub]:
        """The hub started again with other settings of its spawner, and with its own afterwards."""
        before = self._more
        try:
            self.stop()
            self._more = before | more
            self.start()
            yield self
        finally:
            self.stop()
            self._more = before
            self.start()

    def ask(self, method: str, path: str, body: Any = None, token: str = TOKEN, of: str = "/hub") -> Told:
        """The hub's API, or that of a server."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{of}/api{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"token {token}"},
        )
        started = time.monotonic()
        try:
            with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=90) as answer:
                status, said = answer.status, answer.read()
        except urllib.error.HTTPError as error:
            status, said = error.code, error.read()
        except OSError:
            return Told(0, None, time.monotonic() - started)
        try:
            found = json.loads(said or b"null")
        except ValueError:
            found = said.decode("utf-8", "replace")
        return Told(status, found, time.monotonic() - started)

    def open(self, path: str) -> Any:
        """A page of the hub, as nobody."""
        return urllib.request.build_opener(urllib.request.ProxyHandler({})).open(f"http://127.0.0.1:{self.port}{path}")

    def spawn(self, user: str, profile: Any, **options: Any) -> Told:
        """Start this user's server; it answers within ten seconds, whatever becomes of it."""
        self.ask("POST", f"/users/{user}")
        return self.ask("POST", f"/users/{user}/server", {"profile": profile, **options})

    def progress(self, user: str) -> list[str]:
        """What the page says of the start that is under way, until it has ended."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/hub/api/users/{user}/server/progress",
            headers={"Authorization": f"token {TOKEN}"},
        )
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=120) as answer:
            lines = answer.read().decode().splitlines()
        return [json.loads(line[5:]).get("message", "") for line in lines if line.startswith("data:")]

    def server(self, user: str) -> dict[str, Any]:
        """What the hub knows of this user's server; {} without one."""
        found = self.ask("GET", f"/users/{user}").body
        return dict(found.get("servers", {}).get("") or {}) if isinstance(found, dict) else {}

    def ready(self, user: str) -> bool:
        return bool(self.server(user).get("ready"))

    def job(self, user: str) -> int:
        """The job of this user's server."""
        return int(self.cluster.ask("squeue", "-h", "-u", user, "-n", "jupyter", "-o", "%i").split()[0])

    @contextmanager
    def offering(self, profiles: str) -> Iterator[None]:
        """These profiles too, from the next click on."""
        file = self.private / "profiles.toml"
        before = file.read_text()
        file.write_text(before + profiles)
        try:
            yield
        finally:
            file.write_text(before)

    def end(self, user: str) -> None:
        self.ask("DELETE", f"/users/{user}/server")
        self.until(f"the server of {user} to end", lambda: not self.server(user))

    def until(self, what: str, condition: Callable[[], Any], seconds: float = 60.0, check: bool = True) -> float:
        """Seconds until it held. `check`: the hub has to run meanwhile."""
        started = time.monotonic()
        while not condition():
            waited = time.monotonic() - started
            assert waited < seconds, f"waited {waited:.0f} s for {what}\n{self.said(3000)}"
            assert not check or self._process is None or self._process.poll() is None, self.said(3000)
            time.sleep(0.1)
        return time.monotonic() - started

    def said(self, most: int = 1 << 20) -> str:
        return self.log.read_text("utf-8", "replace")[-most:] if self.log.exists() else ""


def server_process(job: int, cluster: Cluster) -> tuple[int, Mapping[str, str]]:
    """The server of that job, and its environment, which its user can read."""
    for pid in cluster.ask("scontrol", "listpids", str(job)).split():
        with contextlib.suppress(OSError):
            words = Path(f"/proc/{pid}/environ").read_text().split("\0") if pid.isdigit() and int(pid) > 1 else []
            found = dict(word.split("=", 1) for word in words if "=" in word)
            if "JUPYTERHUB_API_TOKEN" in found:
                return int(pid), found
    raise AssertionError(f"job {job} has no server")


def server_environment(job: int, cluster: Cluster) -> Mapping[str, str]:
    return server_process(job, cluster)[1]


def login(
    browser: Browser,
    hub: Hub,
    user: str,
    *,
    width: int = 900,
    language: str = "en",
    page: str = "/hub/spawn",
    there: str = "#adminkit",
) -> None:
    """The form of this user in a window of that width, or another page, which has `there` (a selector)."""
    driver = browser.driver
    driver.execute_cdp_cmd("Network.enable", {})
    driver.execute_cdp_cmd("Network.clearBrowserCookies", {})
    driver.execute_cdp_cmd("Network.setExtraHTTPHeaders", {"headers": {"Accept-Language": language}})
    screen = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    driver.get(f"{hub.url}/hub/login")
    driver.execute_script(
        "document.getElementById('username_input').value = arguments[0];"
        "document.getElementById('password_input').value = 'any'; document.querySelector('form').submit()",
        user,
    )

    def shown() -> bool:
        if page not in driver.current_url:
            driver.get(hub.url + page)
        return bool(driver.execute_script("return !!document.querySelector(arguments[0])", there))

    hub.until(f"the page {page}", shown)


@contextmanager
def hub_on(cluster: Cluster, users: Path | None = None, **more: Any) -> Iterator[Hub]:
    """A hub that runs; `more` are settings of its spawner."""
    folder = Path(tempfile.mkdtemp(prefix="adminkit-hub-", dir="/tmp"))
    hub = Hub(cluster, folder, users, **more)
    try:
        hub.prepare()
        hub.start()
        yield hub
    finally:
        hub.stop()
        shutil.rmtree(folder, ignore_errors=True)


def missing() -> list[str]:
    """Programs that are not there."""
    return [
        name for name in PROGRAMS if shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin") is None
    ]


def main(words: Sequence[str] = ()) -> int:
    """A cluster and a hub until Ctrl-C."""
    from tests.cluster.conftest import private_slurm

    if lacking := missing():
        print(f"error: no {', no '.join(lacking)}; hint: tests/setup/install.sh web", file=sys.stderr)
        return 1
    print("starting a Slurm with 4 nodes of 8 GPUs and a hub; half a minute", file=sys.stderr)
    with private_slurm() as cluster, lab_environment() as users, hub_on(cluster, users) as hub, hub.offering(IDLE):
        print(f"open {hub.url} and log in as {', '.join(USERS)}, with any password; Ctrl-C ends it")
        print(f"export SLURM_CONF={cluster.home}/slurm.conf   # to fill the cluster from another terminal", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            signal.pause()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
