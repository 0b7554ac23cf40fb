"""Whether a private Slurm may be installed and started on this host: never beside another Slurm.

    python3 -m tests.setup.guard            may it run now: exit 0, else 3 with the reason and what to do
    python3 -m tests.setup.guard --install  may packages be installed for it: exit 0, else 3

Standard library only: it runs before anything is installed. Nothing here changes the host.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.harness.machine import MARK, SEARCH
from tests.cluster.harness.processes import LEDGER, Ledger, environment, inside, parent, pids, program, start_time

NOT_RUN = "Slurm part not run"
#: In the environment of every container of tests.
CONTAINER = "ADMINKIT_CONTAINER"
DAEMONS = frozenset({"slurmctld", "slurmd", "slurmdbd", "slurmrestd", "slurmstepd", "slurmscriptd", "sackd"})
PROGRAMS = (
    "slurmctld",
    "slurmd",
    "slurmdbd",
    "sbatch",
    "sacct",
    "sacctmgr",
    "munged",
    "mariadbd",
    "mariadb-install-db",
)
PACKAGES = (
    "slurm-wlm slurmdbd slurm-wlm-mysql-plugin slurm-wlm-basic-plugins munge mariadb-server mariadb-client libslurm-dev"
)

#: Where configurations of a real Slurm are found. Debian's package brings plugstack.conf, which says nothing.
CONFIGURATIONS = (
    "etc/slurm*/*.conf",
    "etc/slurm.conf",
    "usr/local/etc/slurm.conf",
    "usr/local/etc/slurm*/*.conf",
    "usr/local/slurm*/etc/*.conf",
    "opt/slurm*/etc/*.conf",
    "run/slurm/conf/*.conf",
    "var/spool/slurm*/conf-cache/*.conf",
)
HARMLESS = frozenset({"plugstack.conf"})

#: How often to look again at a daemon that no test cluster has recorded yet.
LOOKS = 40

IMAGE = "docker.io/library/debian:bookworm"


@dataclass(frozen=True)
class Host:
    """The host as files and an environment; tests bring their own file tree."""

    root: Path = Path("/")
    env: Mapping[str, str] | None = None
    uid: int | None = None
    search: str = SEARCH
    pause: float = 0.5

    @property
    def proc(self) -> Path:
        return self.root / "proc"

    def variable(self, name: str) -> str:
        return (os.environ if self.env is None else self.env).get(name, "")

    def is_root(self) -> bool:
        return (os.geteuid() if self.uid is None else self.uid) == 0


@dataclass(frozen=True)
class Verdict:
    """Allowed, or the `reason` why not (with `detail`), and a `hint` how to run the tests elsewhere."""

    reason: str = ""
    detail: str = ""
    hint: str = ""

    @property
    def allowed(self) -> bool:
        return not self.reason

    def __str__(self) -> str:
        lines = [f"{NOT_RUN}: {self.reason}", self.detail, self.hint] if self.reason else ["the Slurm part may run"]
        return "\n".join(line for line in lines if line)


def check(host: Host | None = None) -> Verdict:
    """Whether a private Slurm may be started here now."""
    host = host or Host()
    verdict = _occupied(host) or _not_root(host)
    missing = [name for name in PROGRAMS if shutil.which(name, path=host.search) is None]
    if verdict is None and missing:
        detail = f"not installed: {', '.join(missing)}"
        hint = f"apt-get install --no-install-recommends {PACKAGES}"
        return _not_debian(host, detail) or Verdict("Slurm's packages are not installed", detail, hint)
    return verdict or Verdict()


def may_install(host: Host | None = None) -> Verdict:
    """Whether Slurm's packages may be installed here for the tests."""
    host = host or Host()
    return _occupied(host) or _not_root(host) or _not_debian(host) or Verdict()


def _occupied(host: Host) -> Verdict | None:
    found = slurm_of_the_host(host)
    return Verdict("this host has a Slurm", found, container_command()) if found else None


def _not_root(host: Host) -> Verdict | None:
    if host.is_root():
        return None
    hint = f"Run it as root:\n  sudo make test\n{container_command()}"
    return Verdict("no root", "a private Slurm runs jobs as several users", hint)


def _not_debian(host: Host, detail: str = "") -> Verdict | None:
    if _is_debian(host):
        return None
    return Verdict("not Debian or Ubuntu, whose packages it takes", detail, container_command())


def slurm_of_the_host(host: Host) -> str:
    """The first sign of a Slurm that no test started, in words; "" without one."""
    return _configuration(host) or _daemon(host)


def container_command() -> str:
    """What to paste to run everything in a container, which leaves this host alone."""
    engine = "docker" if shutil.which("docker") and not shutil.which("podman") else "podman"
    inner = "apt-get update && apt-get install -y make && cp -a /src /adminkit && cd /adminkit && make clean test"
    options = f'--rm --init -e {CONTAINER}=1 -v "$PWD":/src:ro'
    return f"Run it in a container instead:\n  {engine} run {options} {IMAGE} sh -c '{inner}'"


