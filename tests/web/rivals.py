"""Hubs with stock batchspawner and with jupyterhub-moss, from an environment of their own, on the cluster of ours."""

from __future__ import annotations

import contextlib
import http.cookiejar
import json
import os
import shutil
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from tests.web.hub import COMMON, USERS, Hub
from tests.web.lab import must

#: What the rivals are, with their own defaults but for what a cluster on one host needs and `start_timeout`.
PACKAGES: Final = ("jupyterhub>=5.3,<7", "batchspawner>=1.3,<2", "jupyterhub-moss==10.1.0", "jupyter_server>=2")
SPAWNERS: Final = {"batchspawner": "batchspawner.SlurmSpawner", "moss": "jupyterhub_moss.MOSlurmSpawner"}
#: Seconds; batchspawner's own default is 300.
START_TIMEOUT: Final = 30

_CONFIG: Final = f"""{COMMON}
c.Spawner.start_timeout = VALUES["start_timeout"]
c.Spawner.exec_prefix = "runuser -u {{username}} --"
c.SlurmSpawner.state_exechost_exp = "127.0.0.1"
if VALUES["spawner"].startswith("jupyterhub_moss"):
    import jupyterhub_moss
    jupyterhub_moss.set_config(c)
    c.MOSlurmSpawner.partitions = {{"gq": {{"gpu": "gpu:{{}}", "max_ngpus": 8, "jupyter_environments": {{
        "users": {{"description": "users", "path": f"{{VALUES['users']}}/bin"}}}}}}}}
"""


class Rival(Hub):
    """One of SPAWNERS, with the folders, the proxy and the users' environment of `ours`."""

    def __init__(self, name: str, ours: Hub, python: Path) -> None:
        super().__init__(ours.cluster, ours.folder)
        self.name, self._python, self._proxy = name, python, ours.private / "proxy"
        self.private = ours.folder / name
        self.log = self.private / "hub.log"

    def prepare(self) -> None:
        self.private.mkdir(mode=0o700)

    def start(self) -> None:
        proxy, spawner = str(self._proxy), SPAWNERS[self.name]
        values = {**self.values(), "proxy": proxy, "spawner": spawner, "start_timeout": START_TIMEOUT}
        (self.private / "config.py").write_text(f"VALUES = {values!r}\n{_CONFIG}")
        env = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        env |= {"SLURM_CONF": str(self.cluster.home / "slurm.conf")}
        command = [self._python, "-m", "jupyterhub", "-f", self.private / "config.py"]
        with self.log.open("ab") as to:
            self._process = subprocess.Popen(command, cwd=self.private, env=env, stdout=to, stderr=subprocess.STDOUT)
        self.until("the hub to answer", lambda: self.ask("GET", "/").status == 200)

    def options(self, user: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        """What its form would make of a profile: {gpus, cpus, mem, time}."""
        found = {
            "partition": "gq", "runtime": asked["time"], "memory": asked["mem"], "gres": f"gpu:{asked['gpus']}",
            "nprocs": str(asked["cpus"]), "homedir": f"{self.homes}/{user}",
        }  # fmt: skip
        if self.name == "moss":
            found |= {
                "nprocs": asked["cpus"], "ngpus": asked["gpus"], "reservation": "", "options": "", "root_dir": "",
                "output": "/dev/null", "environment_id": "users", "environment_path": f"{self.folder}/users/bin",
                "environment_modules": "", "default_url": "", "prologue": "",
            }  # fmt: skip
        return found

    def try_start(self, user: str, asked: Mapping[str, Any]) -> tuple[bool, float]:
        """Whether its server came, and after how many seconds that was known."""
        self.ask("POST", f"/users/{user}")
        started = time.monotonic()
        told = self.ask("POST", f"/users/{user}/server", self.options(user, asked))
        while told.status in (201, 202) and not self.ready(user) and self.server(user).get("pending"):
            time.sleep(0.1)
        return self.ready(user), time.monotonic() - started


@contextmanager
def rivals(ours: Hub) -> Iterator[list[Rival]]:
    """Both of them, running."""
    made = ours.folder / "rivals"
    must("/usr/bin/python3", "-m", "venv", made)
    must(made / "bin/pip", "-q", "--disable-pip-version-check", "install", *PACKAGES)
    found = [Rival(name, ours, made / "bin/python") for name in SPAWNERS]
    try:
        for one in found:
            one.prepare()
            one.start()
        yield found
    finally:
        for one in found:
            one.stop()
            shutil.rmtree(one.private, ignore_errors=True)


class Session:
    """Somebody who is logged in, with a browser's cookies."""

    def __init__(self, hub: Hub, user: str) -> None:
        assert user in USERS
        self._base, self.problem = f"http://127.0.0.1:{hub.port}", False
        self._jar = http.cookiejar.CookieJar()
        self._opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor(self._jar)
        )
        self.page("/hub/login")
        form = {"username": user, "password": "any", "_xsrf": self._xsrf}
        with contextlib.suppress(urllib.error.HTTPError):  # the page after it may be one that cannot be shown
            self._opener.open(f"{self._base}/hub/login", urllib.parse.urlencode(form).encode(), timeout=60).read()

    @property
    def _xsrf(self) -> str:
        return next((one.value or "" for one in self._jar if one.name == "_xsrf"), "")

    def page(self, path: str) -> str:
        request = urllib.request.Request(self._base + path, headers={"X-XSRFToken": self._xsrf})
        with self._opener.open(request, timeout=60) as answer:
            return str(answer.read().decode())

    def offers(self) -> dict[str, bool]:
        """Profile -> whether it may be chosen; `problem`: the form said that it does not know, and forbids nothing."""
        found = json.loads(self.page("/hub/adminkit/offers"))
        self.problem = bool(found["problem"])
        return {one["key"]: one["free"] for one in found["offers"]}
