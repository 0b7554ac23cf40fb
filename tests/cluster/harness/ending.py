"""End a cluster, also one whose maker was killed: only what its ledger names, and the job steps it started."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.cluster.harness import config
from tests.cluster.harness.machine import MARK, check_owner, plain_env
from tests.cluster.harness.processes import (
    ClusterError,
    Ledger,
    Process,
    environment,
    inside,
    parent,
    pids,
    program,
    start_time,
    until,
)

#: How the folders of clusters are called that a test run makes for itself.
TEMPORARY = "adminkit-cluster-"


def stop(folder: Path, ledger: Ledger | None = None) -> None:
    """End every process that the ledger of `folder` names, and the job steps its slurmd started."""
    ledger = ledger or Ledger(folder)
    running = ledger.alive()
    steps = steps_of(folder)
    if steps:
        for conf in folder.glob("*/slurm.conf"):
            if any(process.name == f"{conf.parent.name}-slurmctld" for process in running):
                env = {**plain_env(), "SLURM_CONF": str(conf)}
                users = [word for user in ("root", *config.USERS) for word in ("-u", user)]
                for at in range(0, len(users), 2):
                    subprocess.run(["scancel", *users[at : at + 2]], env=env, capture_output=True, check=False)
        try:
            until("the job steps to end", lambda: not steps_of(folder), 8.0)
        except ClusterError:
            steps = {*steps, *steps_of(folder)}
    for kind in ("slurmd-", "slurmctld", "slurmdbd", "mariadbd", "munged"):
        chosen = [process for process in running if kind in process.name]
        for process in chosen:
            ledger.signal(process, signal.SIGTERM)
        for process in chosen:
            ledger.stop(process)
    killed = steps | steps_of(folder)
    for process in killed:
        ledger.signal(process, signal.SIGKILL)
    with contextlib.suppress(ClusterError):
        until("what was killed to be gone", lambda: all(start_time(one.pid) != one.started for one in killed), 8.0)
    if running:
        _remove_cgroups(folder)


def clear_abandoned() -> list[Path]:
    """Stop the clusters whose owner was killed, remove the temporary ones among them, and name them.

    One that another process is clearing away is left to it.
    """
    folders = {Path(mark) for mark in (environment(pid).get(MARK, "") for pid in pids()) if mark}
    folders.update(Path(tempfile.gettempdir()).glob(f"{TEMPORARY}*"))
    cleared = []
    for folder in sorted(folders):
        with contextlib.ExitStack() as stack:
            try:
                check_owner(folder)
                stack.enter_context(_alone(folder))
            except (OSError, ClusterError):
                continue
            if Ledger(folder).abandoned():
                stop(folder)
                if folder.name.startswith(TEMPORARY):
                    shutil.rmtree(folder)
                cleared.append(folder)
    return cleared


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """OSError where another process is in such a block for the same folder."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(handle)


def steps_of(folder: Path) -> set[Process]:
    """The slurmstepd of this folder's slurmd, which outlive it, and what runs under them."""
    roots: set[int] = set()
    everyone = pids()
    for pid in everyone:
        if program(pid) == "slurmstepd" and (inside(pid, folder) or environment(pid).get(MARK) == str(folder)):
            roots.add(pid)
    found = set()
    for pid in everyone:
        ancestor = pid
        while ancestor > 1 and ancestor not in roots:
            ancestor = parent(ancestor)
        started = start_time(pid)
        if ancestor > 1 and started is not None:
            found.add(Process("step", pid, started))
    return found


def _remove_cgroups(folder: Path) -> None:
    """What slurmd with proctrack=cgroup leaves under /sys/fs/cgroup; a cgroup in use cannot be removed."""
    for conf in folder.glob("*/cgroup.conf"):
        if "CgroupMountpoint=/sys/fs/cgroup" not in conf.read_text():
            continue
        for node in (child.name for child in (conf.parent / "spool").iterdir() if child.is_dir()):
            for top in Path("/sys/fs/cgroup").glob(f"*/slurm_{node}"):
                for inner in (*sorted((p for p in top.rglob("*") if p.is_dir()), reverse=True), top):
                    with contextlib.suppress(OSError):
                        inner.rmdir()