def _configuration(host: Host) -> str:
    named = host.variable("SLURM_CONF")
    if named and not _is_test_folder(Path(named).parent.parent):
        return f"SLURM_CONF is set to {named}"
    for pattern in CONFIGURATIONS:
        for path in sorted(host.root.glob(pattern)):
            if path.name not in HARMLESS:
                return f"there is /{path.relative_to(host.root)}"
    return ""


def _daemon(host: Host) -> str:
    """A Slurm daemon that no test cluster started. It has to be there at every look: a test's daemon is recorded a
    little before or after it starts and ends."""
    suspects = _strangers(host)
    for _ in range(LOOKS):
        if suspects:
            time.sleep(host.pause)
            suspects = {pid: name for pid, name in _strangers(host).items() if pid in suspects}
    return next((f"{name} is running (pid {pid}){why}" for pid, (name, why) in suspects.items()), "")


def _strangers(host: Host) -> dict[int, tuple[str, str]]:
    """Pid -> a daemon's name, and why it is not a test's if it looks like one."""
    known: dict[Path, set[int]] = {}
    found = {}
    for pid in pids(host.proc):
        name = next((name for name in _names(host, pid) if name in DAEMONS), "")
        if name and start_time(pid, host.proc) is not None and not _has_other_files(host, pid):
            why = _why_no_tests(host, pid, name, known)
            if why is not None:
                found[pid] = (name, why)
    return found


def _names(host: Host, pid: int) -> list[str]:
    """The names of a process: its program, its comm, its first argument."""
    folder = host.proc / str(pid)
    names = [program(pid, host.proc)]
    for file in ("comm", "cmdline"):
        try:
            text = (folder / file).read_bytes().split(b"\0")[0].decode(errors="replace").strip()
        except OSError:
            continue
        names.append(re.split(r"[\s:]", text, maxsplit=1)[0].rpartition("/")[2])
    return names


def _why_no_tests(host: Host, pid: int, name: str, known: dict[Path, set[int]]) -> str | None:
    """None where a test cluster's ledger names the process or one it descends from, or a step belongs to one."""
    mark = environment(pid, host.proc).get(MARK, "")
    folder = Path(mark) if mark else _folder_of(host, pid)
    if folder is None:
        return ""
    if not folder.exists():
        return f"; it belongs to a test cluster whose folder {folder} is gone, end it with: kill {pid}"
    if not _is_test_folder(folder):
        return f"; {folder / LEDGER} is not there, or others may write it"
    if name == "slurmstepd":
        return None
    if folder not in known:
        book = Ledger(folder).read()
        known[folder] = {process.pid for process in book if start_time(process.pid, host.proc) == process.started}
    ancestor = pid
    while ancestor > 1 and ancestor not in known[folder]:
        ancestor = parent(ancestor, host.proc)
    return None if ancestor > 1 else f"; {folder / LEDGER} names neither it nor its parents"


def _has_other_files(host: Host, pid: int) -> bool:
    """Whether a process has another root folder than this program, and than the host's first process where root may
    read that one's: it is in a container, a chroot or an image of its own. False where that cannot be read.

    Such a Slurm has another configuration, and no packages of this host's. A private Slurm takes free ports beside it.
    Trap: a service of systemd's may have its own mounts, but has the host's root folder.
    """
    its, ours, first = (_root_folder(host, one) for one in (str(pid), "self", "1"))
    return None not in (its, ours) and its not in (ours, first)


def _root_folder(host: Host, process: str) -> tuple[int, int] | None:
    try:
        root = (host.proc / process / "root").stat()
    except OSError:
        return None
    return root.st_dev, root.st_ino


def _folder_of(host: Host, pid: int) -> Path | None:
    """The test cluster in whose folder a process works; its environment may be overwritten by its title."""
    try:
        here = (host.proc / str(pid) / "cwd").readlink()
    except OSError:
        return None
    return next(
        (folder for folder in here.parents if (folder / LEDGER).is_file() and inside(pid, folder, host.proc)), None
    )


def _is_test_folder(folder: Path) -> bool:
    """A folder with a ledger that only its owner, we or root, could have written."""
    try:
        book, home = (folder / LEDGER).stat(), folder.stat()
    except OSError:
        return False
    return {book.st_uid, home.st_uid} <= {0, os.geteuid()} and not (book.st_mode | home.st_mode) & 0o022


def _is_debian(host: Host) -> bool:
    try:
        text = (host.root / "etc/os-release").read_text()
    except OSError:
        return False
    values = dict(line.replace('"', "").split("=", 1) for line in text.splitlines() if "=" in line)
    return bool({"debian", "ubuntu"} & {values.get("ID", ""), *values.get("ID_LIKE", "").split()})


def main(argv: list[str]) -> int:
    verdict = may_install() if "--install" in argv else check()
    if not verdict.allowed:
        print(verdict)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
