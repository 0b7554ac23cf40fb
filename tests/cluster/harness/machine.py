"""What the private Slurm needs to know of the machine, and its few handles on it."""

from __future__ import annotations

import os
import pwd
import re
import shutil
import stat
import subprocess
from pathlib import Path

from tests.cluster.harness.config import CGROUPS, GPUS_PER_NODE
from tests.cluster.harness.processes import LEDGER, ClusterError

#: In the environment of every process that is started for a cluster: the cluster's folder.
MARK = "ADMINKIT_CLUSTER"
#: What tracks the processes of a step unless a test says so.
PROCTRACK = os.environ.get("ADMINKIT_PROCTRACK", "linuxproc")
#: The prefix of Slurm; SLURM_PREFIX names another than Debian's.
PREFIX = os.environ.get("SLURM_PREFIX", "/usr")
SEARCH = (
    f"{PREFIX}/sbin:{PREFIX}/bin:" * (PREFIX != "/usr") + "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
)


def has_cgroup_v2() -> bool:
    """Whether this host has cgroups of version 2 and none of version 1, and systemd, which slurmd asks for a scope."""
    return (CGROUPS / "cgroup.controllers").exists() and Path("/run/systemd/system").is_dir()


def release() -> tuple[int, int]:
    """The installed Slurm's major release, (22, 5)."""
    said = subprocess.run(["slurmctld", "-V"], env=plain_env(), capture_output=True, text=True, check=True).stdout
    found = re.search(r"(\d+)\.(\d+)", said)
    if not found:
        raise ClusterError(f"slurmctld -V says {said!r}")
    return int(found[1]), int(found[2])


def header(name: str) -> str:
    """The text of one of Slurm's own C headers."""
    return Path(PREFIX, "include/slurm", name).read_text()


def make_folders(folder: Path) -> None:
    """Empty a folder of the cluster it held and make the folders that all its clusters share."""
    if folder.exists():
        check_owner(folder)
        for child in ("munge", "db", "dbd", "dev", "work"):
            shutil.rmtree(folder / child, ignore_errors=True)
        for conf in folder.glob("*/slurm.conf"):
            shutil.rmtree(conf.parent)
        if any(child.name != LEDGER for child in folder.iterdir()):
            raise ClusterError(f"{folder} holds something else; take an empty folder")
    modes = {"": 0o755, "munge": 0o755, "db": 0o700, "dbd": 0o700, "dev": 0o755, "work": 0o1777}
    for child, mode in modes.items():
        (folder / child).mkdir(parents=True, exist_ok=True)
        (folder / child).chmod(mode)
    for number in range(GPUS_PER_NODE):
        fake_gpu(folder / "dev" / f"gpu{number}")


def plain_env() -> dict[str, str]:
    return {"PATH": SEARCH, "LC_ALL": "C.UTF-8", "TZ": "UTC", "HOME": "/"}


def fake_gpu(path: Path) -> None:
    """A character device that is /dev/null by another name; a plain file where devices cannot be made."""
    try:
        os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        path.chmod(0o666)
    except PermissionError:
        path.touch(mode=0o666)


def check_place(folder: Path, socket: Path) -> None:
    """Refuse a folder that other users cannot enter or whose sockets would have too long a path."""
    if len(str(socket)) > 100:
        raise ClusterError(f"{folder} is too long a path for a Unix socket; take a shorter one")
    for above in folder.parents:
        if above.exists() and not above.stat().st_mode & 0o001:
            raise ClusterError(f"users who run jobs cannot enter {above}; take a folder that all can reach")


def check_owner(folder: Path) -> None:
    status = folder.stat()
    if status.st_uid != os.geteuid() or status.st_mode & 0o022:
        raise ClusterError(f"{folder} belongs to somebody else or may be written by others; take another folder")


def give(user: str, *paths: Path) -> None:
    who = pwd.getpwnam(user)
    for path in paths:
        os.chown(path, who.pw_uid, who.pw_gid)


def tail(path: Path, lines: int = 15) -> str:
    try:
        return "\n".join(path.read_text(errors="replace").splitlines()[-lines:])
    except OSError:
        return ""
