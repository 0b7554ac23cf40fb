"""A container whose first process is systemd, with adminkit's units in it as an administrator sets them up."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tests.cluster.harness.processes import until
from tests.matrix import engine
from tests.matrix.rows import ROOT, ROWS, Row
from tests.setup.guard import CONTAINER

ROW = next(row for row in ROWS if row.name == "bookworm")
IMAGE = "localhost/adminkit-systemd:bookworm"
SERVICES = tuple(sorted(path.name for path in (ROOT / "etc/systemd").glob("*.service")))
TRACE = "/var/lib/adminkit/trace.db"
#: A Slurm of the container's own: not in /etc/slurm, as on a site with a prefix.
SLURM = "/srv/slurm/alpha"
_FILE = """
FROM {image}
RUN apt-get -q update && apt-get -q install -y --no-install-recommends systemd-sysv && apt-get clean
"""
#: There is no pause before a run, and no sync: what a unit may do is written to its journal first.
_AT_ONCE = "[Service]\nExecStartPre=\nExecStartPre=/bin/grep -E '^(NoNewPrivs|Seccomp|CapBnd):' /proc/self/status\n"
_SET_UP = """
useradd -u 1001 ada; useradd -u 1002 bob; useradd -r -U -d /var/lib/adminkit adminkit
ln -s /adminkit/.venv/bin/adminkit /usr/local/bin/
mkdir -p /etc/adminkit /etc/slurm
cp etc/systemd/* /etc/systemd/system/; cp etc/tmpfiles.d/* /etc/tmpfiles.d/; install etc/slurm/* /etc/slurm/
systemd-tmpfiles --create adminkit.conf
install -d -o adminkit -g adminkit -m 2750 /var/lib/adminkit
"""
#: A mail server that delivers at home, as Debian's own programs and rights are.
_POSTFIX = """
cat >/etc/postfix/main.cf <<'END'
compatibility_level = 3.6
myhostname = mail.example.org
mydestination = example.org
inet_interfaces = loopback-only
alias_maps =
alias_database =
END
test -e /etc/postfix/master.cf || cp /usr/share/postfix/master.cf.dist /etc/postfix/master.cf
postfix start
"""
#: Two runs that ended within the hour, of a cluster that is switched on.
_TRACE = """
import time
from pathlib import Path
from tests.feedback import site
site.NOW = int(time.time())
jobs = [site.ended(1), site.ended(2, user="bob", uid=1002)]
site.synced(Path("/var/lib/adminkit/trace.db"), jobs, on=site.NOW - 86400)
"""
_CLUSTER = """
from tests.cluster.harness.cluster import Cluster
from tests.cluster.harness.ruled import ruling
cluster = Cluster("/srv/slurm")
cluster.boot()
with ruling(cluster):
    cluster.wait(cluster.submit("sleep 2", "-p", "gq", "-t", "60", user="games"))
    cluster.wait(cluster.submit("true", "-p", "gq", "-t", "5", user="news"))
    cluster.settle()
"""
_CONFIG = """
[feedback]
clusters = ["aaic"]
domain = "example.org"
sender = "adminkit@example.org"
quiet_days = []
digest = false
tls = "none"
"""


@dataclass(frozen=True)
class Run:
    """What became of a service, in systemd's word, and its journal."""

    result: str
    said: str

    def facts(self) -> dict[str, str]:
        """What the process that came first had, by /proc."""
        return dict(line.split(":\t") for line in self.said.splitlines() if ":\t" in line)


@dataclass(frozen=True)
class Host:
    """The container, by its name."""

    name: str

    def do(self, script: str, *words: str, code: int | None = 0, seconds: float = 120) -> str:
        """What a shell script printed, in the repository's copy there."""
        command = [engine.ENGINE, "exec", "-w", "/adminkit", self.name, "sh", "-ec", script, "sh", *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
        assert code is None or done.returncode == code, f"{script}: {done.stdout}{done.stderr}"
        return done.stdout.strip()

    def python(self, text: str, seconds: float = 120) -> str:
        return self.do('.venv/bin/python -c "$1"', text, seconds=seconds)

    def configure(self, text: str) -> None:
        """The settings of a site with letters, and these."""
        self.do('printf "%s" "$1" >/etc/adminkit/adminkit.toml', _CONFIG + text)

    def drop_in(self, unit: str, name: str, text: str) -> None:
        """What `systemctl edit` writes; no text takes it away again."""
        folder = f"/etc/systemd/system/{unit}.d"
        act = f'mkdir -p {folder}; printf "%s" "$1" >{folder}/{name}.conf' if text else f"rm -f {folder}/{name}.conf"
        self.do(f"{act}; systemctl daemon-reload", text)

    def select(self, sql: str) -> list[list[Any]]:
        """What the trace answers."""
        answer = f"sqlite3.connect({TRACE!r}).execute({sql!r}).fetchall()"
        return list(json.loads(self.python(f"import json, sqlite3; print(json.dumps({answer}))")))

    def outbox(self) -> dict[str, int]:
        """How many letters are in which state."""
        return dict(self.select("SELECT state, count(*) FROM outbox GROUP BY state"))

    def letters_are_due(self) -> None:
        """A trace of two runs that are each worth a letter, and none sent yet."""
        self.do("rm -rf /var/lib/adminkit/* /var/lib/adminkit/.??*")
        self.python(_TRACE)
        self.do("chown adminkit:adminkit /var/lib/adminkit/trace.db")

    def start(self, unit: str) -> Run:
        """Start a service and wait for its end. Trap: systemd forgets an invocation that ended well."""
        before = self.do("journalctl -q -n 0 --show-cursor").removeprefix("-- cursor: ")
        self.do(f"systemctl start {unit}", code=None, seconds=300)
        result = self.do(f"systemctl show -P Result {unit}")
        self.do("journalctl --sync")
        return Run(result, self.do(f"journalctl -q -o cat --no-pager -u {unit} --after-cursor='{before}'"))

    def state(self, unit: str) -> str:
        return self.do(f"systemctl is-active {unit}", code=None)


def documented(page: str, unit: str, number: int = 0) -> str:
    """The drop-in for a unit that a page of docs has, the first or a later one, as `systemctl edit` would store it."""
    found = re.findall(rf"^# systemctl edit {re.escape(unit)}\n(.*?)^```", (ROOT / page).read_text(), re.M | re.S)
    return str(found[number])


@contextmanager
def booted() -> Iterator[Host]:
    """NotRun where there is no engine, or no image."""
    image = engine.image(ROW)
    engine.build(ROW)
    _podman("build", "-q", "-t", IMAGE, "-f", "-", input=_FILE.format(image=image))
    made = Host("adminkit-systemd-test")
    # Trap: where systemd may not mount it starts a unit all the same, without a word, and keeps it from nothing.
    words = ["--rm", "--name", made.name, "--systemd=always", "--hostname", "slurm", *rights(ROW), *engine.LIMITS]
    words += ["-v", f"{engine.folder_of(ROW)}:/adminkit"]
    try:
        _podman("run", "-d", *words, IMAGE, "/sbin/init")
        until(
            "systemd to be up",
            lambda: made.do("systemctl is-system-running", code=None) in ("running", "degraded"),
            60.0,
        )
        made.do(_SET_UP)
        for unit in SERVICES:
            made.drop_in(unit, "at-once", _AT_ONCE)
        yield made
    finally:
        _podman("rm", "-f", "-i", made.name)


def rights(row: Row) -> list[str]:
    """What a host's root has: for systemd to keep a unit in, for what it leaves it, and for slurmstepd."""
    wanted = ("SYS_PTRACE", "SYS_NICE", "SYS_RESOURCE", "SYS_ADMIN", "DAC_READ_SEARCH")
    given = [f"--cap-add={right}" for right in wanted]
    return [*given, "-e", f"{CONTAINER}={row.name}"]


def with_mail(host: Host) -> None:
    """A postfix that delivers to the container's users."""
    host.do(_POSTFIX)


def with_slurm(host: Host) -> None:
    """A Slurm whose submissions adminkit decides, with two jobs that have ended; every unit is told where it is."""
    host.do("rm -rf /var/lib/adminkit/* /var/lib/adminkit/.??* /etc/slurm/*.conf")
    host.python(_CLUSTER, seconds=300)
    for unit in SERVICES:
        host.drop_in(unit, "slurm", f"[Service]\nEnvironment=SLURM_CONF={SLURM}/slurm.conf\n")


def _podman(*words: str, input: str = "") -> None:
    done = subprocess.run([engine.ENGINE, *words], input=input, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{words[0]}: {done.stdout}{done.stderr}"
