"""The units under a systemd that is the first process of a container: woken by Slurm's user, kept in by systemd.

By hand (`make soak`): it needs podman, the image of `make matrix` and a package index.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.cluster.processes import until
from tests.matrix import engine
from tests.matrix.rows import ROWS

pytestmark = pytest.mark.soak

ROW = next(row for row in ROWS if row.name == "bookworm")
IMAGE = "localhost/adminkit-systemd:bookworm"
_FILE = """
FROM {image}
RUN apt-get -q update && apt-get -q install -y --no-install-recommends systemd-sysv && apt-get clean
"""
#: As an administrator sets it up; there is no pause before a run.
_SET_UP = """
useradd -u 1001 ada; useradd -u 1002 bob; useradd -r -U -d /var/lib/adminkit adminkit
ln -s /adminkit/.venv/bin/adminkit /usr/local/bin/
mkdir -p /etc/adminkit /etc/slurm /run/systemd/system/adminkit-feedback.service.d
printf '[Service]\\nExecStartPre=\\n' >/run/systemd/system/adminkit-feedback.service.d/at-once.conf
cp etc/systemd/* /etc/systemd/system/; cp etc/tmpfiles.d/* /etc/tmpfiles.d/; install etc/slurm/* /etc/slurm/
systemd-tmpfiles --create adminkit.conf
systemctl daemon-reload
install -d -o adminkit -g adminkit -m 2750 /var/lib/adminkit
.venv/bin/python -c "$1"
chown adminkit:adminkit /var/lib/adminkit/trace.db
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
_CONFIG = """
[feedback]
clusters = ["aaic"]
domain = "example.org"
sender = "adminkit@example.org"
quiet_days = []
digest = false
via = "directory"
directory = "{folder}"
"""


@dataclass(frozen=True)
class Host:
    """A container with systemd in it."""

    name: str

    def do(self, script: str, *words: str, code: int | None = 0) -> str:
        """What a shell script printed, in the repository's copy there."""
        command = [engine.ENGINE, "exec", "-w", "/adminkit", self.name, "sh", "-ec", script, "sh", *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert code is None or done.returncode == code, f"{script}: {done.stdout}{done.stderr}"
        return done.stdout.strip()

    def configure(self, folder: str) -> None:
        self.do('printf "%s" "$1" >/etc/adminkit/adminkit.toml', _CONFIG.format(folder=folder))

    def state(self, unit: str) -> str:
        return self.do(f"systemctl is-active {unit}", code=None)

    def letters(self, folder: str) -> int:
        return int(self.do(f"ls {folder}/new 2>/dev/null | wc -l"))


def podman(*words: str, input: str = "") -> None:
    done = subprocess.run([engine.ENGINE, *words], input=input, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{words[0]}: {done.stdout}{done.stderr}"


@pytest.fixture(scope="module")
def host() -> Iterator[Host]:
    try:
        image = engine.image(ROW)
        engine.build(ROW)
    except engine.NotRun as why:
        pytest.fail(str(why), pytrace=False)
    podman("build", "-q", "-t", IMAGE, "-f", "-", input=_FILE.format(image=image))
    made = Host("adminkit-systemd-test")
    # Trap: where systemd may not mount it starts a unit all the same, without a word, and keeps it from nothing.
    words = ["--rm", "--name", made.name, "--systemd=always", "--cap-add=SYS_ADMIN", *engine.LIMITS]
    words += ["-v", f"{engine.folder_of(ROW)}:/adminkit"]
    try:
        podman("run", "-d", *words, IMAGE, "/sbin/init")
        until(
            "systemd to be up",
            lambda: made.do("systemctl is-system-running", code=None) in ("running", "degraded"),
            60.0,
        )
        made.do(_SET_UP, _TRACE)
        yield made
    finally:
        podman("rm", "-f", "-i", made.name)


def test_a_unit_writes_nowhere_but_where_the_trace_is(host: Host) -> None:
    host.do("install -d -o adminkit /srv/mail")
    host.configure("/srv/mail")
    host.do("systemctl start adminkit-feedback.service", code=1)
    assert "read-only file system" in host.do("journalctl -u adminkit-feedback -o cat --no-pager")
    assert host.letters("/srv/mail") == 0


def test_slurms_user_wakes_it_and_the_letters_leave(host: Host) -> None:
    host.configure("/var/lib/adminkit/mail")
    host.do("systemctl start adminkit-feedback.path adminkit-feedback.timer adminkit-sync.timer")
    host.do("runuser -u slurm -- /etc/slurm/adminkit-wake")
    until("the letters", lambda: host.letters("/var/lib/adminkit/mail") == 2, 60.0)
    until("it to end", lambda: host.state("adminkit-feedback.service") == "inactive", 60.0)
    assert host.do("systemctl show -P Result adminkit-feedback.service") == "success"
    assert host.do("find /var/lib/adminkit ! -user adminkit") == ""
    assert host.do("find /var/lib/adminkit -perm /007") == "/var/lib/adminkit/prefs"
